"""Vectors that are there already, one row per line of the task file: `precomputed:vectors.npz`, .npy, .safetensors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
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
    """Arrays of a file; an array is called after its task, unless it is the only one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.arrays = _open_arrays(path)

    def rows(self, task: Task, path: Path) -> NDArray[Any]:
        """Return the vectors of all lines of a task file, in its order."""
        spellings = {spelling.lower() for spelling in task.spellings}
        found = [name for name in self.arrays if name.lower() in spellings]
        if not found and len(self.arrays) == 1:
            found = list(self.arrays)
        if len(found) != 1:
            raise ProbingError(
                f"{self.path}: no array for task {task.name}. Arrays there: {', '.join(self.arrays)}; "
                f"expected one called {' or '.join(task.spellings)}"
            )
        return self.arrays[found[0]]


def _open_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays by name; all but those of .npz stay on disk until they are read."""
    try:
        if path.suffix == ".npy":
            return {path.stem: np.load(path, mmap_mode="r", allow_pickle=False)}
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as arrays:
                return dict(arrays)
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(path, framework="pt") as tensors:
                return {name: tensors.get_tensor(name).float().numpy() for name in tensors.keys()}  # noqa: SIM118
        except SafetensorError as error:
            raise ValueError(str(error)) from None
    except (OSError, ValueError, EOFError) as error:
        raise ProbingError(f"{path}: not a whole file of vectors ({error})") from None
