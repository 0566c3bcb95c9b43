"""Leases: they say which process runs which work when several processes share a results folder.

A lease is a small file in `.leases/` that names its owner; the owner touches it while the work runs (its heartbeat). It
has expired when the owner is dead, or, on another machine, when there was no heartbeat for some minutes of the file
server's clock. The leases of a work are numbered: a process that finds the last one expired makes the next. Only one
process can make a file of a given name, on network file systems too. It then looks again whether another lease is
valid, and withdraws if so: its first look at the folder may have been out of date.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import socket
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path

from probing.errors import ProbingError

SECONDS_BETWEEN_HEARTBEATS = 20.0
SECONDS_TO_EXPIRE = 180.0
"""Time without a heartbeat after which a lease expires; longer than network file systems cache a file's time."""


@dataclass(frozen=True, slots=True)
class Owner:
    """A process; whether it lives can be looked up on this machine only."""

    host: str
    machine: str
    """Identity that two machines of one name, or two containers of one machine, do not share."""
    pid: int
    started: str
    """Start time, which tells a process from a later one with the same number; empty if the system does not say."""

    @classmethod
    def current(cls) -> Owner:
        return cls(socket.gethostname(), _identify_machine(), os.getpid(), _find_start(os.getpid()) or "")

    @property
    def name(self) -> str:
        return f"process {self.pid} on {self.host}"

    def is_alive(self) -> bool | None:
        """Return whether the process lives; None if that cannot be known on this machine."""
        if (self.host, self.machine) != (socket.gethostname(), _identify_machine()):
            return None
        started = _find_start(self.pid)
        if started is None:
            return False
        return started == self.started if started and self.started else None


def _identify_machine() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def _find_start(pid: int) -> str | None:
    """Return when a process of this machine started, "" if the system does not say, None if it has ended."""
    try:
        state, *fields = (
            Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        )
        return None if state in "ZX" else fields[18]
    except OSError:  # it has ended, or is another user's on a system that hides those, or there is no /proc
        if os.name == "posix":
            with contextlib.suppress(PermissionError):
                try:
                    os.kill(pid, 0)
                except ProcessLookupError:
                    return None
        return ""


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
    _ended: threading.Event = field(default_factory=threading.Event)
    _heartbeats: threading.Thread | None = None

    @classmethod
    def of(cls, results: Path) -> Leases:
        """Return the leases of a results folder."""
        return cls(results / ".leases")

    def take(self, key: str) -> Lease | Owner | None:
        """Take the lease of a work; if another process has it, return that process, or None if it is not known yet."""
        before = self._list(key)
        for path in before.values():
            if not self._has_expired(path):
                return _read_owner(path)
        number = max(before, default=0) + 1
        path = self.folder / f"{key}.{number}"
        if not self._create(path):
            return None
        others = [other for other in self._list(key).values() if other != path and not self._has_expired(other)]
        if others:
            path.unlink(missing_ok=True)
            return _read_owner(others[0])
        lease = Lease(key, number, path, _read_owner(before[max(before)]) if before else None)
        self._held[path] = lease
        self._start_heartbeats()
        return lease

    def is_taken(self, key: str) -> bool:
        """Return whether a process has the lease of a work."""
        return not all(self._has_expired(path) for path in self._list(key).values())

    def list_taken(self) -> set[str]:
        """Return the keys of all works that are leased."""
        keys = {path.stem for path in self.folder.glob("*.*")}
        return {key for key in keys if self.is_taken(key)}

    def is_held(self, lease: Lease) -> bool:
        """Return whether the lease is still valid; it is not if another process believed that this one had died."""
        return max(self._list(lease.key), default=0) == lease.number and _read_owner(lease.path) == self.owner

    def release(self, lease: Lease) -> None:
        """Give the lease back; expired ones before it are deleted first, so that it is not free too early."""
        self._held.pop(lease.path, None)
        if self.is_held(lease):
            for _, path in sorted(self._list(lease.key).items()):
                path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.folder.rmdir()  # only if it is empty

    def close(self) -> None:
        """Release all leases that this process holds."""
        self._ended.set()
        if self._heartbeats is not None:
            self._heartbeats.join()
        for lease in list(self._held.values()):
            self.release(lease)

    def _list(self, key: str) -> dict[int, Path]:
        """Return the files of a work's leases by number; network file systems keep the listing of a folder fresh."""
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            names = [name.rpartition(".") for name in os.listdir(self.folder)]
            return {
                int(number): self.folder / f"{key}.{number}"
                for stem, _, number in names
                if stem == key and number.isdigit()
            }
        return {}

    def _create(self, path: Path) -> bool:
        while True:
            self.folder.mkdir(parents=True, exist_ok=True)
            try:
                with path.open("x", encoding="utf-8") as file:
                    try:
                        file.write(json.dumps(dataclasses.asdict(self.owner)))
                        file.flush()
                    except OSError:  # a lease without an owner would keep other processes waiting
                        path.unlink()
                        raise
                return True
            except FileExistsError:
                return False
            except FileNotFoundError:  # another process has just removed the empty folder
                continue
            except OSError as error:
                raise ProbingError(
                    f"{self.folder.parent}: results cannot be written there ({error.strerror})"
                ) from None

    def _has_expired(self, path: Path) -> bool:
        owner = _read_owner(path)
        alive = owner.is_alive() if owner is not None else None
        if alive is not None:
            return not alive
        try:
            with tempfile.TemporaryFile(dir=self.folder) as now:
                return os.fstat(now.fileno()).st_mtime - path.stat().st_mtime > SECONDS_TO_EXPIRE
        except OSError:  # the lease is gone, or this user may only read
            return not path.exists()

    def _start_heartbeats(self) -> None:
        if self._heartbeats is None:
            self._heartbeats = threading.Thread(target=self._send_heartbeats, name="leases", daemon=True)
            self._heartbeats.start()

    def _send_heartbeats(self) -> None:
        while not self._ended.wait(SECONDS_BETWEEN_HEARTBEATS):
            for path in list(self._held):
                with contextlib.suppress(
                    OSError
                ):  # a heartbeat may fail; a lost lease is noticed before the record is written
                    os.utime(path)


def _read_owner(path: Path) -> Owner | None:
    """Return the owner that a lease names; None if the lease is gone, damaged, or just being written."""
    try:
        return Owner(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, RecursionError):
        return None
