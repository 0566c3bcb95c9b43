"""Text files are read line by line, checked, and identified by their text."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probing.errors import ProbingError
from probing.translation import parallel_text
from probing.translation.parallel_text import inspect_text, iterate_text, part_of, read_lines
from tests.tasks.instances import QUICK

lines_of_text = st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\ufeff")), min_size=1)


def write(path: Path, content: bytes | str) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@given(lines_of_text, st.booleans(), st.sampled_from(["\n", "\r\n"]), st.integers(8, 64))
@QUICK
def test_lines_come_back_as_they_were_written(tmp_path, lines, final, newline, piece):
    final = final or lines[-1] == ""  # an empty last line without an end cannot be told from none
    path = write(tmp_path / "text", newline.join(lines) + newline * final)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parallel_text, "MAX_SENTENCE", piece + max(len(line.encode()) for line in lines))
        assert read_lines(path) == lines
        if any(line.strip() for line in lines):
            assert inspect_text(path).lines == len(lines)


def test_only_a_line_feed_ends_a_line(tmp_path):
    text = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\x1dh\ri\r\r\n\ufeffj\r\n"
    path = write(tmp_path / "text", "\ufeff" + text)
    assert read_lines(path) == ["a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\x1dh\ri\r", "\ufeffj"]
    assert inspect_text(path).lines == 2


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_a_compressed_file_is_the_same_text(tmp_path, compress):
    text = "Ein Haus .\n\nZwei Häuser .\n".encode()
    plain, packed = write(tmp_path / "plain", text), write(tmp_path / "packed", compress(text))
    assert read_lines(packed) == read_lines(plain) == ["Ein Haus .", "", "Zwei Häuser ."]
    assert inspect_text(packed) == inspect_text(plain)


TRUNCATED = gzip.compress(b"a\n" * 9999, mtime=0)[:-9]
"""It has no time in it: tests are named after their values, and every process must give them the same names."""


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", ": the file is empty. Expected one sentence a line"),
        (b"\n \r\n\n", ": there are only empty lines in it. Expected one sentence a line"),
        (b"a\nb\xff\n", ":2: not UTF-8 (byte 0xff at column 2). Save the file as UTF-8"),
        (b"\xff\xfea\0\n\0", ":1: not UTF-8 (byte 0xff at column 1). Save the file as UTF-8"),
        (b"a\n" * 9000 + b"\xe2\x96\nb\n", ":9001: not UTF-8 (byte 0xe2 at column 1). Save the file as UTF-8"),
        (b"a\n\xc3", ":2: not UTF-8 (byte 0xc3 at column 1). Save the file as UTF-8"),
        (TRUNCATED, ": the gzip file is damaged (it ends too early). Get or make it again"),
    ],
)
def test_a_fault_is_told_with_its_place(tmp_path, monkeypatch, content, problem):
    monkeypatch.setattr(parallel_text, "MAX_SENTENCE", 4096)
    path = write(tmp_path / "train.en", content)
    with pytest.raises(ProbingError) as error:
        inspect_text(path)
    assert str(error.value) == f"{path}{problem}"


def test_a_line_has_a_largest_length(tmp_path):
    longest = b"x" * parallel_text.MAX_SENTENCE
    path = write(tmp_path / "text", b"a\n" + longest + b"\nb\n")
    assert list(map(len, read_lines(path))) == [1, len(longest), 1]
    for content in (b"a\n" + longest + b"x\nb\n", b"a\n" + longest + b"x"):
        write(path, content)
        with pytest.raises(ProbingError) as error:
            inspect_text(path)
        assert str(error.value) == f"{path}:2: a line of more than 1 MiB. Expected one sentence a line"
    write(path, gzip.compress(bytes(50 << 20)))
    with pytest.raises(ProbingError, match="text:1: a line of more than 1 MiB"):
        inspect_text(path)


def test_only_regular_files_are_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path, reason in (
        (tmp_path, "Is a directory"),
        (tmp_path / "pipe", "not a regular file"),
        (tmp_path / "none", "No such file or directory"),
    ):
        with pytest.raises(ProbingError) as error:
            inspect_text(path)
        assert str(error.value) == f"{path}: cannot be read ({reason})"


def test_the_share_that_was_read_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(parallel_text, "MAX_SENTENCE", 100)
    path, shares = write(tmp_path / "text", "a line\n" * 100), list[float]()
    assert len(list(iterate_text(path, part_of(shares.append, 0.5, 0.75)))) == 100
    assert len(shares) == 7
    assert shares == sorted(shares)
    assert 0.5 < shares[0] <= shares[-1] == 0.75
