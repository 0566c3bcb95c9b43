"""What a cell needs on another machine: its task file, its vectors, its plug-in.

A file that the machine sees under the same path, with the same content, is read there. Any other is fetched once per
machine and kept in its cache.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from probing import __version__
from probing.cache import cache_folder, new_folder, writing
from probing.cells import Cell
from probing.errors import ProbingError
from probing.methods import FineTuned, Probed, Trained

Fetch = Callable[[Any], bytes]


@dataclass(frozen=True, slots=True)
class Parcel:
    """A file on its way."""

    path: Path
    """Where the run has it."""
    sha256: str
    handle: Any
    """What its content can be fetched with."""

    def open(self, fetch: Fetch) -> Path:
        """Return where the file is on this machine; it is fetched if it is not there."""
        with suppress(OSError):  # it is not there, or in another user's home
            if _hash(self.path) == self.sha256:
                return self.path
        folder = cache_folder("shipped") / self.sha256
        lock = FileLock(f"{folder}.lock")
        with writing(folder.parent):
            folder.parent.mkdir(parents=True, exist_ok=True)
            held = lock.acquire()
        with held:  # one process of a machine fetches it, the others wait
            if not folder.is_dir():
                content = fetch(self.handle)
                if hashlib.sha256(content).hexdigest() != self.sha256:
                    raise ProbingError(f"{self.path}: the file changed while the run went on. Start the run again")
                with new_folder(folder) as new:
                    (new / self.path.name).write_bytes(content)
        return next(folder.iterdir())


@dataclass(frozen=True, slots=True)
class Shipment:
    """A cell and its files."""

    cell: Cell
    parcels: dict[str, Parcel]
    version: str = __version__

    def unpack(self, fetch: Fetch) -> Cell:
        """Return the cell as it can be run on this machine."""
        if self.version != __version__:
            raise ProbingError(f"the run has probing {self.version}, a machine of the cluster {__version__}")
        places = {name: parcel.open(fetch) for name, parcel in self.parcels.items()}
        return dataclasses.replace(self.cell, path=places["task"], method=_move(self.cell.method, places))


class Packer:
    """Packs cells; `put` hands a file's content to the cluster, once for all cells that need it."""

    def __init__(self, put: Callable[[bytes], Any], is_there: Callable[[Any], bool] = lambda handle: True) -> None:
        self._put, self._is_there = put, is_there
        self._parcels: dict[Path, Parcel] = {}

    def pack(self, cell: Cell) -> Shipment:
        """Return the cell with its files, which the cluster has from now on."""
        return Shipment(cell, {name: self._wrap(path.resolve()) for name, path in _find_files(cell).items()})

    def _wrap(self, path: Path) -> Parcel:
        parcel = self._parcels.get(path)
        if parcel is None or not self._is_there(parcel.handle):
            content = path.read_bytes()
            parcel = Parcel(path, hashlib.sha256(content).hexdigest(), self._put(content))
            self._parcels[path] = parcel
        return parcel


def _find_files(cell: Cell) -> dict[str, Path]:
    """Return the files that a cell reads, by what they are to it."""
    files, method = {"task": cell.path}, cell.method
    if isinstance(method, Probed):
        return files | {"vectors": method.vectors.file(method.layer)}
    source = (method.aggregator if isinstance(method, Trained) else method.encoder).rpartition(":")[0]
    return files | {"plug-in": Path(source)} if source.endswith(".py") else files


def _move(method: Trained | FineTuned | Probed, places: dict[str, Path]) -> Trained | FineTuned | Probed:
    """Return the method with its files where they are here."""
    if isinstance(method, Probed):
        return dataclasses.replace(method, vectors=dataclasses.replace(method.vectors, folder=places["vectors"].parent))
    if "plug-in" not in places:
        return method
    if isinstance(method, Trained):
        return dataclasses.replace(method, aggregator=_rename(method.aggregator, places["plug-in"]))
    return dataclasses.replace(method, encoder=_rename(method.encoder, places["plug-in"]))


def _rename(spec: str, place: Path) -> str:
    return f"{place}:{spec.rpartition(':')[2]}"


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
