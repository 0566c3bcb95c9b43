"""Files that commands leave on the disk beside vectors: models, files of cluster runs, checkpoints of stopped cells."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from probing.errors import ProbingError
from probing.execution import Leases
from probing.storage import (
    CHECKPOINTS,
    EXPLAINED,
    FILES,
    KERNELS,
    PARALLEL,
    PARSES,
    SHIPPED,
    TEMPORARY,
    VECTORS,
    Folder,
    cache_folder,
    is_temporary,
    list_abandoned,
    measure,
    sweep,
)

CACHED = {
    FILES: "what is known of the files that encoders read",
    EXPLAINED: "model of an explanation",
    SHIPPED: "file of a run on a cluster",
    KERNELS: "compiled library",
    PARSES: "parses of raw text",
    PARALLEL: "segmented parallel text",
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
        return measure(self.folder)

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
    found += [
        Leftover(TEMPORARY, path, "what a killed process was writing")
        for place in _list_places(results)
        for path in list_abandoned(*place)
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


def sweep_leftovers(results: Path) -> int:
    """Delete what killed processes were writing to the cache and to a results folder; return its number."""
    return sum(sweep(*place) for place in _list_places(results))


def _list_places(results: Path) -> Iterator[tuple[Any, ...]]:
    """Yield the folders that processes write to, each as a root and the names of the folders below it."""
    yield (results,)
    yield from ((results, CHECKPOINTS, path.name) for path in _list_folders(results / CHECKPOINTS))
    cache = cache_folder(".")
    for kind in _list_folders(cache):
        yield cache, kind.name
    yield from ((cache, VECTORS, path.name) for path in _list_folders(cache / VECTORS))


def _list_folders(folder: Path) -> list[Path]:
    """Return the folders in a folder, and compiled libraries, but nothing that is being written."""
    paths = sorted(folder.glob("*"))
    return [path for path in paths if (path.is_dir() or path.suffix == ".so") and not is_temporary(path.name)]
