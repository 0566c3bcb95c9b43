"""Compressed files: gzip, bzip2 and xz are recognised by their first bytes and read like plain ones.

A file of a few megabytes can stand for many gigabytes. It is unpacked in pieces, and no further than a bound.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, cast

from probing.errors import ProbingError

MAX_RATIO = 200
"""Largest ratio of the unpacked size to the size of the file; parsed text has about 10, and 30 at most."""
ANY_RATIO = 1 << 30
"""Unpacked size, in bytes, up to which any ratio is accepted."""
MEMORY = 1 << 27
"""Memory in bytes that unpacking may take; the strongest level of `xz` asks for half of it."""
PIECE = 1 << 16
MAGIC = re.compile(rb"(?P<gzip>\x1f\x8b)|(?P<bzip2>BZh[1-9](?:1AY&SY|\x17rE8P\x90))|(?P<xz>\xfd7zXZ\0)")
"""First bytes of a compressed file."""


def unpack(file: BinaryIO, path: Path) -> BinaryIO:
    """Return the content of an open file: unpacked if it is compressed, else the file itself."""
    found = MAGIC.match(file.read(10))
    file.seek(0)
    if found is None or found.lastgroup is None:
        return file
    return cast(BinaryIO, io.BufferedReader(_Unpacked(file, path, found.lastgroup), PIECE))


def check_ratio(path: Path, packed: int, unpacked: int) -> None:
    """Refuse a file that stands for far more bytes than it has."""
    if unpacked > ANY_RATIO and unpacked > MAX_RATIO * packed:
        raise ProbingError(
            f"{path}: it unpacks to {unpacked // max(packed, 1):,} times its size, and only {MAX_RATIO} times are "
            f"accepted beyond {ANY_RATIO >> 30} GiB. If that is right, name the unpacked file instead"
        )


class _Unpacked(io.RawIOBase):
    """The content of a compressed file; several of them one after the other are read as one."""

    def __init__(self, file: BinaryIO, path: Path, kind: str) -> None:
        self._file, self._path, self._kind = file, path, kind
        self._make, self._errors = _find_decompressor(kind)
        self._decompressor = self._make()
        self._packed = b""
        self._size = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        content = b""
        while not content:
            if self._decompressor.eof and not self._begin_next():
                return 0
            if not self._packed and getattr(self._decompressor, "needs_input", True):
                self._packed = self._file.read(PIECE)
                if not self._packed and not (content := self._decompress(len(buffer))):
                    raise self._damaged("it ends too early")
            else:
                content = self._decompress(len(buffer))
        self._size += len(content)
        check_ratio(self._path, self._file.tell(), self._size)
        buffer[: len(content)] = content
        return len(content)

    def _begin_next(self) -> bool:
        """Begin the next compressed content in the file, after padding; return whether there is one."""
        self._packed = self._decompressor.unused_data.lstrip(b"\0")
        while not self._packed and (piece := self._file.read(PIECE)):
            self._packed = piece.lstrip(b"\0")
        self._decompressor = self._make() if self._packed else self._decompressor
        return bool(self._packed)

    def _decompress(self, size: int) -> bytes:
        try:
            content: bytes = self._decompressor.decompress(self._packed, size)
        except self._errors as error:
            raise self._damaged(str(error)) from None
        self._packed = getattr(self._decompressor, "unconsumed_tail", b"")
        return content

    def _damaged(self, reason: str) -> ProbingError:
        return ProbingError(f"{self._path}: the {self._kind} file is damaged ({reason}). Get or make it again")


def _find_decompressor(kind: str) -> tuple[Callable[[], Any], tuple[type[Exception], ...]]:
    """Return what makes a decompressor, and the errors that damaged bytes raise in it."""
    if kind == "gzip":
        import zlib

        return lambda: zlib.decompressobj(16 + zlib.MAX_WBITS), (zlib.error,)
    if kind == "bzip2":
        import bz2

        return bz2.BZ2Decompressor, (OSError, EOFError)
    import lzma

    return lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MEMORY), (lzma.LZMAError, EOFError)
