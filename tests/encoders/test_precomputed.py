"""Vectors from files: by task, or the only ones there are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from probing.encoders.precomputed import PrecomputedVectors, make_recipe
from probing.errors import ProbingError
from probing.tasks import get_task

ONES, TWOS = np.ones((3, 2), np.float32), np.full((3, 2), 2, np.float32)


@pytest.fixture(params=["npz", "safetensors"])
def two_tasks(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"vectors.{request.param}"
    arrays = {"Tense": ONES, "sentence_length": TWOS}
    if request.param == "npz":
        np.savez(path, **arrays)
    else:
        save_file(arrays, path)
    return path


def test_an_array_is_called_after_its_task_in_any_spelling(two_tasks: Path) -> None:
    vectors = PrecomputedVectors(two_tasks)
    assert vectors.rows(get_task("past_present"), two_tasks).tolist() == ONES.tolist()
    assert vectors.rows(get_task("SeLen"), two_tasks).tolist() == TWOS.tolist()
    with pytest.raises(ProbingError, match=r"no array for task WC. Arrays there: .*; expected one called WC or Word"):
        vectors.rows(get_task("WC"), two_tasks)


def test_a_single_array_needs_no_name(tmp_path: Path) -> None:
    np.save(tmp_path / "mine.npy", ONES)
    assert PrecomputedVectors(tmp_path / "mine.npy").rows(get_task("WC"), tmp_path).tolist() == ONES.tolist()


def test_the_version_is_the_files_content(two_tasks: Path) -> None:
    before = make_recipe(str(two_tasks))
    assert (before.name, before.label) == (f"precomputed:{two_tasks.name}", "vectors")
    two_tasks.write_bytes(two_tasks.read_bytes() + b"x")
    assert make_recipe(str(two_tasks)).version != before.version


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("no.npz", None, "there is no file"),
        ("vectors.txt", b"1 2", "expected a file that ends in .npy, .npz, .safetensors"),
        ("half.npy", b"\x93NUMPY", "half.npy: not a whole file of vectors ("),
        ("half.npz", b"PK", "half.npz: not a whole file of vectors ("),
        ("half.safetensors", b"12", "half.safetensors: not a whole file of vectors ("),
    ],
)
def test_a_file_that_is_none(tmp_path: Path, name: str, content: bytes | None, text: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ProbingError) as error:
        make_recipe(str(tmp_path / name)).load(None)  # type: ignore[arg-type]
    assert text in str(error.value)


def test_pickled_arrays_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "objects.npy", np.array([{"a": 1}], object), allow_pickle=True)
    with pytest.raises(ProbingError, match="not a whole file of vectors"):
        PrecomputedVectors(tmp_path / "objects.npy")
