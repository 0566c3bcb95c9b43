"""Sweeping: temporary files and folders are deleted when the processes that wrote them have died.

What a process of another machine left is swept when it is a day old by the file server's clock: no write takes so long.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from probing.errors import ProbingError
from probing.storage.folders import Folder
from probing.storage.temporary import has_died, is_temporary

SECONDS_TO_EXPIRE = 24 * 3600.0
"""Age after which the temporary file of another machine is swept."""


def list_abandoned(root: Path, *names: str) -> list[Path]:
    """Return the temporary files and folders directly in a folder below a root whose owners have died."""
    with suppress(OSError, ProbingError), Folder.open(root, *names) as folder:
        return [folder.path / name for name in sorted(folder.list_names()) if _is_abandoned(folder, name)]
    return []


def sweep(root: Path, *names: str) -> int:
    """Delete the temporary files and folders whose owners have died; return their number."""
    swept = 0
    for path in list_abandoned(root, *names):
        with suppress(OSError, ProbingError), Folder.open(root, *names) as folder:
            folder.remove_folder(path.name)  # a file as well
            swept += 1
    return swept


def _is_abandoned(folder: Folder, name: str) -> bool:
    if not is_temporary(name):
        return False
    died = has_died(name)
    if died is not None:
        return died
    about = folder.stat(name)
    with tempfile.TemporaryFile(dir=folder.path) as file:  # its time is the file server's
        return os.fstat(file.fileno()).st_mtime - about.st_mtime > SECONDS_TO_EXPIRE


def measure(path: Path) -> int:
    """Return the size in bytes of a file, or of all files in a folder; links are not followed."""
    return sum(about.st_size for about in _walk(path) if stat.S_ISREG(about.st_mode))


def _walk(path: Path) -> Iterator[os.stat_result]:
    with suppress(OSError):
        yield os.lstat(path)
    for folder, _, files in os.walk(path):
        for file in files:
            with suppress(OSError):
                yield os.lstat(Path(folder, file))
