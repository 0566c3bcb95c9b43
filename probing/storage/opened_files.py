"""The files that code opens, as Python's audit events and the memory map tell them.

Compiled code that opens a file by itself is seen only if it keeps the file mapped into memory.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

MODEL_LISTS = ("config.json", "modules.json")
"""Files of a model's folder of the Hugging Face libraries, which open the weights beside them in compiled code."""
WEIGHTS = (".safetensors", ".bin")
NO_FILES = ("/proc/", "/sys/", "/dev/")


class OpenedFiles:
    """Files that were opened while `watching` went on."""

    def __init__(self) -> None:
        self.started = time.time()
        self._read: set[str] = set()
        self._written: set[str] = set()
        self._mapped = _list_mapped()

    def note(self, path: str, is_written: bool) -> None:
        """Note a file that is just being opened."""
        (self._written if is_written else self._read).add(os.path.abspath(path))

    @property
    def written(self) -> set[str]:
        """The files that were written."""
        return {path for path in self._written if os.path.isfile(path)}

    def list_read(self) -> set[str]:
        """Return the files that were read: those that were there before, with the weights of models."""
        read = self._read | (_list_mapped() - self._mapped)
        read = {_find_source(path) for path in read - self._written if not path.startswith(NO_FILES)}
        folders = {os.path.dirname(path) for path in read if os.path.basename(path) in MODEL_LISTS}
        weights = [path for folder in folders for path in Path(folder).rglob("*") if path.suffix in WEIGHTS]
        return {path for path in (*read, *map(str, weights)) if self._is_input(path)}

    def _is_input(self, path: str) -> bool:
        """Return whether a file is a regular one that was there, as it is, before the watching began."""
        if not os.path.isfile(path):
            return False
        return os.stat(path).st_ctime < self.started


_WATCHES: list[OpenedFiles] = []
_HOOKS: list[Any] = []


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if not _WATCHES or event not in ("open", "sqlite3.connect"):
        return
    path = arguments[0]
    if not isinstance(path, str | bytes | os.PathLike):  # a descriptor that is open already
        return
    flags = arguments[2] if event == "open" and isinstance(arguments[2], int) else 0
    is_written = bool(flags & (os.O_WRONLY | os.O_TRUNC | os.O_APPEND)) or flags & os.O_EXCL == os.O_EXCL
    for watch in _WATCHES:
        watch.note(os.fsdecode(path), is_written)


@contextmanager
def watching() -> Iterator[OpenedFiles]:
    """Provide the files that are opened in the block."""
    if not _HOOKS:  # a hook cannot be taken away again
        sys.addaudithook(_hear)
        _HOOKS.append(_hear)
    watch = OpenedFiles()
    _WATCHES.append(watch)
    try:
        yield watch
    finally:
        _WATCHES.remove(watch)


def _find_source(path: str) -> str:
    """Return the source of compiled Python code; any other file is itself."""
    try:
        return importlib.util.source_from_cache(path) if path.endswith(".pyc") else path
    except ValueError:
        return path


def _list_mapped() -> set[str]:
    """Return the files that are mapped into memory, as far as the system tells, except libraries."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as file:
            paths = {line.rstrip("\n").split(maxsplit=5)[-1] for line in file if "/" in line}
    except OSError:
        return set()
    return {path for path in paths if path.startswith("/") and ".so" not in os.path.basename(path)}
