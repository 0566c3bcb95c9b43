"""Arrays are found by their headers, and a small file never takes the memory that it promises."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from probing.encoders.array_files import find_array, list_arrays
from probing.errors import ProbingError

MATRIX = np.arange(12, dtype=np.float32).reshape(4, 3)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("matrix", [MATRIX, np.asfortranarray(MATRIX), MATRIX.astype(">f8"), MATRIX > 5])
def test_an_array_of_an_archive_is_read(tmp_path: Path, save: Any, matrix: np.ndarray[Any, Any]) -> None:
    save(tmp_path / "a.npz", other=np.zeros(3), mine=matrix)
    assert list_arrays(tmp_path / "a.npz") == ["other", "mine"]
    found = find_array(tmp_path / "a.npz", "mine")
    assert (found.shape, found.dtype) == ((4, 3), str(matrix.dtype))
    assert np.array_equal(found.load(), matrix)


def test_nothing_is_left_of_an_unpacked_array(tmp_path: Path, cache_home: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", mine=MATRIX)
    array = find_array(tmp_path / "a.npz", "mine").load()
    assert array.tolist() == MATRIX.tolist()
    assert list((cache_home / "probing" / "vectors").iterdir()) == []


def make_header(shape: tuple[int, ...], *, version: tuple[int, int] = (1, 0), descr: str = "<f4") -> bytes:
    file = io.BytesIO()
    write = np.lib.format.write_array_header_1_0 if version == (1, 0) else np.lib.format.write_array_header_2_0
    write(file, {"descr": descr, "fortran_order": False, "shape": shape})
    return file.getvalue()


def write(path: Path, content: bytes, compression: int = zipfile.ZIP_DEFLATED) -> Path:
    if path.suffix == ".npz":
        with zipfile.ZipFile(path, "w", compression) as archive:
            archive.writestr("mine.npy", content)
    else:
        path.write_bytes(content)
    return path


@pytest.mark.parametrize("name", ["mine.npy", "mine.npz"])
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (make_header((1 << 40, 1 << 10)) + bytes(80), r"an array of shape \(1099511627776, 1024\) and type float32"),
        (make_header((1 << 62, 1 << 62)), r"an array of shape \(4611686018427387904, 4611686018427387904\) and "),
        (make_header((2, 2)) + bytes(17), r"an array of shape \(2, 2\) and type float32 in 145 bytes"),
        (b"\x93NUMPY\2\0" + (1 << 30).to_bytes(4, "little"), "a header of more than 10,000 bytes"),
        (b"\x93NUMPY\2\0" + (3 << 20).to_bytes(4, "little") + b" " * (3 << 20), "a header of more than 10,000 bytes"),
        (make_header((1, 1), descr="|O") + bytes(8), "Python objects, which would have to be unpickled"),
        (b"\x93NUMPY\x09\0" + bytes(100), "Cannot parse header"),
        (b"PK\3\4" * 3, "the magic string is not correct"),
    ],
)
def test_a_header_that_promises_too_much_is_refused(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    path = write(tmp_path / name, content)
    with pytest.raises(ProbingError, match=rf"{name}: no vectors can be read from it \({reason}"):
        find_array(path, "mine").load()


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_compression_that_is_not_numpys_is_refused(tmp_path: Path, compression: int) -> None:
    """Unpacking these can take gigabytes of memory by itself."""
    path = write(tmp_path / "a.npz", make_header((2, 2)) + bytes(16), compression)
    with pytest.raises(ProbingError, match=r"a.npz: no vectors can be read from it \(compressed in a way that numpy "):
        find_array(path, "mine")


def test_a_damaged_archive_is_named(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", mine=MATRIX)
    content = (tmp_path / "a.npz").read_bytes()
    (tmp_path / "a.npz").write_bytes(content.replace(MATRIX.tobytes(), MATRIX[::-1].tobytes()))
    with pytest.raises(ProbingError, match=r"a.npz: no vectors can be read from it \(Bad CRC-32"):
        find_array(tmp_path / "a.npz", "mine").load()


def test_a_list_of_contents_without_end_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        for number in range(22_000):
            archive.writestr(f"{number}.npy", b"")
    with pytest.raises(ProbingError, match=r"a.npz: no vectors can be read from it \(its list of contents is too long"):
        list_arrays(tmp_path / "a.npz")


def test_a_long_header_of_tensors_is_refused(tmp_path: Path) -> None:
    about = {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}
    header = json.dumps({str(number): about for number in range(300_000)}).encode()
    (tmp_path / "a.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(ProbingError, match=r"no vectors can be read from it \(a header of more than 16 MiB\)"):
        list_arrays(tmp_path / "a.safetensors")


CHILD = """
import resource, sys
from pathlib import Path
from probing.encoders.array_files import find_array
from probing.errors import ProbingError
room = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize() + (300 << 20)
resource.setrlimit(resource.RLIMIT_DATA, (room, room))
try:
    print(find_array(Path(sys.argv[1]), "mine").load()[-1].tolist())
except ProbingError as error:
    print(error)
"""


def save_zeros(path: Path, rows: int) -> None:
    """Write an array of zeros (rows, 1 MiB), a piece at a time."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("mine.npy", "w") as member:
        member.write(make_header((rows << 20, 1), descr="|u1"))
        for _ in range(rows):
            member.write(bytes(1 << 20))


@pytest.mark.parametrize(("rows", "said"), [(900, "[0]"), (1100, "it unpacks to 1,02")])
def test_a_bomb_takes_little_memory(tmp_path: Path, rows: int, said: str) -> None:
    """Up to a bound it is unpacked to the disk, with 300 MB of memory; beyond, not at all."""
    save_zeros(tmp_path / "a.npz", rows)
    assert (tmp_path / "a.npz").stat().st_size < 2 << 20
    done = subprocess.run([sys.executable, "-c", CHILD, tmp_path / "a.npz"], capture_output=True, text=True, check=True)
    assert said in done.stdout
