"""Files of arrays, .npy, .npz and .safetensors: found by their headers, then mapped into memory.

Nothing is unpacked before the header's shape and type are known. An array of an .npz file is unpacked in pieces to a
temporary file on the disk, so that memory does not grow with what the file promises.
"""

from __future__ import annotations

import io
import math
import os
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch
from numpy.lib import format as npy
from numpy.typing import NDArray

from probing.errors import ProbingError
from probing.storage import cache_folder, check_ratio, check_tensor_header, open_file, writing

ENDINGS = (".npy", ".npz", ".safetensors")
PIECE = 1 << 20
"""Number of bytes that are read at a time; also the largest list of contents of an .npz file."""
MAX_HEADER = 10_000
"""Largest header of an array in bytes."""


@dataclass(frozen=True, slots=True)
class StoredArray:
    """An array in a file: its shape and type are known, its numbers are read by `load`."""

    shape: tuple[int, ...]
    dtype: str
    kind: str
    """Kind of numbers, by the letters of numpy: f, i, u, b, or another for what holds no plain numbers."""
    path: Path
    _load: Callable[[], NDArray[Any]]

    def load(self) -> NDArray[Any]:
        """Return the array, mapped into memory."""
        with opening_arrays(self.path):
            return self._load()


@contextmanager
def opening_arrays(path: Path) -> Iterator[None]:
    """Turn any parser's error about a file into one line."""
    try:
        yield
    except ProbingError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise ProbingError(f"{path}: no vectors can be read from it ({reason})") from error


def list_arrays(path: Path) -> list[str]:
    """Return the names of the arrays in a file."""
    with opening_arrays(path):
        if path.suffix == ".npy":
            return [path.stem]
        if path.suffix == ".npz":
            with _open_archive(path) as archive:
                return [name.removesuffix(".npy") for name in archive.namelist()]
        with _open_tensors(path) as tensors:
            return list(tensors.keys())


def find_array(path: Path, name: str) -> StoredArray:
    """Return an array of a file by its name, without reading its numbers."""
    find = {".npy": _find_single, ".npz": _find_in_archive, ".safetensors": _find_tensor}[path.suffix]
    with opening_arrays(path):
        return find(path, name)


@dataclass(frozen=True, slots=True)
class _Header:
    """Header of an array in numpy's format."""

    shape: tuple[int, ...]
    order: Any
    dtype: np.dtype[Any]
    size: int
    """Size of the header itself in bytes."""

    @classmethod
    def read(cls, file: IO[bytes]) -> _Header:
        """Read a header, however long it says it is, and leave the file at the first number."""
        start = file.read(npy.MAGIC_LEN)
        version = npy.read_magic(io.BytesIO(start))
        width = 2 if version == (1, 0) else 4
        length = file.read(width)
        if int.from_bytes(length, "little") > MAX_HEADER:
            raise ValueError(f"a header of more than {MAX_HEADER:,} bytes")
        text = file.read(int.from_bytes(length, "little"))
        parse = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, is_fortran, dtype = parse(io.BytesIO(length + text))
        if dtype.hasobject:
            raise ValueError("Python objects, which would have to be unpickled")
        return cls(shape, "F" if is_fortran else "C", dtype, len(start) + len(length) + len(text))

    def map(self, file: Any, offset: int) -> NDArray[Any]:
        """Map the numbers that stand in a file on the disk."""
        return np.memmap(file, self.dtype, mode="r", offset=offset, shape=self.shape, order=self.order)

    def describe(self, path: Path, load: Callable[[], NDArray[Any]]) -> StoredArray:
        return StoredArray(self.shape, str(self.dtype), self.dtype.kind, path, load)

    def check_size(self, size: int) -> None:
        """Raise a ValueError unless header and numbers have this size in bytes."""
        if self.size + self.dtype.itemsize * math.prod(self.shape) != size:
            raise ValueError(f"an array of shape {self.shape} and type {self.dtype} in {size:,} bytes")


def _find_single(path: Path, name: str) -> StoredArray:
    with open_file(path) as file:
        header = _Header.read(file)
        header.check_size(os.fstat(file.fileno()).st_size)
    return header.describe(path, lambda: header.map(path, header.size))


class _LimitedFile(io.FileIO):
    """A file of which no more than a piece is read at a time: an archive's list of contents has to fit into it."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > PIECE:
            raise ValueError("its list of contents is too long")
        return super().read(PIECE if size is None or size < 0 else size) or b""


@contextmanager
def _open_archive(path: Path) -> Iterator[zipfile.ZipFile]:
    open_file(path).close()  # only regular files
    with _LimitedFile(path) as file, zipfile.ZipFile(file) as archive:
        yield archive


def _find_in_archive(path: Path, name: str) -> StoredArray:
    with _open_archive(path) as archive:
        about = next(info for info in archive.infolist() if info.filename.removesuffix(".npy") == name)
        if about.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError("compressed in a way that numpy does not use")
        with archive.open(about) as member:
            header = _Header.read(member)
    header.check_size(about.file_size)
    check_ratio(path, about.compress_size, about.file_size)
    return header.describe(path, lambda: _unpack(path, about, header))


def _unpack(path: Path, about: zipfile.ZipInfo, header: _Header) -> NDArray[Any]:
    """Unpack an array to a file without a name, which goes when the array does."""
    folder = cache_folder("vectors")
    with _open_archive(path) as archive, archive.open(about) as member, writing(folder):
        member.read(header.size)
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            while piece := member.read(PIECE):
                file.write(piece)
            file.flush()
            return header.map(file, 0)


@contextmanager
def _open_tensors(path: Path) -> Iterator[Any]:
    from safetensors import safe_open

    check_tensor_header(path)
    with safe_open(path, framework="pt") as tensors:
        yield tensors


def _find_tensor(path: Path, name: str) -> StoredArray:
    with _open_tensors(path) as tensors:
        tensor = tensors.get_tensor(name)  # mapped, not read

    def load() -> NDArray[Any]:
        array: NDArray[Any] = (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()
        return array

    kind = "f" if tensor.dtype.is_floating_point else "c" if tensor.dtype.is_complex else "i"
    return StoredArray(tuple(tensor.shape), str(tensor.dtype).removeprefix("torch."), kind, path, load)
