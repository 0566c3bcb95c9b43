"""Safetensors files that are filled row by row, and can be interrupted and continued at any row.

A file holds the vectors of all sentences one after the other, as its tensors `tr`, `va` and `te`. No more than one
block of rows is ever in memory; `progress.json` beside the files says how many rows are safe, and has the checksum of
each block, by which damage is found later.
"""

from __future__ import annotations

import json
import os
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from probing.storage import remove_folder, write_atomically, writing

SECONDS_BETWEEN_SAVES = 2.0
SAFETENSORS_DTYPES = {"float32": "F32", "float16": "F16"}
"""Names of the types in safetensors files."""
PROGRESS = "progress.json"
BLOCK = 256
"""Number of rows that are written at a time and have one checksum."""


class VectorFiles:
    """Files of one shape, one for each layer, with space for all rows."""

    def __init__(self, folder: Path, names: Sequence[str], counts: Mapping[str, int], dtype: str) -> None:
        self.folder, self.names, self.counts, self.dtype = folder, names, counts, dtype
        self.rows = self.dim = 0
        self.checksums: list[list[int]] = [[] for _ in names]
        """Checksums of the blocks of each file."""
        self._files: list[FileIO] = []
        self._saved = time.monotonic()

    @classmethod
    @contextmanager
    def open(cls, folder: Path, names: Sequence[str], counts: Mapping[str, int], dtype: str) -> Iterator[VectorFiles]:
        """Provide files that continue after the last safe row, and save their position at the end."""
        files = cls(folder, names, counts, dtype)
        try:
            files._resume()
        except (OSError, ValueError, KeyError, TypeError):  # there is nothing yet, or it is damaged
            files._close()
            remove_folder(folder)
            with writing(folder, "vectors"):
                folder.mkdir(parents=True)
            files = cls(folder, names, counts, dtype)
        try:
            yield files
        finally:
            try:
                with writing(folder, "vectors"):
                    files._save()
            finally:
                files._close()

    @classmethod
    def check(cls, folder: Path, names: Sequence[str], counts: Mapping[str, int], dtype: str) -> list[int]:
        """Return the numbers of the damaged blocks of complete files; all of them if a file is not as it was made."""
        files, total = cls(folder, names, counts, dtype), sum(counts.values())
        try:
            files._resume("r")
            if files.rows != total:
                raise ValueError("rows are missing")
            return files.find_damaged()
        except (OSError, ValueError, KeyError, TypeError):
            return list(range(-(-total // BLOCK)))
        finally:
            files._close()

    def append(self, vectors: NDArray[Any]) -> None:
        """Write the vectors (n, layers, dim) of the next block of rows; only the last block may be shorter."""
        with writing(self.folder, "vectors"):
            if not self._files:
                self.dim = vectors.shape[2]
                self._create()
            for layer, checksums in enumerate(self.checksums):
                checksums.append(self._write(layer, self.rows, vectors))
            self.rows += len(vectors)
            if time.monotonic() - self._saved > SECONDS_BETWEEN_SAVES:
                self._save()

    def rewrite(self, number: int, vectors: NDArray[Any]) -> None:
        """Write the vectors (n, layers, dim) of a block that was damaged."""
        with writing(self.folder, "vectors"):
            for layer, checksums in enumerate(self.checksums):
                checksums[number] = self._write(layer, number * BLOCK, vectors)

    def _write(self, layer: int, row: int, vectors: NDArray[Any]) -> int:
        """Write one layer of a block from a row on, and return its checksum."""
        file, block = self._files[layer], vectors[:, layer].tobytes()
        checksum = zlib.crc32(block)
        file.seek(len(self._header()) + row * self._width)
        while block:
            block = block[file.write(block) :]
        return checksum

    def find_damaged(self) -> list[int]:
        """Return the numbers of the blocks that are not what was written, in any of the files."""
        damaged: set[int] = set()
        for file, checksums in zip(self._files, self.checksums, strict=False):  # without rows there are no files yet
            file.seek(len(self._header()))
            for number, checksum in enumerate(checksums):
                rows = min(BLOCK, self.rows - number * BLOCK)
                if zlib.crc32(file.read(rows * self._width)) != checksum:
                    damaged.add(number)
        return sorted(damaged)

    def _resume(self, mode: str = "r+") -> None:
        progress = json.loads((self.folder / PROGRESS).read_text(encoding="utf-8"))
        self.rows, self.dim = int(progress["rows"]), int(progress["dim"])
        self.checksums = [list(map(int, checksums)) for checksums in progress["checksums"]]
        if [len(checksums) for checksums in self.checksums] != [-(-self.rows // BLOCK)] * len(self.names):
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
        progress = {"rows": self.rows, "dim": self.dim, "checksums": self.checksums}
        with suppress(OSError):  # the last number is still true
            write_atomically(self.folder / PROGRESS, json.dumps(progress))
        self._saved = time.monotonic()

    def _close(self) -> None:
        for file in self._files:
            file.close()

    @property
    def _width(self) -> int:
        return self.dim * np.dtype(self.dtype).itemsize

    def _size(self) -> int:
        return sum(self.counts.values()) * self._width

    def _header(self) -> bytes:
        tensors, start = {}, 0
        for name, rows in self.counts.items():
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
