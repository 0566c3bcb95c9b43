"""Hashes of large files, kept in the cache so that weights are not read at every start.

A hash is known again by the file's path, size, inode and times. The time of the last change of the inode is among
them, which no program can set back; a file that changed just now is always read.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from pathlib import Path

from probing.errors import ProbingError
from probing.storage.cache import FILES, cache_folder
from probing.storage.files import hash_content, hash_file, write_atomically

SMALL = 1 << 20
"""Size in bytes up to which a file is read every time."""
SECONDS_TO_SETTLE = 2.0
"""Age of a change below which a file may change again without another time."""


def hash_large_file(path: Path) -> str:
    """Return the SHA-256 of a file; of a large one that has not changed, the hash that was found before."""
    about = os.stat(path)
    if about.st_size <= SMALL:
        return hash_file(path)[0]
    state = [about.st_size, about.st_ino, about.st_dev, about.st_mtime_ns, about.st_ctime_ns]
    kept = cache_folder(FILES) / "hashes" / f"{hash_content(os.path.abspath(path).encode(errors='replace'))[:32]}.json"
    with suppress(OSError, ValueError, KeyError, TypeError):
        known = json.loads(kept.read_text("utf-8"))
        if known["state"] == state:
            return str(known["sha256"])
    sha256, _ = hash_file(path)
    if time.time() - max(about.st_mtime, about.st_ctime) > SECONDS_TO_SETTLE:
        with suppress(OSError, ProbingError):  # it can be found again
            write_atomically(kept, json.dumps({"state": state, "sha256": sha256}))
    return sha256
