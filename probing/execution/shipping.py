"""The files that a piece of work needs on another machine, such as a task file, vectors or a plug-in.

A file that the machine sees under the same path, with the same content, is read there. Any other file is fetched once
per machine and kept in its cache.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic

from filelock import FileLock

from probing import __version__
from probing.errors import ProbingError
from probing.execution.work import AnyWork
from probing.storage import cache_folder, hash_content, new_folder, resolve_path, writing

Fetch = Callable[[Any], bytes]


@dataclass(frozen=True, slots=True)
class Parcel:
    """A file on its way to another machine."""

    path: Path
    """Place of the file on the machine of the run."""
    sha256: str
    handle: Any
    """Handle by which the cluster hands out the content."""

    def open(self, fetch: Fetch) -> Path:
        """Return the place of the file on this machine; it is fetched if it is not there."""
        with suppress(OSError), self.path.open("rb") as file:  # it is not there, or in another user's home
            if hashlib.file_digest(file, "sha256").hexdigest() == self.sha256:
                return self.path
        folder = cache_folder("shipped") / self.sha256
        lock = FileLock(f"{folder}.lock")
        with writing(folder.parent):
            folder.parent.mkdir(parents=True, exist_ok=True)
            held = lock.acquire()
        with held:  # one process of a machine fetches it, the others wait
            if not folder.is_dir():
                content = fetch(self.handle)
                if hash_content(content) != self.sha256:
                    raise ProbingError(f"{self.path}: the file changed while the run went on. Start the run again")
                with new_folder(folder) as new:
                    (new / self.path.name).write_bytes(content)
        return next(folder.iterdir())


@dataclass(frozen=True, slots=True)
class Shipment(Generic[AnyWork]):
    """A piece of work and its files."""

    work: AnyWork
    parcels: dict[str, Parcel]
    """Files by their roles."""
    version: str = __version__

    def unpack(self, fetch: Fetch) -> AnyWork:
        """Return the work as it can be done on this machine."""
        if self.version != __version__:
            raise ProbingError(f"the run has probing {self.version}, a machine of the cluster {__version__}")
        return self.work.moved({role: parcel.open(fetch) for role, parcel in self.parcels.items()})


class Packer:
    """Packs works; `put` hands a file's content to the cluster, once for all works that need it."""

    def __init__(self, put: Callable[[bytes], Any], is_there: Callable[[Any], bool] = lambda handle: True) -> None:
        self._put, self._is_there = put, is_there
        self._parcels: dict[Path, Parcel] = {}

    def pack(self, work: AnyWork) -> Shipment[AnyWork]:
        """Return the work with its files, which the cluster has from now on."""
        return Shipment(work, {role: self._wrap(resolve_path(path)) for role, path in work.files().items()})

    def _wrap(self, path: Path) -> Parcel:
        parcel = self._parcels.get(path)
        if parcel is None or not self._is_there(parcel.handle):
            content = path.read_bytes()
            parcel = self._parcels[path] = Parcel(path, hash_content(content), self._put(content))
        return parcel
