"""A parallel corpus is segmented once, kept in the cache and mapped from there."""

from __future__ import annotations

import gzip
import json
import multiprocessing
import os
from pathlib import Path

import numpy as np
import pytest

from probing.errors import ProbingError
from probing.results import PairCounts
from probing.storage import cache_folder
from probing.translation import parallel_corpus, parallel_text, segmentation
from probing.translation.parallel_corpus import ParallelCorpus, prepare_corpus
from probing.translation.parallel_files import find_parallel_files
from probing.translation.settings import SubwordConfig
from probing.translation.subwords import END
from tests.translation.toy import write_toy_corpus

CONFIG = SubwordConfig(vocabulary_size=400, joint=True)
SEPARATE = SubwordConfig(vocabulary_size=400)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_toy_corpus(tmp_path / "toy")


def prepare(folder: Path, config: SubwordConfig = CONFIG) -> ParallelCorpus:
    return prepare_corpus(find_parallel_files(folder, "en-xx"), config)


def decode(corpus: ParallelCorpus, name: str) -> tuple[list[str], list[str]]:
    """Return the text of a split as its numbers have it."""
    split = {"train": corpus.train, "dev": corpus.dev, **corpus.tests}[name]
    texts = []
    for subwords, tokens, offsets in (
        (corpus.source_subwords, split.source_tokens, split.source_offsets),
        (corpus.target_subwords, split.target_tokens, split.target_offsets),
    ):
        ids = [sentence.tolist() for sentence in np.split(tokens, offsets[1:-1])]
        assert all(sentence[-1] == END and END not in sentence[:-1] for sentence in ids)
        texts.append(subwords.decode([sentence[:-1] for sentence in ids]))
    return texts[0], texts[1]


def find_cached() -> Path:
    (found,) = (path for path in cache_folder("parallel").iterdir() if path.is_dir())
    return found


