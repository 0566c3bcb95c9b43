"""Files that commands leave on the disk beside vectors: models, files of cluster runs, checkpoints of stopped cells."""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from probing.errors import ProbingError
from probing.execution import Leases
from probing.storage import CHECKPOINTS, EXPLAINED, KERNELS, PARSES, SHIPPED, Folder, cache_folder

CACHED = {
    EXPLAINED: "model of an explanation",
    SHIPPED: "file of a run on a cluster",
    KERNELS: "compiled library",
    PARSES: "parses of raw text",
}
"""Description of each kind in the cache that can be made again."""


@dataclass(frozen=True, slots=True)
class Leftover:
    """A folder or a file that can be deleted."""

    kind: str
    folder: Path
    what: str

    @property
    def size(self) -> int:
        paths = (self.folder, *self.folder.rglob("*"))
        return sum(path.stat().st_size for path in paths if path.is_file())

    def delete(self) -> None:
        """Delete the folder, unless a process is just fetching it."""
        with (
            Folder.open(self.folder.parents[1], self.folder.parent.name) as parent,
            FileLock(f"{self.folder}.lock", timeout=0) as lock,
        ):
            parent.remove_folder(self.folder.name)
            parent.remove(Path(lock.lock_file).name)


def list_leftovers(results: Path) -> list[Leftover]:
    """Return the folders in the cache and in a results folder, except the checkpoints of cells that are being run."""
    found = [
        Leftover(kind, folder, what) for kind, what in CACHED.items() for folder in _list_folders(cache_folder(kind))
    ]
    running = {key[:12] for key in Leases.of(results).list_taken()}
    for folder in _list_folders(results / CHECKPOINTS):
        if folder.name.rpartition("--")[2] not in running:
            ended = (results / f"{folder.name}.json").is_file()
            found.append(Leftover(CHECKPOINTS, folder, "cell with a record" if ended else "cell that was stopped"))
    return found


def describe_leftovers(results: Path) -> list[tuple[str, str, float, str]]:
    """Return the folders as rows of a table, the largest first."""
    rows = [(one.kind, one.what, one.size / 1e6, one.folder.name) for one in list_leftovers(results)]
    return sorted(rows, key=lambda row: (-row[2], row))


def clear_leftovers(kinds: Collection[str], results: Path) -> tuple[int, int]:
    """Delete the folders of some kinds; return their number and size in bytes."""
    chosen = [(one, one.size) for one in list_leftovers(results) if one.kind in kinds]
    for one, _ in chosen:
        try:
            one.delete()
        except Timeout:
            raise ProbingError(f"{one.folder} is being fetched by another process. Wait for it, or stop it") from None
        except OSError as error:
            raise ProbingError(f"{one.folder}: cannot be deleted ({error.strerror or error})") from None
    with contextlib.suppress(OSError):  # not empty, or not there
        (results / CHECKPOINTS).rmdir()
    return len(chosen), sum(size for _, size in chosen)


def _list_folders(folder: Path) -> list[Path]:
    """Return the folders in a folder, and compiled libraries."""
    return sorted(path for path in folder.glob("*") if path.is_dir() or path.suffix == ".so")
