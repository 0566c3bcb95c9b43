"""A report or a figure is written to its file as a whole or not at all."""

from __future__ import annotations

from pathlib import Path

from probing.errors import ProbingError
from probing.storage import resolve_path, write_atomically


def write_file(path: Path, content: bytes) -> None:
    """Write a file through a temporary one; a pipe or a device is written to directly."""
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(content)
        else:
            write_atomically(resolve_path(path), content)
    except (OSError, ValueError) as error:  # a name with a NUL character is a ValueError
        raise ProbingError(f"{path}: cannot be written ({getattr(error, 'strerror', None) or error})") from None
