"""Files of vectors: the same bytes however often the writing was interrupted, and never a wrong place to go on from."""

from __future__ import annotations

import errno
import json
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file

from probing.encoders import vector_files
from probing.encoders.blocks import Blocks
from probing.encoders.vector_files import VectorFiles
from probing.errors import ProbingError

COUNTS = {"tr": 5, "va": 2, "te": 3}
ORDER = np.array([2, 3, 0, 4, 1, 6, 5, 7, 9, 8])
BLOCKS = Blocks(COUNTS, ORDER, 1)
VECTORS = np.arange(10 * 2 * 3, dtype=np.float32).reshape(10, 2, 3)
NAMES = ["a.safetensors", "b.safetensors"]


def write(folder: Path, stops: list[int], dtype: str = "float32") -> list[int]:
    """Write in sittings that end at these rows; return where each began."""
    starts = []
    for stop in stops:
        with VectorFiles.open(folder, NAMES, BLOCKS, dtype) as files:
            starts.append(files.rows)
            while files.rows < stop:
                rows = ORDER[files.rows : files.rows + 1]
                files.append(rows, VECTORS[rows].astype(dtype))
    return starts


def test_the_files_are_safetensors_of_the_splits(tmp_path: Path) -> None:
    write(tmp_path / "x", [10])
    for layer, name in enumerate(NAMES):
        tensors = load_file(tmp_path / "x" / name)
        assert {key: tensor.tolist() for key, tensor in tensors.items()} == {
            "tr": VECTORS[:5, layer].tolist(),
            "va": VECTORS[5:7, layer].tolist(),
            "te": VECTORS[7:, layer].tolist(),
        }


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 10), max_size=5), st.sampled_from(["float32", "float16"]))
def test_interruptions_change_no_byte(
    tmp_path_factory: pytest.TempPathFactory, interruptions: list[int], dtype: str
) -> None:
    folder = tmp_path_factory.mktemp("files")
    write(folder / "whole", [10], dtype)
    stops = [*sorted(interruptions), 10]
    assert write(folder / "pieces", stops, dtype) == [0, *stops[:-1]]
    for name in NAMES:
        assert (folder / "pieces" / name).read_bytes() == (folder / "whole" / name).read_bytes()


@pytest.mark.parametrize("damage", ["", "{", '{"rows": 8}', "[]", '{"rows": "x", "dim": 3}', '{"rows": 4, "dim": 2}'])
def test_a_damaged_note_of_progress_starts_anew(tmp_path: Path, damage: str) -> None:
    write(tmp_path / "x", [4])
    (tmp_path / "x" / vector_files.PROGRESS).write_text(damage, encoding="utf-8")
    assert write(tmp_path / "x", [10]) == [0]


@pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_bytes(path.read_bytes()[:-1])])
def test_a_damaged_file_starts_anew(tmp_path: Path, damage: Any) -> None:
    write(tmp_path / "x", [4])
    damage(tmp_path / "x" / NAMES[1])
    assert write(tmp_path / "x", [10]) == [0]


def test_rows_beyond_the_last_note_are_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a loss of power: the note is older than the rows."""
    write(tmp_path / "x", [4])
    note = (tmp_path / "x" / vector_files.PROGRESS).read_text(encoding="utf-8")
    write(tmp_path / "x", [7])
    (tmp_path / "x" / vector_files.PROGRESS).write_text(note, encoding="utf-8")
    assert write(tmp_path / "x", [10]) == [4]
    assert load_file(tmp_path / "x" / NAMES[0])["te"].tolist() == VECTORS[7:, 0].tolist()


def test_progress_is_noted_while_rows_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_files, "SECONDS_BETWEEN_SAVES", -1.0)
    with VectorFiles.open(tmp_path / "x", NAMES, BLOCKS, "float32") as files:
        files.append(ORDER[:1], VECTORS[ORDER[:1]])
        note = json.loads((tmp_path / "x" / vector_files.PROGRESS).read_text(encoding="utf-8"))
    assert note == {"rows": 1, "dim": 3, "block": 1, "checksums": files.checksums}


def test_a_full_disk_is_one_line_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "x", [4])

    class Full(FileIO):
        def write(self, data: Any) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(vector_files, "FileIO", Full)
        with pytest.raises(ProbingError, match=r"x: vectors cannot be written \(No space left on device\). Make room"):
            write(tmp_path / "x", [10])
    assert write(tmp_path / "x", [10]) == [4]


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder", encoding="utf-8")
    with pytest.raises(ProbingError, match=r"x: vectors cannot be written \(Not a directory\). Make room or set XDG"):
        write(tmp_path / "file" / "x", [10])


def test_a_disk_that_fails_at_the_end_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(file: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(vector_files.os, "fsync", fail)
    with pytest.raises(ProbingError, match=r"x: vectors cannot be written \(Input/output error\)"):
        write(tmp_path / "x", [4])


def test_what_was_written_is_not_damaged(tmp_path: Path) -> None:
    write(tmp_path / "x", [4, 10])
    assert VectorFiles.check(tmp_path / "x", NAMES, BLOCKS, "float32") == []


@pytest.mark.parametrize("damage", [b"\0" * 12, np.full(3, np.nan, np.float32).tobytes()], ids=["zeros", "NaN"])
def test_damaged_blocks_are_found_and_written_again(tmp_path: Path, damage: bytes) -> None:
    write(tmp_path / "x", [10])
    whole = {name: (tmp_path / "x" / name).read_bytes() for name in NAMES}
    for name, row in zip(NAMES, (3, 7), strict=True):
        with FileIO(tmp_path / "x" / name, "r+") as file:
            file.seek(len(whole[name]) - (10 - row) * 12)
            file.write(damage)
    assert VectorFiles.check(tmp_path / "x", NAMES, BLOCKS, "float32") == [1, 7]
    with VectorFiles.open(tmp_path / "x", NAMES, BLOCKS, "float32") as files:
        for number in files.find_damaged():
            files.rewrite(number, ORDER[number : number + 1], VECTORS[ORDER[number : number + 1]])
    assert VectorFiles.check(tmp_path / "x", NAMES, BLOCKS, "float32") == []
    assert {name: (tmp_path / "x" / name).read_bytes() for name in NAMES} == whole


@pytest.mark.parametrize("name", [*NAMES, vector_files.PROGRESS])
def test_files_that_are_no_such_files_are_damaged_as_a_whole(tmp_path: Path, name: str) -> None:
    write(tmp_path / "x", [10])
    (tmp_path / "x" / name).write_bytes(b"{}")
    assert VectorFiles.check(tmp_path / "x", NAMES, BLOCKS, "float32") == list(range(10))
    assert (tmp_path / "x" / name).read_bytes() == b"{}", "looking changes nothing"
