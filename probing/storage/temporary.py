"""Temporary files and folders, which become final ones: their names say which process writes them.

A name has the machine, the number of the process and its start, so that a process of the same machine that has died can
be told from one that lives.
"""

from __future__ import annotations

import hashlib
import os
import re
import socket
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

ENDING = ".partial"
LONGEST = 120
"""Longest part, in bytes, that a temporary name takes from the final one; a file system allows 255 in all."""
_NAME = re.compile(r"\..*\.([0-9a-f]{8})-([0-9]{1,10})-([0-9]*)\.[a-z0-9_]{8}\.partial", re.DOTALL)


def identify_machine() -> str:
    """Return a text that two machines of one name, or two containers of one machine, do not share."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def find_start(pid: int) -> str | None:
    """Return when a process of this machine started, "" if the system does not say, None if it has ended."""
    try:
        state, *fields = (
            Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        )
        return None if state in "ZX" else fields[18]
    except OSError:  # it has ended, or is another user's on a system that hides those, or there is no /proc
        if os.name == "posix":
            with suppress(PermissionError):
                try:
                    os.kill(pid, 0)
                except ProcessLookupError:
                    return None
        return ""


@cache
def _identify_here(pid: int) -> str:
    """Return the part of a temporary name that identifies a process of this machine."""
    return f"{_hash_machine()}-{pid}-{find_start(pid) or ''}"


def _hash_machine() -> str:
    return hashlib.sha256(f"{socket.gethostname()} {identify_machine()}".encode()).hexdigest()[:8]


def name_temporary(name: str) -> str:
    """Return the beginning of the name of a temporary file; eight random characters and the ending follow."""
    return f".{name.encode()[:LONGEST].decode(errors='ignore')}.{_identify_here(os.getpid())}."


def make_temporary_file(path: Path) -> tuple[int, Path]:
    """Create a temporary file beside the path that it will get; return its descriptor and its path."""
    descriptor, temporary = tempfile.mkstemp(ENDING, name_temporary(path.name), path.parent)
    return descriptor, Path(temporary)


def make_temporary_folder(path: Path) -> Path:
    """Create a temporary folder beside the path that it will get."""
    return Path(tempfile.mkdtemp(ENDING, name_temporary(path.name), path.parent))


def is_temporary(name: str) -> bool:
    """Return whether a name is that of a temporary file or folder."""
    return _NAME.fullmatch(name) is not None


def has_died(name: str) -> bool | None:
    """Return whether the process that made a temporary name has died; None if it is of another machine."""
    found = _NAME.fullmatch(name)
    if found is None or found[1] != _hash_machine():
        return None
    started = find_start(int(found[2])) if int(found[2]) < 1 << 31 else None
    return started is None or bool(started and found[3] and started != found[3])
