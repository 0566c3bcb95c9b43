"""Safetensors files that are filled block by block, in any order of rows, and can be interrupted and continued.

A file holds the vectors of all sentences one after the other, as its tensors `tr`, `va` and `te`. No more than one
block of rows is ever in memory; `progress.json` beside the files says how many rows are safe, and has the checksum of
each block, by which damage is found later.
"""

from __future__ import annotations

import itertools
import json
import os
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from probing.encoders.blocks import Blocks, Rows
from probing.storage import remove_folder, write_atomically, writing

SECONDS_BETWEEN_SAVES = 2.0
SAFETENSORS_DTYPES = {"float32": "F32", "float16": "F16", "bfloat16": "BF16"}
"""Names of the types in safetensors files."""
PROGRESS = "progress.json"


class VectorFiles:
    """Files of one shape, one for each layer, with space for all rows."""

    def __init__(self, folder: Path, names: Sequence[str], blocks: Blocks, dtype: str) -> None:
        self.folder, self.names, self.blocks, self.dtype = folder, names, blocks, dtype
        self.rows = self.dim = 0
        self.checksums: list[list[int]] = [[] for _ in names]
        """Checksums of the blocks of each file."""
        self._files: list[FileIO] = []
        self._saved = time.monotonic()

    @classmethod
    @contextmanager
    def open(cls, folder: Path, names: Sequence[str], blocks: Blocks, dtype: str) -> Iterator[VectorFiles]:
        """Provide files that continue after the last safe block, and save their position at the end."""
        files = cls(folder, names, blocks, dtype)
        try:
            files._resume()
        except (OSError, ValueError, KeyError, TypeError):  # there is nothing yet, or it is damaged
            files._close()
            remove_folder(folder)
            with writing(folder, "vectors"):
                folder.mkdir(parents=True)
            files = cls(folder, names, blocks, dtype)
        try:
            yield files
        finally:
            try:
                with writing(folder, "vectors"):
                    files._save()
            finally:
                files._close()

    @classmethod
    def check(cls, folder: Path, names: Sequence[str], blocks: Blocks, dtype: str) -> list[int]:
        """Return the numbers of the damaged blocks of complete files; all of them if a file is not as it was made."""
        files = cls(folder, names, blocks, dtype)
        try:
            files._resume("r")
            if files.rows != blocks.total:
                raise ValueError("rows are missing")
            return files.find_damaged()
        except (OSError, ValueError, KeyError, TypeError):
            return list(range(len(list(blocks))))
        finally:
            files._close()

    @property
    def done(self) -> int:
        """The number of blocks that are written."""
        return len(self.checksums[0])

    def append(self, rows: Rows, vectors: NDArray[Any]) -> None:
        """Write the vectors (n, layers, dim) of the rows of the next block."""
        with writing(self.folder, "vectors"):
            if not self._files:
                self.dim = vectors.shape[2]
                self._create()
            for layer, checksums in enumerate(self.checksums):
                checksums.append(self._write(layer, rows, vectors))
            self.rows += len(vectors)
            if time.monotonic() - self._saved > SECONDS_BETWEEN_SAVES:
                self._save()

    def rewrite(self, number: int, rows: Rows, vectors: NDArray[Any]) -> None:
        """Write the vectors (n, layers, dim) of a block that was damaged."""
        with writing(self.folder, "vectors"):
            for layer, checksums in enumerate(self.checksums):
                checksums[number] = self._write(layer, rows, vectors)

    def read(self, rows: Rows) -> NDArray[Any]:
        """Return the vectors (n, layers, dim) of some rows that are written."""
        layers = [_from_bytes(self._read(layer, rows), self.dtype) for layer in range(len(self.names))]
        return np.stack([layer.reshape(len(rows), self.dim) for layer in layers], 1)

    def _write(self, layer: int, rows: Rows, vectors: NDArray[Any]) -> int:
        """Write one layer of a block, and return its checksum."""
        file, block, start = self._files[layer], memoryview(_to_bytes(vectors[:, layer], self.dtype)), 0
        for first, count in _find_runs(rows):
            file.seek(len(self._header()) + first * self._width)
            piece = block[start : start + count * self._width]
            start += len(piece)
            while piece:
                piece = piece[file.write(piece) :]
        return zlib.crc32(block)

    def _read(self, layer: int, rows: Rows) -> bytes:
        file, pieces = self._files[layer], []
        for first, count in _find_runs(rows):
            file.seek(len(self._header()) + first * self._width)
            pieces.append(file.read(count * self._width))
        return b"".join(pieces)

    def find_damaged(self) -> list[int]:
        """Return the numbers of the blocks that are not what was written, in any of the files."""
        damaged: set[int] = set()
        for layer, checksums in enumerate(self.checksums if self._files else []):  # without rows there are no files yet
            for number, (rows, checksum) in enumerate(zip(self.blocks, checksums, strict=False)):
                if zlib.crc32(self._read(layer, rows)) != checksum:
                    damaged.add(number)
        return sorted(damaged)

    def _resume(self, mode: str = "r+") -> None:
        progress = json.loads((self.folder / PROGRESS).read_text(encoding="utf-8"))
        self.rows, self.dim = int(progress["rows"]), int(progress["dim"])
        self.checksums = [list(map(int, checksums)) for checksums in progress["checksums"]]
        self.blocks = self.blocks.resized(int(progress["block"]))
        sums = itertools.accumulate((len(rows) for rows in self.blocks), initial=0)
        done = next((number for number, rows in enumerate(sums) if rows == self.rows), -1)
        if [len(checksums) for checksums in self.checksums] != [done] * len(self.names):
            raise ValueError("not a checksum for each block")
        for name in self.names:
            file = FileIO(self.folder / name, mode)
            self._files.append(file)
            header = self._header()
            if file.read(len(header)) != header or os.fstat(file.fileno()).st_size != len(header) + self._size():
                raise ValueError(f"{name} is not the file that was left")

    def _create(self) -> None:
        header = self._header()
        for name in self.names:
            file = FileIO(self.folder / name, "w")
            self._files.append(file)
            file.write(header)
            file.truncate(len(header) + self._size())

    def _save(self) -> None:
        """Write the rows to the disk, then the number of them."""
        if not self.rows:
            return
        for file in self._files:
            os.fsync(file.fileno())
        progress = {"rows": self.rows, "dim": self.dim, "block": self.blocks.size, "checksums": self.checksums}
        with suppress(OSError):  # the last number is still true
            write_atomically(self.folder / PROGRESS, json.dumps(progress))
        self._saved = time.monotonic()

    def _close(self) -> None:
        for file in self._files:
            file.close()

    @property
    def _width(self) -> int:
        return self.dim * (4 if self.dtype == "float32" else 2)

    def _size(self) -> int:
        return self.blocks.total * self._width

    def _header(self) -> bytes:
        tensors, start = {}, 0
        for name, rows in self.blocks.counts.items():
            stop = start + rows * self._width
            tensors[name] = {
                "dtype": SAFETENSORS_DTYPES[self.dtype],
                "shape": [rows, self.dim],
                "data_offsets": [start, stop],
            }
            start = stop
        text = json.dumps(tensors).encode()
        text += b" " * (-len(text) % 8)
        return len(text).to_bytes(8, "little") + text


def _to_bytes(vectors: NDArray[Any], dtype: str) -> bytes:
    """Return numbers as a file has them; numpy has no bfloat16, which is the upper half of float32."""
    if dtype != "bfloat16":
        return vectors.tobytes()
    return (np.ascontiguousarray(vectors, np.float32).view(np.uint32) >> 16).astype(np.uint16).tobytes()


def _from_bytes(content: bytes, dtype: str) -> NDArray[Any]:
    if dtype != "bfloat16":
        return np.frombuffer(content, dtype)
    return (np.frombuffer(content, np.uint16).astype(np.uint32) << 16).view(np.float32)


def _find_runs(rows: Rows) -> Iterator[tuple[int, int]]:
    """Yield the first row and the number of each run of rows that follow each other in a file."""
    for run in np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1):
        yield int(run[0]), len(run)
