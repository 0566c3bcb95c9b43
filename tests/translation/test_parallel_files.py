"""The files of a parallel corpus are found by their names, and every fault in them is told before any training."""

from __future__ import annotations

import gzip
import os
import pickle
import shutil
from pathlib import Path

import pytest

from probing.errors import ProbingError
from probing.translation.parallel_files import FilePair, find_parallel_files, name_parallel_files
from tests.translation.toy import write_toy_corpus


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_toy_corpus(tmp_path / "toy", train=6, dev=2, test=2)


def refuse(folder: Path, pair: str | None = "en-xx") -> str:
    with pytest.raises(ProbingError) as error:
        find_parallel_files(folder, pair)
    message = str(error.value)
    assert message.splitlines() == [message]
    return message


def test_a_folder_of_files_is_a_corpus(folder):
    files = find_parallel_files(folder, "en-xx")
    assert (files.name, files.source_language, files.target_language) == ("toy", "en", "xx")
    assert files.train == FilePair(folder / "train.en", folder / "train.xx")
    assert files.dev == FilePair(folder / "dev.en", folder / "dev.xx")
    assert files.tests == {"test": FilePair(folder / "test.en", folder / "test.xx")}
    back = find_parallel_files(folder, "xx-en")
    assert back.train == FilePair(folder / "train.xx", folder / "train.en")
    assert back.sha256 != files.sha256
    sources, targets = files.dev.read()
    assert len(sources) == len(targets) == 2


@pytest.mark.parametrize("name", ["dev", "val", "valid", "validation"])
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_dev_has_several_names_and_files_may_be_compressed(folder, name, ending):
    expected = find_parallel_files(folder, "en-xx").sha256
    for language in ("en", "xx"):
        content = (folder / f"dev.{language}").read_bytes()
        (folder / f"dev.{language}").unlink()
        (folder / f"{name}.{language}{ending}").write_bytes(gzip.compress(content) if ending else content)
    files = find_parallel_files(folder, "en-xx")
    assert files.dev.source == folder / f"{name}.en{ending}"
    assert files.sha256 == expected


def test_every_test_set_is_found_and_test_is_the_first(folder):
    for name in ("test2", "test_2016", "tests.b", "test.a"):
        for language in ("en", "xx"):
            shutil.copy(folder / f"test.{language}", folder / f"{name}.{language}")
    for other in ("test_cs.cs", "test_cs.en", "newstest.en", "test.txt", "README.md", "train.txt"):
        (folder / other).write_text("x\n")
    assert list(find_parallel_files(folder, "en-xx").tests) == ["test", "test.a", "test2", "test_2016", "tests.b"]


def test_names_may_have_the_pair(folder):
    expected = find_parallel_files(folder, "en-xx").sha256
    for path in list(folder.iterdir()):
        path.rename(folder / f"{path.stem}.xx-en{path.suffix}")
    files = find_parallel_files(folder, "en-xx")
    assert files.train == FilePair(folder / "train.xx-en.en", folder / "train.xx-en.xx")
    assert list(files.tests) == ["test"]
    assert files.sha256 == expected
    shutil.copy(folder / "dev.xx-en.en", folder / "dev.en-fr.en")
    expected = "dev.en-fr.en and dev.xx-en.en are there, and only one can be used. Move the others away"
    assert refuse(folder) == f"{folder}: {expected}"


def test_languages_may_have_hyphens(folder):
    for split in ("train", "dev", "test"):
        (folder / f"{split}.xx").rename(folder / f"{split}.zh-Hans")
    files = find_parallel_files(folder, "en-zh-Hans")
    assert (files.source_language, files.target_language) == ("en", "zh-Hans")
    assert find_parallel_files(folder, "zh-Hans-en").source_language == "zh-Hans"
    assert refuse(folder, "en-zh") == f"{folder}: no file train.zh (or the same with .gz, .bz2 or .xz)"


def test_the_identity_is_of_the_text_alone(folder, tmp_path):
    files = find_parallel_files(folder, "en-xx")
    other = shutil.copytree(folder, tmp_path / "other")
    assert find_parallel_files(other, "en-xx").sha256 == files.sha256
    for path in other.iterdir():
        content = path.read_bytes()
        path.write_bytes(content.replace(b".", b"!", 1))
        assert find_parallel_files(other, "en-xx").sha256 != files.sha256
        path.write_bytes(content)


def test_a_corpus_can_be_sent_and_moved(folder, tmp_path):
    files = find_parallel_files(folder, "en-xx")
    assert pickle.loads(pickle.dumps(files)) == files  # noqa: S301
    roles = ["train source", "train target", "dev source", "dev target", "test source", "test target"]
    assert list(files.files()) == roles
    assert files.files()["dev target"] == folder / "dev.xx"
    moved = files.moved({role: tmp_path / role for role in roles})
    assert moved.tests == {"test": FilePair(tmp_path / "test source", tmp_path / "test target")}
    assert (moved.train, moved.dev) == tuple(
        FilePair(tmp_path / f"{name} source", tmp_path / f"{name} target") for name in ("train", "dev")
    )
    assert moved.sha256 == files.sha256
    assert moved.moved(files.files()) == files


def test_the_direction_must_be_given(folder):
    assert refuse(folder, None) == f"{folder}: which way? Give --pair en-xx or --pair xx-en"
    (folder / "train.cs").write_text("x\n")
    expected = "training text in cs, en, xx. Give the source and the target, such as --pair cs-en"
    assert refuse(folder, None) == f"{folder}: {expected}"
    (folder / "train.cs").unlink()
    (folder / "train.xx").unlink()
    assert refuse(folder, None) == f"{folder}: train.en is there, but no training text in a second language"
    (folder / "train.en").unlink()
    expected = "no training text. Looked for train.LANGUAGE, such as train.en and train.de"
    assert refuse(folder, None) == f"{folder}: {expected}"


