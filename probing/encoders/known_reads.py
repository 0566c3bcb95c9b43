"""The files that an encoder reads: seen when it is imported, made, prepared or encodes, and remembered in the cache.

By them the vectors and the results of an encoder are known to be of other weights or word vectors, before the encoder
is loaded. Files that it seeks and does not find are among them, and patterns such as `/folder/*.txt` of folders that
it lists: a new file is another version, too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from probing.errors import ProbingError
from probing.registry import is_plugin_file
from probing.storage import (
    FILES,
    OpenedFiles,
    cache_folder,
    hash_json,
    hash_large_file,
    list_matching,
    watching,
    write_atomically,
)

MISSING = "missing"
"""Hash of a file that is not there any more."""


class KnownReads:
    """Files that one version of an encoder was seen to read."""

    def __init__(self, **identity: Any) -> None:
        self.path = cache_folder(FILES) / "encoders" / f"{hash_json(identity)[:32]}.json"
        self.files: set[str] = set()
        self.written: set[str] = set()
        self.has_own_version = False
        """Whether the made encoder tells a version, so that it has to be made to know it."""
        self.is_known = False
        """Whether an encoder of this version has been prepared and used before, on this machine."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            known = json.loads(self.path.read_text("utf-8"))
            self.files, self.written = set(map(str, known["files"])), set(map(str, known["written"]))
            self.has_own_version = bool(known["has_own_version"])
            self.is_known = True

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Add the files that are read in the block."""
        with watching() as opened:
            try:
                yield
            finally:
                self.note(opened)

    def note(self, opened: OpenedFiles) -> None:
        """Add what was read, sought and listed."""
        self.written |= opened.written
        self.add(opened.list_read() | opened.list_missing() | opened.list_patterns())

    def add(self, paths: Iterable[str]) -> None:
        """Add files, unless they are the encoder's own or belong to something that is installed."""
        found = {path for path in paths if not is_plugin_file(Path(path))}
        cache = str(cache_folder("."))
        self.files |= {path for path in found - self.written if not path.startswith(cache)}

    def save(self) -> None:
        """Remember the files for the next time."""
        known = {
            "files": sorted(self.files),
            "written": sorted(self.written),
            "has_own_version": self.has_own_version,
        }
        self.is_known = True
        with suppress(OSError, ProbingError):  # then they are found again the next time
            write_atomically(self.path, json.dumps(known, indent=1))

    def hash_files(self) -> dict[str, str]:
        """Return the hash of each file as it is now, and of the names of the files that each pattern stands for."""
        return {path: hash_if_there(path) for path in sorted(self.files)}

    def describe(self) -> str:
        """Return a version of the files' contents, wherever they lie; nothing if none is read."""
        hashes = self.hash_files().items()
        contents = sorted((Path(path).name, sha256) for path, sha256 in hashes if sha256 != MISSING)
        return f"; files {hash_json(contents)[:16]}" if contents else ""


def hash_if_there(path: str) -> str:
    """Return the hash of a file or of the names that a pattern stands for, or that there is none."""
    try:
        if (names := list_matching(path)) is not None:
            return hash_json(names)
        return hash_large_file(Path(path))
    except (OSError, ProbingError):
        return MISSING


def find_changed(hashes: Mapping[str, str]) -> list[str]:
    """Return the files that are not what they were."""
    return [path for path, sha256 in hashes.items() if hash_if_there(path) != sha256]
