"""Vectors that are there already, one row per line of the task file: `precomputed:vectors.npz`, .npy, .safetensors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from probing.dataset import hash_file
from probing.encoders.encoder import Recipe
from probing.errors import ProbingError
from probing.tasks import Task

ENDINGS = (".npy", ".npz", ".safetensors")


def make_recipe(target: str) -> Recipe:
    """Return the recipe of a file of vectors."""
    path = Path(target)
    if path.suffix not in ENDINGS:
        raise ProbingError(f"encoder 'precomputed:{target}': expected a file that ends in {', '.join(ENDINGS)}")
    if not path.is_file():
        raise ProbingError(f"encoder 'precomputed:{target}': there is no file {target}")
    sha256, _ = hash_file(path)
    return Recipe(
        name=f"precomputed:{path.name}", label=path.stem, version=sha256, load=lambda device: PrecomputedVectors(path)
    )


class PrecomputedVectors:
    """Arrays of a file; an array is called after its task, unless it is the only one and for a single task."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.names = _list_arrays(path)
        self.only_for: Task | None = None

    def rows(self, task: Task, path: Path) -> NDArray[Any]:
        """Return the vectors of all lines of a task file, in its order."""
        array = _read_array(self.path, self._find(task))
        if array.ndim != 2 or array.dtype.kind not in "fiub" or not array.shape[1]:
            raise ProbingError(
                f"{self.path}: expected numbers (lines, dim) for task {task.name}. "
                f"Got an array of shape {array.shape} and type {array.dtype}"
            )
        return array

    def _find(self, task: Task) -> str:
        spellings = {spelling.lower() for spelling in task.spellings}
        found = [name for name in self.names if name.lower() in spellings]
        if not found and len(self.names) == 1 and self.only_for in (None, task):
            self.only_for = task
            found = self.names
        if len(found) != 1:
            raise ProbingError(
                f"{self.path}: no array for task {task.name}. Arrays there: {', '.join(self.names)}"
                f"{f' (taken for {self.only_for.name})' if self.only_for else ''}; "
                f"expected one called {' or '.join(dict.fromkeys(task.spellings))}"
            )
        return found[0]


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn whatever the parsers of three formats raise for a damaged file into one line."""
    try:
        yield
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise ProbingError(f"{path}: no vectors can be read from it ({reason})") from error


def _list_arrays(path: Path) -> list[str]:
    with _reading(path):
        if path.suffix == ".npy":
            return [path.stem]
        with _open(path) as arrays:
            return list(arrays.keys())


def _read_array(path: Path, name: str) -> NDArray[Any]:
    """Return one array; all but those of .npz stay on disk until they are used."""
    with _reading(path):
        if path.suffix == ".npy":
            array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
            return array
        with _open(path) as arrays:
            if path.suffix == ".npz":
                return np.asarray(arrays[name])
            tensor = arrays.get_tensor(name)
            return np.asarray(tensor.float() if tensor.dtype == torch.bfloat16 else tensor)


@contextmanager
def _open(path: Path) -> Iterator[Any]:
    if path.suffix == ".npz":
        with path.open("rb") as file, NpzFile(file, allow_pickle=False) as arrays:
            yield arrays
        return
    from safetensors import safe_open

    with safe_open(path, framework="pt") as tensors:
        yield tensors
