"""The embedded parallel corpus: made once, whole or not at all, the same everywhere, and its sets keep apart."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from probing.corpus import grammar, parallel
from probing.corpus.grammar import GRAMMAR_VERSION
from probing.corpus.language import LANGUAGE_VERSION, PHENOMENA, judge
from probing.corpus.language.transfer import transfer
from probing.corpus.parallel import MAX_LENGTH, TEST_SETS, is_held_out, prepare_parallel, read_checks
from probing.corpus.readers import ParsedSentence
from probing.errors import ProbingError

PAIRS = 2000
CHECKSUM = "1bc2f1b85e5f4e151020816fb8b2de0b922b37121ad71e723e313a48d3736f25"
"""SHA-256 of all files of a corpus of so many pairs."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def _own_cache(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "cache_folder", lambda name: home / name)


@pytest.fixture
def corpus(home: Path) -> Path:
    return prepare_parallel(PAIRS)


def read(corpus: Path, name: str) -> list[str]:
    return (corpus / name).read_text(encoding="utf-8").splitlines()


def test_the_files_and_their_sizes(corpus: Path) -> None:
    sizes = {"train": PAIRS, **dict.fromkeys(("dev", *TEST_SETS), PAIRS // 20)}
    assert corpus.name == f"{GRAMMAR_VERSION}-{LANGUAGE_VERSION}-{PAIRS}"
    assert {path.name for path in corpus.iterdir()} == {
        *(f"{name}.{ending}" for name in sizes for ending in ("en", "qhv")),
        *(f"{name}.checks.jsonl" for name in TEST_SETS),
    }
    for name, size in sizes.items():
        assert len(read(corpus, f"{name}.en")) == len(read(corpus, f"{name}.qhv")) == size


def test_the_same_bytes_everywhere(corpus: Path) -> None:
    digest = hashlib.sha256()
    for path in sorted(corpus.iterdir()):
        digest.update(path.name.encode() + path.read_bytes())
    assert digest.hexdigest() == CHECKSUM, "if this is wanted, LANGUAGE_VERSION changes, and then the checksum"


def test_the_sets_share_no_sentence(corpus: Path) -> None:
    lines = [line for name in ("train", "dev", *TEST_SETS) for line in read(corpus, f"{name}.en")]
    assert len(set(lines)) == len(lines)


def test_the_lines_are_tokens_with_single_spaces(corpus: Path) -> None:
    for path in corpus.glob("*.[eq]*"):
        for line in read(corpus, path.name):
            assert line == " ".join(line.split())
            assert line


def test_long_sentences_are_longer_than_any_in_training(corpus: Path) -> None:
    lengths = {
        name: [len(line.split()) for line in read(corpus, f"{name}.en")] for name in ("train", "dev", *TEST_SETS)
    }
    assert min(lengths["test-long"]) > MAX_LENGTH >= max(lengths["train"])
    assert max(*lengths["test"], *lengths["test-new"], *lengths["dev"]) <= MAX_LENGTH


def test_new_combinations_are_in_one_set_only(corpus: Path) -> None:
    combinations = {}
    for sentence in grammar.generate(parallel.SEED, 20_000):
        combinations[" ".join(sentence.tokens)] = transfer(sentence)[1].combinations
    for name in ("train", "dev", *TEST_SETS):
        for line in read(corpus, f"{name}.en"):
            held_out = [pair for pair in combinations[line] if is_held_out(*pair)]
            assert bool(held_out) == (name == "test-new")


def test_constructions_of_which_words_are_held_out(corpus: Path) -> None:
    found = Counter(
        construction
        for sentence in grammar.generate(1, 5000)
        for word, construction in transfer(sentence)[1].combinations
        if is_held_out(word, construction)
    )
    assert set(found) == {
        *("genitive", "relative", "dative", "fronted"),
        *("perfect", "passive", "final", "infinitive", "participle"),
    }


def test_a_perfect_translation_is_right_in_all(corpus: Path) -> None:
    for name in TEST_SETS:
        checks = read_checks(corpus / f"{name}.checks.jsonl")
        targets = [line.split() for line in read(corpus, f"{name}.qhv")]
        assert all(all(judge(*both)) for both in zip(checks, targets, strict=True))
        if name == "test":
            assert {check.phenomenon for each in checks for check in each} == set(PHENOMENA)


def test_rare_phenomena_are_frequent_in_the_test_set(corpus: Path) -> None:
    checks = read_checks(corpus / "test.checks.jsonl")
    for phenomenon in PHENOMENA:
        having = sum(any(check.phenomenon == phenomenon for check in each) for each in checks)
        assert having >= len(checks) // 12 - 1


def forbid(*_: object) -> Iterator[ParsedSentence]:
    raise AssertionError("nothing should be generated")


def test_it_is_made_once(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "generate", forbid)
    assert prepare_parallel(PAIRS) == corpus


def test_an_interruption_leaves_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(seed: int) -> Iterator[ParsedSentence]:
        yield from grammar.generate(seed, 100)
        raise KeyboardInterrupt

    before = set((home / "halvic").iterdir())
    with monkeypatch.context() as patch:
        patch.setattr(parallel, "generate", stop)
        with pytest.raises(KeyboardInterrupt):
            prepare_parallel(300)
    assert set((home / "halvic").iterdir()) == before


def test_the_share_that_is_done() -> None:
    shares: list[float] = []
    prepare_parallel(1500, on_share=shares.append)
    assert shares == [0.0, 1000 / 1500, 1.0]


def test_a_corpus_of_one_pair() -> None:
    folder = prepare_parallel(1)
    assert len(read(folder, "train.en")) == 1
    assert len(read(folder, "test.en")) == 20


def test_no_pairs_at_all() -> None:
    with pytest.raises(ProbingError, match=r"^the number of training pairs must be at least 1\. Got 0$"):
        prepare_parallel(0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{}\n", "1: not the checks of a sentence (expected a list of checks)"),
        (b"[]\n[", "2: not the checks of a sentence (Expecting value: line 1 column 2 (char 1))"),
        (b'[["nope"]]\n', "1: not the checks of a sentence (unknown phenomenon 'nope')"),
        (b'[["genitive", 1, 2]]\n', "1: not the checks of a sentence (a check must be a list of strings)"),
        (b"[]\n\xff\n", "2: not UTF-8 (byte 0xff at column 1). Save the file as UTF-8"),
        (b"[" * 100_000, "1: not the checks of a sentence (nested too deeply)"),
    ],
)
def test_damaged_checks(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "test.checks.jsonl"
    path.write_bytes(content)
    with pytest.raises(ProbingError) as error:
        read_checks(path)
    assert str(error.value) == f"{path}:{message}"


def test_missing_checks(tmp_path: Path) -> None:
    with pytest.raises(ProbingError, match="cannot be read"):
        read_checks(tmp_path / "test.checks.jsonl")
