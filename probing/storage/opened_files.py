"""The files that code opens and the folders that it lists, as Python's audit events and the memory map tell them.

Compiled code that opens a file by itself is seen only if it keeps the file mapped into memory.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

MODEL_LISTS = ("config.json", "modules.json")
"""Files of a model's folder of the Hugging Face libraries, which open the weights beside them in compiled code."""
WEIGHTS = (".safetensors", ".bin")
ANY = "*"
"""Beginning of the last part of a pattern, which stands for any name with its ending."""
NO_FILES = ("/proc/", "/sys/", "/dev/")


class OpenedFiles:
    """Files that were opened while `watching` went on."""

    def __init__(self) -> None:
        self.started = time.time()
        self._read: set[str] = set()
        self._written: set[str] = set()
        self._listed: set[str] = set()
        self._mapped = _list_mapped()

    def note(self, path: str, is_written: bool) -> None:
        """Note a file that is just being opened."""
        (self._written if is_written else self._read).add(os.path.abspath(path))

    def note_listing(self, path: str) -> None:
        """Note a folder whose files are just being listed."""
        self._listed.add(os.path.abspath(path))

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

    def list_missing(self) -> set[str]:
        """Return the files that were sought and not found, and are still not there."""
        sought = map(_find_source, self._read - self._written)
        return {path for path in sought if not path.startswith(NO_FILES) and not os.path.exists(path)}

    def list_patterns(self) -> set[str]:
        """Return patterns such as `/folder/*.txt`: the files of a listed folder of which at least one was read."""
        read = ((os.path.dirname(path), os.path.splitext(path)[1]) for path in self.list_read())
        return {os.path.join(folder, f"{ANY}{ending}") for folder, ending in read if folder in self._listed}

    def _is_input(self, path: str) -> bool:
        """Return whether a file is a regular one that was there, as it is, before the watching began."""
        if not os.path.isfile(path):
            return False
        return os.stat(path).st_ctime < self.started


_WATCHES: list[OpenedFiles] = []
_HOOKS: list[Any] = []


LISTINGS = ("os.listdir", "os.scandir")
"""Events of the listing of a folder."""
OPENINGS = ("open", "sqlite3.connect", "import", "ctypes.dlopen", "subprocess.Popen")
"""Events of the opening of files: data, compiled modules, libraries, and what another program is given."""


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if not _WATCHES:
        return
    if event in LISTINGS:
        if not _is_import(sys._getframe(1)) and isinstance(arguments[0], str | bytes | os.PathLike | None):
            for watch in _WATCHES:
                watch.note_listing(os.fsdecode(arguments[0] or "."))
    elif event in OPENINGS:
        flags = arguments[2] if event == "open" and isinstance(arguments[2], int) else 0
        is_written = bool(flags & (os.O_WRONLY | os.O_TRUNC | os.O_APPEND)) or flags & os.O_EXCL == os.O_EXCL
        for path in _list_paths(event, arguments):
            for watch in _WATCHES:
                watch.note(path, is_written)


def _list_paths(event: str, arguments: tuple[Any, ...]) -> list[str]:
    """Return the paths that an event is about."""
    if event in ("open", "sqlite3.connect"):
        return _decode(arguments[:1])
    if event == "import":  # with a path only for a module of compiled code
        return _decode(arguments[1:2])
    if event == "ctypes.dlopen":  # without a folder, it is a library of the system
        return [path for path in _decode(arguments[:1]) if os.path.dirname(path)]
    _, words, folder, _ = arguments
    words = words.split() if isinstance(words, str) else words if isinstance(words, list | tuple) else []
    places = [os.path.join(*_decode([folder]), path) for path in _decode(words)]
    return [path for path in places if os.path.isfile(path)]


def _decode(paths: Iterable[Any]) -> list[str]:
    """Return paths as text, without descriptors of files that are open already."""
    return [os.fsdecode(path) for path in paths if isinstance(path, str | bytes | os.PathLike)]


def _is_import(frame: FrameType) -> bool:
    """Return whether Python's own import is at work, which lists folders to look for modules."""
    return frame.f_code.co_filename.startswith("<frozen importlib")


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


def list_matching(pattern: str) -> list[str] | None:
    """Return the names that a pattern of `OpenedFiles` stands for; None if it is the path of a file."""
    folder, name = os.path.split(pattern)
    if not name.startswith(ANY) or os.path.isfile(pattern):
        return None
    ending = name.removeprefix(ANY)
    return sorted(entry.name for entry in os.scandir(folder) if os.path.splitext(entry.name)[1] == ending)


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