@pytest.mark.parametrize("pair", ["", "en", "-", "en-", "-xx", "en-en"])
def test_a_pair_is_two_languages(folder, pair):
    assert refuse(folder, pair) == f"--pair {pair}: expected a source and a target language, such as en-de"


def test_a_missing_split_is_told(folder):
    (folder / "test.xx").unlink()
    assert refuse(folder) == f"{folder}: no file test.xx (or the same with .gz, .bz2 or .xz)"
    (folder / "test.en").unlink()
    assert refuse(folder) == f"{folder}: no test set of en-xx. Looked for test*.en and test*.xx"
    (folder / "dev.en").unlink()
    looked = "dev.en or val.en or valid.en or validation.en"
    assert refuse(folder) == f"{folder}: no file {looked} (or the same with .gz, .bz2 or .xz)"
    (folder / "train.en").unlink()
    assert refuse(folder) == f"{folder}: no file train.en (or the same with .gz, .bz2 or .xz)"
    assert refuse(folder / "none") == f"{folder / 'none'}: cannot be read as a folder (No such file or directory)"
    path = folder / "train.xx"
    assert refuse(path) == f"{path}: cannot be read as a folder (Not a directory)"


def test_two_files_for_one_role_are_refused(folder):
    shutil.copy(folder / "dev.en", folder / "val.en")
    expected = "dev.en and val.en are there, and only one can be used. Move the others away"
    assert refuse(folder) == f"{folder}: {expected}"
    (folder / "val.en").unlink()
    (folder / "train.xx.gz").write_bytes(gzip.compress((folder / "train.xx").read_bytes()))
    expected = "train.xx and train.xx.gz are there, and only one can be used. Move the others away"
    assert refuse(folder) == f"{folder}: {expected}"


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_faults_in_files_are_told(folder, split):
    source, target = folder / f"{split}.en", folder / f"{split}.xx"
    text, lines = target.read_bytes(), len(target.read_bytes().splitlines())
    target.write_bytes(text + b"x\n")
    expected = "Each line must be the translation of the same line of the other file"
    assert refuse(folder) == f"{source} has {lines} lines, {target} has {lines + 1}. {expected}"
    target.write_bytes(b"")
    assert refuse(folder) == f"{target}: the file is empty. Expected one sentence a line"
    target.write_bytes(text[:-3] + b"\xe4.\n")
    assert refuse(folder).startswith(f"{target}:{lines}: not UTF-8 (byte 0xe4 at column ")
    target.unlink()
    target.mkdir()
    assert refuse(folder) == f"{target}: cannot be read (Is a directory)"


def test_the_same_file_on_both_sides_is_refused(folder):
    source, target = folder / "train.en", folder / "train.xx"
    target.unlink()
    expected = f"{source} and {target} are the same file. One must be the other's translation"
    target.symlink_to(source)
    assert refuse(folder) == expected
    target.unlink()
    os.link(source, target)
    assert refuse(folder) == expected
    target.unlink()
    packed = folder / "train.xx.gz"
    packed.write_bytes(gzip.compress(source.read_bytes()))
    assert refuse(folder) == f"{source} and {packed} have the same text. One must be its translation"


def test_files_can_be_named_one_by_one(folder):
    found = find_parallel_files(folder, "en-xx")
    train, dev, test = ((folder / f"{name}.en", folder / f"{name}.xx") for name in ("train", "dev", "test"))
    files = name_parallel_files(train=train, dev=dev, tests=[test])
    assert files == found
    several = name_parallel_files(train=train, dev=dev, tests=[test, test, dev, dev])
    assert list(several.tests) == ["test", "test-2", "dev-2", "dev-3"]
    assert len(several.files()) == 12


@pytest.mark.parametrize(
    ("names", "languages"),
    [
        (("a.en.gz", "b.pt-BR"), ("en", "pt-BR")),
        (("a", "b"), ("source", "target")),
        (("a.txt", "b.txt"), ("source", "target")),
        (("a.en", "b.txt.gz"), ("source", "target")),
        (("x/a.en", "y/a.en"), ("source", "target")),
        (("a.", "b.de"), ("source", "target")),
    ],
)
def test_languages_are_the_endings_of_named_files(folder, names, languages):
    paths = [folder / name for name in names]
    for path, language in zip(paths, ("en", "xx"), strict=True):
        path.parent.mkdir(exist_ok=True)
        shutil.copy(folder / f"train.{language}", path)
    other = (folder / "dev.en", folder / "dev.xx")
    files = name_parallel_files(train=(paths[0], paths[1]), dev=other, tests=[other])
    assert (files.source_language, files.target_language) == languages
    assert list(files.tests) == ["dev-2"]


def test_faults_in_named_files_are_told(folder):
    train, dev = ((folder / f"{name}.en", folder / f"{name}.xx") for name in ("train", "dev"))
    with pytest.raises(ProbingError, match="^no test set. Name the files of at least one$"):
        name_parallel_files(train=train, dev=dev, tests=[])
    with pytest.raises(ProbingError, match=r"dev\.en and .*dev\.en are the same file\. One must be the other's"):
        name_parallel_files(train=train, dev=(dev[0], dev[0]), tests=[dev])
    with pytest.raises(ProbingError, match=r"none: cannot be read \(No such file or directory\)$"):
        name_parallel_files(train=train, dev=dev, tests=[(dev[0], folder / "none")])
    with pytest.raises(ProbingError, match="cannot be read .*null byte"):
        name_parallel_files(train=train, dev=dev, tests=[(dev[0], Path("a\0b"))])
