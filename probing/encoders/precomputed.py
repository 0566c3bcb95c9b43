"""`precomputed:vectors.npz` (.npy, .safetensors): vectors that exist already, one row per line of the task file."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from probing.encoders.array_files import ENDINGS, StoredArray, find_array, list_arrays
from probing.encoders.encoder import Recipe
from probing.encoders.options import DEFAULTS, EncoderOptions
from probing.errors import ProbingError
from probing.storage import cache_folder, check_path, hash_large_file
from probing.tasks import Task, is_spelling

MAX_DIM = 1 << 16
"""Largest dimension of a vector: more is no encoder's, and would take unbounded memory."""


def make_recipe(target: str, options: EncoderOptions = DEFAULTS) -> Recipe:
    """Return the recipe of a file of vectors."""
    path = check_path(target)
    if path.suffix not in ENDINGS:
        raise ProbingError(f"encoder 'precomputed:{target}': expected a file that ends in {', '.join(ENDINGS)}")
    if not path.is_file():
        raise ProbingError(f"encoder 'precomputed:{target}': there is no file {target}")
    sha256 = hash_large_file(path)
    return Recipe(
        name=f"precomputed:{path.name}",
        label=path.stem,
        version=sha256,
        covers=lambda task: PrecomputedVectors(path).covers(task),
        load=lambda device: PrecomputedVectors(path, version=sha256),
    )


class PrecomputedVectors:
    """Arrays of a file; each is named after its task, unless it is the only one and for a single task."""

    def __init__(self, path: Path, *, version: str | None = None) -> None:
        self.path, self.version = path, version
        self.names = list_arrays(path)
        self.only_for: str | None = None

    def covers(self, task: Task) -> bool:
        """Return whether there is an array for a task; one without a task's name may be any task's."""
        return (len(self.names) == 1 and not is_spelling(self.names[0])) or bool(self._list_named(task))

    def _list_named(self, task: Task) -> list[str]:
        spellings = {spelling.lower() for spelling in task.spellings}
        return [name for name in self.names if name.lower() in spellings]

    def find(self, task: Task) -> StoredArray:
        """Return the vectors of all lines of a task file, in its order; they are not read yet."""
        array = find_array(self.path, self._find_name(task))
        if len(array.shape) != 2 or array.kind not in "fiub" or not 0 < array.shape[1] <= MAX_DIM:
            raise ProbingError(
                f"{self.path}: expected numbers (lines, dim) for task {task.name}, with a dim from 1 to {MAX_DIM:,}. "
                f"Got an array of shape {array.shape} and type {array.dtype}"
            )
        return array

    def _find_name(self, task: Task) -> str:
        found = self._list_named(task)
        if not found and len(self.names) == 1 and not is_spelling(self.names[0]) and self._is_free_for(task):
            found = self.names
        if len(found) != 1:
            raise ProbingError(
                f"{self.path}: no array for task {task.name}. Arrays there: {_list_some(self.names)}"
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


def _list_some(names: list[str]) -> str:
    """Return the names as a list of which only the beginning is given if it is long."""
    more = f" and {len(names) - 20:,} more" if len(names) > 20 else ""
    return f"{', '.join(name[:80] for name in names[:20])}{more}"


def _list_earlier_tasks(version: str | None) -> set[str]:
    """Return the tasks whose vectors in the cache are from a file of this version."""
    tasks = set()
    for path in cache_folder("vectors").glob("*/about.json"):
        with suppress(OSError, ValueError, KeyError, TypeError):  # damaged, or just being deleted
            about = json.loads(path.read_text("utf-8"))
            if about["version"] == version and path.parent.suffix != ".partial":
                tasks.add(str(about["task"]))
    return tasks
