"""Files of our own: written whole or not at all, named safely, identified by hashes."""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

from probing.storage.reading import open_file
from probing.storage.temporary import make_temporary_file


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file through a temporary one, so that no reader ever sees half of it; text becomes UTF-8."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = make_temporary_file(path)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        publish(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def publish(temporary: Path, path: Path) -> None:
    """Move a written file to its place, where it is whole even after a power failure."""
    with temporary.open("rb") as file:
        os.fsync(file.fileno())
    os.chmod(temporary, 0o666 & ~_umask())
    os.replace(temporary, path)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def resolve_path(path: Path) -> Path:
    """Return the absolute path without links; of links that lead in a circle, the path itself."""
    return Path(os.path.realpath(path))


def make_name(part: str) -> str:
    """Return a part of a file name: no separators, and short enough that seven parts fit any file system."""
    return re.sub(r"[^\w.+-]+", "_", part).encode()[:40].decode(errors="ignore")


def to_json(content: Any, **options: Any) -> str:
    """Return a JSON text that is valid Unicode: stray bytes of a file name become escapes."""
    return as_unicode(json.dumps(content, ensure_ascii=False, allow_nan=False, **options))


def as_unicode(text: str) -> str:
    """Return a text in which lone surrogates, which stand for stray bytes of a file name, are escaped."""
    return text.encode(errors="backslashreplace").decode()


def hash_file(path: Path) -> tuple[str, str]:
    """Return the SHA-256 of a file and its git blob id."""
    with open_file(path) as file:
        sha256, blob = hashlib.sha256(), hashlib.sha1(usedforsecurity=False)
        blob.update(b"blob %d\0" % os.fstat(file.fileno()).st_size)
        while chunk := file.read(1 << 20):
            sha256.update(chunk)
            blob.update(chunk)
    return sha256.hexdigest(), blob.hexdigest()


def hash_content(content: str | bytes) -> str:
    """Return the SHA-256 of a text or of bytes."""
    return hashlib.sha256(content if isinstance(content, bytes) else content.encode()).hexdigest()


def hash_json(content: Any) -> str:
    """Return the SHA-256 of what JSON can hold, whatever the order of its keys."""
    return hash_content(json.dumps(content, sort_keys=True))
