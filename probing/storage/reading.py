"""Files from outside are opened with care: regular files only, with bounded lines and sizes, as UTF-8 text."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from probing.errors import ProbingError

MAX_LINE = 1 << 24
"""Longest line in bytes; a longer one is no sentence, and reading it whole would take unbounded memory."""
MAX_TEXT = 1 << 26
"""Largest file, in bytes, that is read as a whole."""
MAX_TENSOR_HEADER = 1 << 24
"""Largest header of a safetensors file in bytes; parsing it takes many times its size."""
MAX_GROUPS = 200_000
"""Largest number of lists and objects in a JSON text; an empty one takes thirty times the memory of its text."""
MAX_ITEMS = 1 << 22
"""Largest number of commas in a JSON text, and so of values in its lists and objects."""
BUFFER = 1 << 18


def check_path(path: str | Path) -> Path:
    """Return a path that a file can have; a NUL character, a name too long or links in a circle are an error."""
    try:
        os.stat(path)
    except (OSError, ValueError) as error:
        if isinstance(error, ValueError) or error.errno in (errno.ENAMETOOLONG, errno.ELOOP):
            raise ProbingError(f"{path}: cannot be used ({getattr(error, 'strerror', None) or error})") from None
    return Path(path)


def open_file(path: Path) -> BinaryIO:
    """Open a regular file for reading; folders, pipes and devices are refused."""
    return os.fdopen(_open(path)[0], "rb", buffering=BUFFER)


def _open(path: Path) -> tuple[int, int]:
    """Return the descriptor of a regular file and its size."""
    try:
        # A pipe would be waited for, and a device need not end.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        about = os.fstat(descriptor)
        if stat.S_ISREG(about.st_mode):
            return descriptor, about.st_size
        os.close(descriptor)
    except (OSError, ValueError) as error:  # a name with a NUL character is a ValueError
        raise ProbingError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    raise ProbingError(f"{path}: cannot be read ({'Is a directory' if path.is_dir() else 'not a regular file'})")


def iterate_bytes(file: BinaryIO, path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield each line of an open file, line end included, with its number."""
    for number, line in enumerate(iter(partial(file.readline, MAX_LINE + 1), b""), 1):
        if len(line) > MAX_LINE:
            raise ProbingError(f"{path}:{number}: a line of more than {MAX_LINE >> 20} MiB. Is it a text file?")
        yield number, line


def decode_line(path: Path, number: int, line: bytes) -> str:
    """Decode a UTF-8 line; the first one may begin with a byte order mark."""
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise ProbingError(
            f"{path}:{number}: not UTF-8 (byte 0x{error.object[error.start]:02x} at column {error.start + 1}). "
            "Save the file as UTF-8"
        ) from None


def read_text(path: Path, *, limit: int = MAX_TEXT) -> str:
    """Return the text of a whole file; a file that is not UTF-8 is a ValueError."""
    descriptor, size = _open(path)
    try:  # without a buffer, of which thousands of records would need one each
        content = os.read(descriptor, min(limit, size) + 1)
        while len(content) != size and len(content) <= limit and (more := os.read(descriptor, BUFFER)):
            content += more  # it has grown, or it is a kernel file without a size
    except OSError as error:
        raise ProbingError(f"{path}: cannot be read ({error.strerror or error})") from None
    finally:
        os.close(descriptor)
    if len(content) > limit:
        raise ProbingError(f"{path}: more than {limit >> 10:,} KiB. Is it the right file?")
    return content.decode("utf-8")


def check_tensor_header(path: Path) -> None:
    """Raise a ValueError if the header of a safetensors file is too long to be parsed."""
    with open_file(path) as file:
        if int.from_bytes(file.read(8), "little") > MAX_TENSOR_HEADER:
            raise ValueError(f"a header of more than {MAX_TENSOR_HEADER >> 20} MiB")


class TooManyError(ValueError):
    """A JSON text has too many lists, objects or values."""


def check_counts(text: str, groups: int = MAX_GROUPS) -> None:
    """Raise an error if a JSON text holds more than anything of ours, before any of it is built."""
    if text.count("[") + text.count("{") > groups:
        raise TooManyError(f"more than {groups:,} lists and objects")
    if text.count(",") > MAX_ITEMS:
        raise TooManyError(f"more than {MAX_ITEMS:,} values")


def parse_json(text: str, *, groups: int = MAX_GROUPS) -> Any:
    """Parse a JSON text with a limited number of lists and objects; any fault in it is a ValueError."""
    check_counts(text, groups)
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
