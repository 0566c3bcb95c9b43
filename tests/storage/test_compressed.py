"""Compressed files are read like plain ones, damaged ones are named, and one that grows without bounds is refused."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from probing.errors import ProbingError
from probing.storage import compressed, open_file, unpack

COMPRESS: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress}
TEXT = "".join(f"{random.Random(number).random()} of {number}\n" for number in range(40_000)).encode()


@pytest.fixture(params=COMPRESS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def read(path: Path, content: bytes) -> bytes:
    path.write_bytes(content)
    with open_file(path) as file:
        return unpack(file, path).read()


def test_a_compressed_file_reads_like_the_plain_one(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a"
    assert read(path, TEXT) == TEXT
    assert read(path, COMPRESS[kind](TEXT)) == TEXT
    assert read(path, COMPRESS[kind](b"")) == b""


def test_several_contents_and_padding_are_one(tmp_path: Path, kind: str) -> None:
    """`cat` makes such a file of compressed ones, with as much padding as there may be."""
    pack = COMPRESS[kind]
    assert read(tmp_path / "a", pack(TEXT) + bytes(200_000) + pack(b"") + pack(b"end\n") + bytes(8)) == TEXT + b"end\n"


def test_a_text_that_looks_compressed_is_a_text(tmp_path: Path) -> None:
    assert read(tmp_path / "a", b"BZh9 is a word\n") == b"BZh9 is a word\n"


@pytest.mark.parametrize("damage", ["cut", "cut in its header", "flipped", "text behind it"])
def test_a_damaged_file_is_named(tmp_path: Path, kind: str, damage: str) -> None:
    packed = COMPRESS[kind](TEXT)
    content = {
        "cut": packed[:-20],
        "cut in its header": packed[:10],
        "flipped": packed[:50_000] + bytes(byte ^ 0xFF for byte in packed[50_000:50_100]) + packed[50_100:],
        "text behind it": packed + b"text",
    }[damage]
    with pytest.raises(ProbingError) as caught:
        read(tmp_path / "a", content)
    assert str(caught.value).startswith(f"{tmp_path / 'a'}: the {kind} file is damaged (")
    assert str(caught.value).endswith("). Get or make it again")


def test_a_file_that_unpacks_to_far_more_is_refused(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compressed, "ANY_RATIO", 1 << 20)
    repeated = COMPRESS[kind](bytes(1 << 20))
    assert len(read(tmp_path / "a", repeated)) == 1 << 20
    with pytest.raises(ProbingError, match=r"a: it unpacks to [\d,]+ times its size, and only 200 times are accepted"):
        read(tmp_path / "a", repeated + repeated)
    assert read(tmp_path / "a", COMPRESS[kind](TEXT * 3)) == TEXT * 3  # of any size, if it is a text


CHILD = """
import resource, sys
from collections import Counter
from pathlib import Path
from probing.corpus.readers import read_sentences
from probing.errors import ProbingError
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
try:
    print(sum(1 for _ in read_sentences(Path(sys.argv[1]), "conllu", skipped=Counter())))
except ProbingError as error:
    print(error)
"""


def test_a_bomb_takes_little_memory(tmp_path: Path, kind: str) -> None:
    """The file has a few megabytes and stands for more than the address space of the reader."""
    path = tmp_path / "bomb"
    path.write_bytes(COMPRESS[kind]((b"# " + b"a" * (1 << 20) + b"\n") * 32) * 40)
    done = subprocess.run([sys.executable, "-c", CHILD, path], capture_output=True, text=True, check=True)
    assert f"{path}: it unpacks to " in done.stdout


def test_a_dictionary_that_is_too_large_is_refused(tmp_path: Path) -> None:
    """An xz file says how much memory unpacking takes."""
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 1, "dict_size": 1 << 29}]
    with pytest.raises(ProbingError, match=r"the xz file is damaged \(Memory usage limit exceeded\)"):
        read(tmp_path / "a", lzma.compress(b"x" * 100, filters=filters))
    assert read(tmp_path / "a", lzma.compress(b"x" * 100, preset=9)) == b"x" * 100