def append(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


@pytest.mark.parametrize("config", [CONFIG, SEPARATE])
def test_numbers_stand_for_the_text(folder, config):
    corpus = prepare(folder, config)
    for name, pair in corpus.files.pairs().items():
        assert decode(corpus, name) == pair.read()
    assert corpus.text("dev") == corpus.files.dev.read()
    assert corpus.text("test") == corpus.files.tests["test"].read()
    assert corpus.counts == PairCounts(train=200, empty=0, long=0, dev=20, tests={"test": 20}, seen={"test": 0})
    assert corpus.train.source_tokens.dtype == np.uint16
    assert (corpus.source_subwords is corpus.target_subwords) == config.joint
    if not config.joint:
        assert corpus.source_subwords.model != corpus.target_subwords.model


def test_pairs_are_dropped_from_training_only_and_counted(folder):
    for split in ("train", "dev", "test"):
        append(folder / f"{split}.en", "\nBaka.\n \nBaka ruta.\n" + "baka " * 50 + "\nbaka\n\n")
        append(folder / f"{split}.xx", "bakaan\n\n\u3000\nRutaan.\nbakaan\n" + "bakaan " * 50 + "\n\n")
    corpus = prepare(folder, SubwordConfig(vocabulary_size=400, joint=True, max_length=40))
    assert corpus.counts == PairCounts(train=201, empty=4, long=2, dev=27, tests={"test": 27}, seen={"test": 1})
    assert len(corpus.train) == 201
    assert decode(corpus, "train")[0][-1] == "Baka ruta."
    for name in ("dev", "test"):
        assert decode(corpus, name) == corpus.text(name)
        assert len(corpus.text(name)[0]) == 27


def test_the_longest_pair_that_is_kept_has_the_largest_length(folder):
    corpus = prepare(folder)
    longest = int(corpus.train.count_tokens(np.arange(200)).max()) - 1
    assert prepare(folder, SubwordConfig(vocabulary_size=400, joint=True, max_length=longest)).counts.long == 0
    shorter = prepare(folder, SubwordConfig(vocabulary_size=400, joint=True, max_length=longest - 1))
    assert shorter.counts.long > 0
    assert shorter.train.count_tokens(np.arange(len(shorter.train))).max() <= longest


def test_test_sentences_that_occur_in_training_are_counted(folder):
    lines = (folder / "train.en").read_text().splitlines()
    for language in ("en", "xx"):
        content = (folder / f"test.{language}").read_text()
        (folder / f"test2.{language}").write_text(content)
    append(folder / "test2.en", f"{lines[0]}\n{lines[7]}\n{lines[7]}\nBaka\n")
    append(folder / "test2.xx", "a\nb\nc\nd\n")
    assert prepare(folder).counts.seen == {"test": 0, "test2": 3}


def test_no_pair_left_is_an_error(folder):
    files = find_parallel_files(folder, "en-xx")
    with pytest.raises(ProbingError) as error:
        prepare_corpus(files, SubwordConfig(vocabulary_size=400, max_length=1))
    assert str(error.value) == (
        f"{folder / 'train.en'}: no training pair is left: 0 have an empty side, "
        "200 more than subwords.max_length=1 subwords"
    )
    assert not [path for path in cache_folder("parallel").iterdir() if path.suffix != ".lock"]


def test_portions_do_not_change_the_outcome(folder, monkeypatch):
    expected = prepare(folder)
    before = {path.name: path.read_bytes() for path in find_cached().iterdir()}
    for name, value in (("PORTION", 7), ("PORTION_CHARACTERS", 100)):
        for path in find_cached().iterdir():
            path.unlink()
        find_cached().rmdir()
        monkeypatch.setattr(segmentation, name, value)
        monkeypatch.setattr(parallel_text, "MAX_SENTENCE", 500)
        assert prepare(folder).counts == expected.counts
        assert {path.name: path.read_bytes() for path in find_cached().iterdir()} == before


def test_what_is_cached_is_not_made_again(folder, tmp_path, monkeypatch):
    first = prepare(folder)
    monkeypatch.setattr(parallel_corpus, "write_corpus", None)
    again = prepare(folder)
    assert again.counts == first.counts
    assert again.source_subwords.model == first.source_subwords.model
    assert np.array_equal(again.train.target_tokens, first.train.target_tokens)
    packed = tmp_path / "packed"
    packed.mkdir()
    for path in folder.iterdir():
        (packed / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert prepare(packed).counts == first.counts, "compressed files have the same text"


def test_other_settings_and_other_text_are_another_corpus(folder):
    prepare(folder)
    prepare(folder, SEPARATE)
    append(folder / "train.en", "Baka.\n")
    append(folder / "train.xx", "Bakaan.\n")
    assert prepare(folder).counts.train == 201
    assert len([path for path in cache_folder("parallel").iterdir() if path.is_dir()]) == 3


def test_a_damaged_cache_is_made_again(folder):
    expected = prepare(folder)
    names = sorted(path.name for path in find_cached().iterdir())
    splits = [
        f"{split}-{side}-{what}"
        for split in ("train", "dev", "test0")
        for side in segmentation.SIDES
        for what in ("tokens", "offsets")
    ]
    assert names == sorted([*splits, "checksums.json", "counts.json", "source.model"])
    for name in names:
        path = find_cached() / name
        sound = path.read_bytes()
        flipped = bytes([sound[0] ^ 1]) + sound[1:]
        for damaged in (b"", sound[:-1], flipped, None):
            path.unlink()  # whoever has it mapped keeps what was there
            if damaged is not None:
                path.write_bytes(damaged)
            assert decode(prepare(folder), "train") == decode(expected, "train")
            assert path.read_bytes() == sound


def test_checksums_of_another_form_are_made_again(folder):
    expected = prepare(folder).counts
    for checksums in ([], {}, {"source.model": "0"}, None, 1, "source.model"):
        path = find_cached() / "checksums.json"
        path.unlink()
        path.write_text(json.dumps(checksums))
        assert prepare(folder).counts == expected


def test_a_file_that_changed_is_told(folder, monkeypatch):
    files = find_parallel_files(folder, "en-xx")
    append(folder / "train.en", "Baka.\n")
    append(folder / "train.xx", "Bakaan.\n")
    with pytest.raises(ProbingError) as error:
        prepare_corpus(files, CONFIG)
    assert str(error.value) == f"{folder}: a file changed while the run went on. Start the run again"
    files, write = find_parallel_files(folder, "en-xx"), segmentation.train_subwords

    def train_and_change(*arguments, **options):
        append(folder / "dev.en", "Baka.\n")
        append(folder / "dev.xx", "Bakaan.\n")
        return write(*arguments, **options)

    monkeypatch.setattr(segmentation, "train_subwords", train_and_change)
    with pytest.raises(ProbingError) as error:
        prepare_corpus(files, CONFIG)
    assert str(error.value) == f"{folder / 'dev.en'}: the file changed while it was read. Start the run again"


def test_an_interruption_leaves_nothing(folder):
    files = find_parallel_files(folder, "en-xx")

    def interrupt(share: float) -> None:
        if share > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepare_corpus(files, CONFIG, interrupt)
    assert [path.suffix for path in cache_folder("parallel").iterdir()] == [".lock"]
    assert prepare_corpus(files, CONFIG).counts.train == 200


def test_the_share_that_is_done_is_told(folder):
    shares = list[float]()
    prepare_corpus(find_parallel_files(folder, "en-xx"), CONFIG, shares.append)
    assert shares == sorted(shares)
    assert 0 < shares[0] < parallel_corpus.INSPECTED < shares[-2] < shares[-1] == 1


def test_what_is_cached_needs_no_writing(folder, monkeypatch):
    expected = prepare(folder).counts
    for path in cache_folder("parallel").glob("*.lock"):
        path.unlink()
    monkeypatch.setattr(parallel_corpus, "FileLock", None)
    assert prepare(folder).counts == expected


def test_a_cache_that_cannot_be_written_is_told(folder, cache_home):
    cache_folder("parallel").parent.mkdir(exist_ok=True)
    cache_folder("parallel").write_text("a file in its place")
    with pytest.raises(ProbingError) as error:
        prepare(folder)
    assert str(error.value) == (
        f"{cache_folder('parallel')}: files cannot be written (File exists). "
        "Make room or set XDG_CACHE_HOME to another folder, then start the same command again"
    )


def _prepare_in_process(folder: Path, log: Path) -> None:
    write = parallel_corpus.write_corpus

    def write_and_tell(*arguments):
        append(log, f"{os.getpid()}\n")
        write(*arguments)

    parallel_corpus.write_corpus = write_and_tell
    prepare(folder)


def test_of_several_processes_one_makes_it(folder, tmp_path):
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_prepare_in_process, args=(folder, tmp_path / "log")) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert len((tmp_path / "log").read_text().splitlines()) == 1


def test_the_cache_is_listed_and_cleared(folder, probe, tmp_path):
    prepare(folder)
    name = find_cached().name
    code, text, _ = probe("cache", "list", "--results", tmp_path / "results")
    assert code == 0
    assert [line.split("  ")[0] for line in text.splitlines() if name in line] == ["parallel"]
    assert "segmented parallel text" in text
    assert probe("cache", "clear", "--kind", "parallel", "--results", tmp_path / "results")[0] == 0
    assert list(cache_folder("parallel").iterdir()) == []
