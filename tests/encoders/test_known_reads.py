"""The files that an encoder was seen to read."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from probing.encoders.known_reads import MISSING, KnownReads, find_changed

pytestmark = pytest.mark.usefixtures("cache")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "vectors"
    folder.mkdir()
    (folder / "a.txt").write_text("1", encoding="utf-8")
    time.sleep(0.02)  # what was written before the watching counts as input
    return folder


def read_all(folder: Path) -> KnownReads:
    reads = KnownReads(encoder="E", version="1")
    with reads.watching():
        for path in sorted(folder.glob("*.txt")):
            path.read_text("utf-8")
    return reads


def test_what_was_read_is_remembered(folder: Path) -> None:
    reads = read_all(folder)
    assert not reads.is_known
    reads.save()
    again = KnownReads(encoder="E", version="1")
    assert again.is_known
    assert again.files == reads.files
    assert again.describe() == reads.describe() != ""
    assert not KnownReads(encoder="E", version="2").is_known


def test_content_counts_and_not_the_place(folder: Path, tmp_path: Path) -> None:
    before = read_all(folder).describe()
    moved = folder.rename(tmp_path / "elsewhere")
    time.sleep(0.02)
    assert read_all(moved).describe() == before
    (moved / "a.txt").write_text("2", encoding="utf-8")
    time.sleep(0.02)
    assert read_all(moved).describe() != before


def test_a_new_file_in_a_listed_folder_is_a_change(folder: Path) -> None:
    reads = read_all(folder)
    before, hashes = reads.describe(), reads.hash_files()
    (folder / "readme.md").write_text("of another kind", encoding="utf-8")
    assert reads.describe() == before
    assert find_changed(hashes) == []
    (folder / "b.txt").write_text("2", encoding="utf-8")
    assert reads.describe() != before
    assert find_changed(hashes) == [f"{folder}/*.txt"]


def test_a_file_that_appears_later_is_a_change(folder: Path) -> None:
    reads = KnownReads(encoder="E", version="1")
    with reads.watching(), pytest.raises(FileNotFoundError):
        (folder / "optional.txt").read_text("utf-8")
    assert reads.hash_files() == {str(folder / "optional.txt"): MISSING}
    assert reads.describe() == "", "nothing was read, so the version is that of the code"
    hashes = reads.hash_files()
    (folder / "optional.txt").write_text("now", encoding="utf-8")
    assert reads.describe() != ""
    assert find_changed(hashes) == [str(folder / "optional.txt")]


def test_what_an_encoder_writes_is_not_what_it_reads(folder: Path) -> None:
    reads = KnownReads(encoder="E", version="1")
    with reads.watching():
        (folder / "own.txt").write_text("kept for the next time", encoding="utf-8")
    with reads.watching():
        (folder / "own.txt").read_text("utf-8")
    assert reads.files == set()
    assert reads.describe() == ""
