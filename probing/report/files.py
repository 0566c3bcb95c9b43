"""A report or a figure as a file: whole or not there."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from probing.errors import ProbingError
from probing.results import publish


def write_file(path: Path, content: bytes) -> None:
    """Write a file by way of a temporary one; a pipe or a device is written to as it is."""
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(content)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            publish(Path(temporary), path.resolve())
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise ProbingError(f"{path}: cannot be written ({error.strerror or error})") from None
