"""A large file is read once, and again as soon as anything about it changes."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from probing.storage import kept_hashes
from probing.storage.kept_hashes import SMALL, hash_large_file


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were read; the cache is one of the test's own."""
    files: list[Path] = []
    original = kept_hashes.hash_file
    monkeypatch.setattr(kept_hashes, "hash_file", lambda path: files.append(path) or original(path))
    monkeypatch.setattr(kept_hashes, "SECONDS_TO_SETTLE", -1.0)
    return files


def write(path: Path, letter: bytes, size: int = SMALL + 1) -> str:
    with open(path, "r+b" if path.exists() else "wb") as file:
        file.write(letter * size)
    return hashlib.sha256(letter * size).hexdigest()


def test_a_large_file_is_read_once(tmp_path: Path, read: list[Path]) -> None:
    path = tmp_path / "weights"
    expected = write(path, b"a")
    assert [hash_large_file(path) for _ in range(3)] == [expected] * 3
    assert read == [path]


def test_a_small_file_is_read_every_time(tmp_path: Path, read: list[Path]) -> None:
    path = tmp_path / "small"
    write(path, b"a", SMALL)
    assert hash_large_file(path) == hash_large_file(path)
    assert read == [path, path]


def test_a_change_is_seen_if_size_and_time_are_as_before(tmp_path: Path, read: list[Path]) -> None:
    path = tmp_path / "weights"
    write(path, b"a")
    before = os.stat(path)
    hash_large_file(path)
    expected = write(path, b"b")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert hash_large_file(path) == expected
    assert len(read) == 2


def test_a_file_that_changed_just_now_is_read_again(
    tmp_path: Path, read: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_hashes, "SECONDS_TO_SETTLE", 3600.0)
    path = tmp_path / "weights"
    write(path, b"a")
    hash_large_file(path)
    hash_large_file(path)
    assert len(read) == 2


def test_a_damaged_note_is_no_hash(tmp_path: Path, read: list[Path]) -> None:
    path = tmp_path / "weights"
    expected = write(path, b"a")
    hash_large_file(path)
    (note,) = (kept_hashes.cache_folder(kept_hashes.FILES) / "hashes").glob("*.json")
    note.write_text("{")
    assert hash_large_file(path) == expected
