"""Vectors from files: by task, or the only ones there are."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch
from safetensors.numpy import save_file

from probing.encoders.embedding import embed
from probing.encoders.precomputed import PrecomputedVectors, make_recipe
from probing.encoders.vector_cache import VectorEntry
from probing.errors import ProbingError
from probing.tasks.index import load_task
from probing.tasks.table import get_task, own_task

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
    assert vectors.find(get_task("past_present")).load().tolist() == ONES.tolist()
    assert vectors.find(get_task("SeLen")).load().tolist() == TWOS.tolist()
    with pytest.raises(ProbingError, match=r"no array for task WC. Arrays there: .*; expected one called WC or Word"):
        vectors.find(get_task("WC")).load()


def test_a_single_array_needs_no_name(tmp_path: Path) -> None:
    np.save(tmp_path / "mine.npy", ONES)
    vectors = PrecomputedVectors(tmp_path / "mine.npy")
    assert vectors.find(get_task("WC")).load().tolist() == ONES.tolist()
    assert vectors.find(get_task("WC")).load().tolist() == ONES.tolist()
    with pytest.raises(
        ProbingError, match=r"no array for task Tense. Arrays there: mine \(taken for WC\); expected one"
    ):
        vectors.find(get_task("Tense")).load()


@pytest.mark.parametrize("name", ["Tense.npy", "past_PRESENT.npy", "mine.npz", "mine.safetensors"])
def test_a_single_array_of_another_task_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name.endswith(".npy"):
        np.save(path, ONES)
    elif name.endswith(".npz"):
        np.savez(path, Tense=ONES)
    else:
        save_file({"Tense": ONES}, path)
    vectors = PrecomputedVectors(path)
    for task in (get_task("SubNm"), own_task(Path("answers.txt"))):
        with pytest.raises(ProbingError, match=rf"no array for task {task.name}. Arrays there: (Tense|past_PRESENT); "):
            vectors.find(task).load()
    assert vectors.find(get_task("Tense")).load().tolist() == ONES.tolist()


def test_a_single_array_stays_with_its_task_in_later_runs(tmp_path: Path, task_file: Callable[..., Path]) -> None:
    np.save(tmp_path / "mine.npy", np.ones((4, 2), np.float32))
    data = load_task(task_file())

    def run(task: str, dtype: str = "float32") -> None:
        recipe = make_recipe(str(tmp_path / "mine.npy"))  # as a new process makes it
        entry = VectorEntry.build(recipe, data, dtype)
        embed(entry, recipe, recipe.load(torch.device("cpu")), get_task(task), data)

    run("WC")
    for _ in range(2):
        with pytest.raises(
            ProbingError, match=r"no array for task Tense. Arrays there: mine \(taken for WC\); expected"
        ):
            run("Tense", "float16")
    run("WC", "float16")


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
        ("half.npy", b"\x93NUMPY", "half.npy: no vectors can be read from it ("),
        ("half.npz", b"PK", "half.npz: no vectors can be read from it ("),
        ("cut.npz", b"PK\3\4" + bytes(30), "cut.npz: no vectors can be read from it ("),
        ("half.safetensors", b"12", "half.safetensors: no vectors can be read from it ("),
    ],
)
def test_a_file_that_is_none(tmp_path: Path, name: str, content: bytes | None, text: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ProbingError) as error:
        make_recipe(str(tmp_path / name)).load(torch.device("cpu")).find(get_task("WC")).load()
    assert text in str(error.value)


class Pickled:
    """Fails when it is unpickled."""

    def __reduce__(self) -> Any:
        return pytest.fail, ("it was unpickled",)


@pytest.mark.parametrize("name", ["objects.npy", "objects.npz", "pickle.npy", "pickle.npz"])
def test_pickles_are_refused_and_not_loaded(tmp_path: Path, name: str) -> None:
    path, objects = tmp_path / name, np.array([[Pickled()]], object)
    if name.startswith("pickle"):
        path.write_bytes(pickle.dumps(objects))
    elif name.endswith(".npy"):
        np.save(path, objects, allow_pickle=True)
    else:
        np.savez(path, WC=objects)
    with pytest.raises(ProbingError, match=r"no vectors can be read from it \(.*(magic|Python objects|not a zip)"):
        PrecomputedVectors(path).find(get_task("WC")).load()


@pytest.mark.parametrize(
    ("array", "got"),
    [
        (np.zeros(3), r"shape \(3,\) and type float64"),
        (np.zeros((3, 2, 2)), r"shape \(3, 2, 2\) and type float64"),
        (np.zeros((3, 65_537), np.int8), r"shape \(3, 65537\) and type int8"),
        (np.zeros((3, 0)), r"shape \(3, 0\) and type float64"),
        (np.zeros((3, 2), complex), r"shape \(3, 2\) and type complex128"),
        (np.full((3, 2), "a"), r"shape \(3, 2\) and type <U1"),
    ],
)
def test_an_array_that_holds_no_vectors(tmp_path: Path, array: Any, got: str) -> None:
    np.savez(tmp_path / "wrong.npz", WC=array)
    expected = r"wrong.npz: expected numbers \(lines, dim\) for task WC, with a dim from 1 to 65,536. Got an array of "
    with pytest.raises(ProbingError, match=expected + got):
        PrecomputedVectors(tmp_path / "wrong.npz").find(get_task("WC")).load()


def test_half_precision_of_either_kind_is_read(tmp_path: Path) -> None:
    tensors = {"WC": torch.ones(3, 2, dtype=torch.bfloat16), "Tense": torch.ones(3, 2, dtype=torch.float16)}
    safetensors.torch.save_file(tensors, tmp_path / "half.safetensors")
    vectors = PrecomputedVectors(tmp_path / "half.safetensors")
    assert vectors.find(get_task("WC")).load().tolist() == ONES.tolist()
    assert vectors.find(get_task("Tense")).load().dtype == np.float16


def test_of_many_names_only_some_are_told(tmp_path: Path) -> None:
    np.savez(tmp_path / "many.npz", **{f"array{number}" + "x" * 200: ONES for number in range(500)})
    with pytest.raises(ProbingError) as caught:
        PrecomputedVectors(tmp_path / "many.npz").find(get_task("WC"))
    assert "array19x" in str(caught.value)
    assert " and 480 more; expected one called WC" in str(caught.value)
    assert len(str(caught.value)) < 3000
