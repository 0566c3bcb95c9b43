"""`precomputed:vectors.npz` (.npy, .safetensors): vectors that exist already, one row per line of the task file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from probing.encoders.encoder import Recipe
from probing.errors import ProbingError
from probing.storage import cache_folder, hash_file
from probing.tasks import Task, is_spelling

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
        name=f"precomputed:{path.name}",
        label=path.stem,
        version=sha256,
        load=lambda device: PrecomputedVectors(path, version=sha256),
    )


class PrecomputedVectors:
    """Arrays of a file; each is named after its task, unless it is the only one and for a single task."""

    def __init__(self, path: Path, *, version: str | None = None) -> None:
        self.path, self.version = path, version
        with _open(path) as arrays:
            self.names = list(arrays)
        self.only_for: str | None = None

    def rows(self, task: Task, path: Path) -> NDArray[Any]:
        """Return the vectors of all lines of a task file, in its order."""
        name = self._find(task)
        with _open(self.path) as arrays:
            found = arrays[name]
            array = np.asarray(found.float() if getattr(found, "dtype", None) == torch.bfloat16 else found)
        if array.ndim != 2 or array.dtype.kind not in "fiub" or not array.shape[1]:
            raise ProbingError(
                f"{self.path}: expected numbers (lines, dim) for task {task.name}. "
                f"Got an array of shape {array.shape} and type {array.dtype}"
            )
        return array

    def _find(self, task: Task) -> str:
        spellings = {spelling.lower() for spelling in task.spellings}
        found = [name for name in self.names if name.lower() in spellings]
        if not found and len(self.names) == 1 and not is_spelling(self.names[0]) and self._is_free_for(task):
            found = self.names
        if len(found) != 1:
            raise ProbingError(
                f"{self.path}: no array for task {task.name}. Arrays there: {', '.join(self.names)}"
                f"{f' (taken for {self.only_for})' if self.only_for else ''}; "
                f"expected one called {' or '.join(dict.fromkeys(task.spellings))}"
            )
        return found[0]

    def _is_free_for(self, task: Task) -> bool:
        """Return whether an array without a task's name is this task's: it belongs to the first task that asks."""
        if self.only_for is None:
            earlier = _list_earlier_tasks(self.version)
            self.only_for = min(earlier) if earlier and task.name not in earlier else task.name
        return self.only_for == task.name


def _list_earlier_tasks(version: str | None) -> set[str]:
    """Return the tasks whose vectors in the cache are from a file of this version."""
    tasks = set()
    for path in cache_folder("vectors").glob("*/about.json"):
        with suppress(OSError, ValueError, KeyError, TypeError):  # damaged, or just being deleted
            about = json.loads(path.read_text("utf-8"))
            if about["version"] == version and path.parent.suffix != ".partial":
                tasks.add(str(about["task"]))
    return tasks


@contextmanager
def _open(path: Path) -> Iterator[Mapping[str, Any]]:
    """Provide a file's arrays by their names, on disk until they are used; any parser's error becomes one line."""
    try:
        if path.suffix == ".npy":
            yield {path.stem: np.load(path, mmap_mode="r", allow_pickle=False)}
        elif path.suffix == ".npz":
            with path.open("rb") as file, NpzFile(file, allow_pickle=False) as arrays:
                yield arrays
        else:
            from safetensors import safe_open

            with safe_open(path, framework="pt") as tensors:
                yield {name: tensors.get_tensor(name) for name in tensors.keys()}  # noqa: SIM118 - it is not a dict
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise ProbingError(f"{path}: no vectors can be read from it ({reason})") from error
