"""Leases: they say which process runs which work when several processes share a results folder.

A lease is a small file in `.leases/` that names its owner; the owner touches it while the work runs (its heartbeat). It
has expired when the owner is dead, or, on another machine, when there was no heartbeat for some minutes of the file
server's clock. The leases of a work are numbered: a process that finds the last one expired makes the next. Only one
process can make a file of a given name, on network file systems too. It then looks again whether another lease is
valid, and withdraws if so: its first look at the folder may have been out of date.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import re
import socket
import stat
import tempfile
import threading
import time
from collections.abc import Collection
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import msgspec

from probing.errors import ProbingError
from probing.storage import Folder, find_start, identify_machine

logger = logging.getLogger(__name__)

FOLDER = ".leases"
NUMBER = re.compile("[1-9][0-9]{0,14}")
"""Number of a lease, at the end of its file's name."""
LARGEST = 4096
"""Largest lease in bytes."""
LARGEST_PID = 2**31 - 1
SECONDS_BETWEEN_HEARTBEATS = 20.0
SECONDS_TO_EXPIRE = 180.0
"""Time without a heartbeat after which a lease expires; longer than network file systems cache a file's time."""


@dataclass(frozen=True, slots=True)
class Owner:
    """A process; whether it lives can be looked up on this machine only."""

    host: str
    machine: str
    """Identity that two machines of one name, or two containers of one machine, do not share."""
    pid: Annotated[int, msgspec.Meta(gt=0, le=LARGEST_PID)]
    started: str
    """Start time, which tells a process from a later one with the same number; empty if the system does not say."""

    @classmethod
    def parse(cls, content: bytes) -> Owner | None:
        """Return the owner that a lease's content names, or None if it names none."""
        try:
            return msgspec.json.decode(content, type=cls)
        except (msgspec.DecodeError, RecursionError):
            return None

    @classmethod
    def current(cls) -> Owner:
        return cls(socket.gethostname(), identify_machine(), os.getpid(), find_start(os.getpid()) or "")

    @property
    def name(self) -> str:
        return f"process {self.pid} on {self.host}"

    def is_alive(self) -> bool | None:
        """Return whether the process lives; None if that cannot be known on this machine."""
        if (self.host, self.machine) != (socket.gethostname(), identify_machine()):
            return None
        started = find_start(self.pid)
        if started is None:
            return False
        return started == self.started if started and self.started else None


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to run a work, until it is released."""

    key: str
    number: int
    path: Path
    taken_from: Owner | None
    """Process that had the lease before and died."""


@dataclass(slots=True)
class Leases:
    """The leases of a results folder, as one process sees and holds them."""

    folder: Path
    owner: Owner = field(default_factory=Owner.current)
    _held: dict[Path, Lease] = field(default_factory=dict)
    _first_seen: dict[tuple[str, int, int], float] = field(default_factory=dict)
    """Time by this machine's own clock at which each state of a lease file was seen first."""
    _named: set[str] = field(default_factory=set)
    """Names of files that are no leases, which the user was told about."""
    _ended: threading.Event = field(default_factory=threading.Event)
    _heartbeats: threading.Thread | None = None

    @classmethod
    def of(cls, results: Path) -> Leases:
        """Return the leases of a results folder."""
        return cls(results / FOLDER)

    def take(self, key: str) -> Lease | Owner | None:
        """Take the lease of a work; if another process has it, return that process, or None if it is not known yet."""
        before = self._list(key)
        for path in before.values():
            if not self._has_expired(path):
                return self._read_owner(path)
        number = max(before, default=0) + 1
        path = self.folder / f"{key}.{number}"
        if not NUMBER.fullmatch(str(number)):
            raise ProbingError(
                f"{self.folder}: {before[number - 1].name} is no lease of a run. Remove it, then try again"
            )
        if not self._create(path):
            return None
        others = [other for other in self._list(key).values() if other != path and not self._has_expired(other)]
        if others:
            self._remove(path)
            return self._read_owner(others[0])
        lease = Lease(key, number, path, self._read_owner(before[max(before)]) if before else None)
        self._held[path] = lease
        self._start_heartbeats()
        return lease

    def is_taken(self, key: str) -> bool:
        """Return whether a process has the lease of a work."""
        return not all(self._has_expired(path) for path in self._list(key).values())

    def list_taken(self) -> set[str]:
        """Return the keys of all works that are leased."""
        return {key for key in self._list_keys() if self.is_taken(key)}

    def is_held(self, lease: Lease) -> bool:
        """Return whether the lease is still valid; it is not if another process believed that this one had died."""
        return max(self._list(lease.key), default=0) == lease.number and self._read_owner(lease.path) == self.owner

    def release(self, lease: Lease) -> None:
        """Give the lease back; expired ones before it are deleted first, so that it is not free too early."""
        self._held.pop(lease.path, None)
        if self.is_held(lease):
            for _, path in sorted(self._list(lease.key).items()):
                self._remove(path)
        self._remove_folder()

    def sweep(self, keep: Collection[str] = ()) -> None:
        """Delete expired leases, except those of some works: a process may die after its record, before its release."""
        for key in sorted(self._list_keys().difference(keep)):
            paths = self._list(key).values()
            if paths and all(self._read_owner(path) is not None and self._has_expired(path) for path in paths):
                with suppress(ProbingError):  # this user may only read
                    if isinstance(lease := self.take(key), Lease):
                        self.release(lease)
        self._remove_folder()

    def close(self) -> None:
        """Release all leases that this process holds."""
        self._ended.set()
        if self._heartbeats is not None:
            self._heartbeats.join()
        for lease in list(self._held.values()):
            self.release(lease)

    def _open(self, *, create: bool = False) -> AbstractContextManager[Folder]:
        return Folder.open(self.folder.parent, FOLDER, create=create)

    def _list_names(self) -> list[str]:
        """Return the names in the folder; network file systems keep the listing of a folder fresh."""
        with suppress(FileNotFoundError, PermissionError), self._open() as folder:
            return folder.list_names()
        return []

    def _list_keys(self) -> set[str]:
        return {name.rpartition(".")[0] for name in self._list_names()}

    def _list(self, key: str) -> dict[int, Path]:
        """Return the files of a work's leases by number."""
        names = [name.rpartition(".") for name in self._list_names()]
        found = {number: self.folder / f"{key}.{number}" for stem, _, number in names if stem == key}
        return {int(number): path for number, path in found.items() if NUMBER.fullmatch(number)}

    def _create(self, path: Path) -> bool:
        while True:
            try:
                with self._open(create=True) as folder:
                    folder.create(path.name, json.dumps(dataclasses.asdict(self.owner)).encode())
                return True
            except FileExistsError:
                return False
            except FileNotFoundError:  # another process has just removed the empty folder
                continue
            except OSError as error:
                raise ProbingError(
                    f"{self.folder.parent}: results cannot be written there ({error.strerror})"
                ) from None

    def _remove(self, path: Path) -> None:
        with suppress(FileNotFoundError), self._open() as folder:
            folder.remove(path.name)

    def _remove_folder(self) -> None:
        with suppress(OSError, ProbingError), Folder.open(self.folder.parent) as results:
            os.rmdir(FOLDER, dir_fd=results.handle)  # only if it is empty

    def _has_expired(self, path: Path) -> bool:
        """Return whether a lease has expired; a file that is no lease counts as expired, and is named once."""
        try:
            with self._open() as folder:
                about = folder.stat(path.name)
                if not stat.S_ISREG(about.st_mode):
                    self._name(path, "a link, a pipe or a folder")
                    return True
                owner = self._read_owner(path)
                alive = owner.is_alive() if owner is not None else None
                if alive is not None:
                    return not alive
                if self._is_unchanged(path, about):
                    return True
                with tempfile.TemporaryFile(dir=folder.path) as now:
                    return os.fstat(now.fileno()).st_mtime - about.st_mtime > SECONDS_TO_EXPIRE
        except FileNotFoundError:
            return True
        except OSError:  # this user may only read
            return False

    def _is_unchanged(self, path: Path, about: os.stat_result) -> bool:
        """Return whether a lease had no heartbeat for long by this machine's own clock: its time may be wrong."""
        state = (path.name, about.st_ino, about.st_mtime_ns)
        first_seen = self._first_seen.setdefault(state, time.monotonic())
        return time.monotonic() - first_seen > SECONDS_TO_EXPIRE

    def _name(self, path: Path, kind: str) -> None:
        if path.name not in self._named:
            self._named.add(path.name)
            logger.warning("%s: %s in place of a lease. It is passed over", path, kind)

    def _read_owner(self, path: Path) -> Owner | None:
        """Return the owner that a lease names; None if the lease is gone, damaged, or just being written."""
        try:
            with self._open() as folder:
                return Owner.parse(folder.read(path.name, LARGEST))
        except OSError:
            return None

    def _start_heartbeats(self) -> None:
        if self._heartbeats is None:
            self._heartbeats = threading.Thread(target=self._send_heartbeats, name="leases", daemon=True)
            self._heartbeats.start()

    def _send_heartbeats(self) -> None:
        while not self._ended.wait(SECONDS_BETWEEN_HEARTBEATS):
            for path in list(self._held):
                # A heartbeat may fail; a lost lease is noticed before the record is written.
                with suppress(OSError, ProbingError), self._open() as folder:
                    folder.touch(path.name)
