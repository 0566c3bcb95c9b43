from __future__ import annotations

import os
from pathlib import Path

import pytest

from probing.errors import ProbingError
from probing.storage import reading as files


def test_a_regular_file_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x\ny")
    with files.open_file(path) as file:
        assert list(files.iterate_bytes(file, path)) == [(1, b"x\n"), (2, b"y")]
    (tmp_path / "link").symlink_to(path)
    assert files.read_text(tmp_path / "link") == "x\ny"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("none", "No such file or directory"),
        ("folder", "Is a directory"),
        ("pipe", "not a regular file"),
        ("broken link", "No such file or directory"),
        ("nul\0", "embedded null byte"),
    ],
)
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "broken link").symlink_to(tmp_path / "gone")
    with pytest.raises(ProbingError) as caught:
        files.open_file(tmp_path / name)
    assert str(caught.value) == f"{tmp_path / name}: cannot be read ({reason})"


def test_devices_are_refused() -> None:
    with pytest.raises(ProbingError, match=r"/dev/zero: cannot be read \(not a regular file\)"):
        files.open_file(Path("/dev/zero"))


def test_a_line_has_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_LINE", 1 << 20)
    path = tmp_path / "a"
    path.write_bytes(b"x\n" + b"y" * ((1 << 20) - 1) + b"\n")
    with files.open_file(path) as file:
        assert [len(line) for _, line in files.iterate_bytes(file, path)] == [2, 1 << 20]
    path.write_bytes(b"x\n" + b"y" * ((1 << 20) + 1))
    with files.open_file(path) as file, pytest.raises(ProbingError) as caught:
        list(files.iterate_bytes(file, path))
    assert str(caught.value) == f"{path}:2: a line of more than 1 MiB. Is it a text file?"


def test_a_text_has_bounds(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x" * 2048)
    assert len(files.read_text(path, limit=2048)) == 2048
    path.write_bytes(b"x" * 2049)
    with pytest.raises(ProbingError) as caught:
        files.read_text(path, limit=2048)
    assert str(caught.value) == f"{path}: more than 2 KiB. Is it the right file?"


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"a":' * 100_000, "9" * 5000, "\0"])
def test_json_that_is_none_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):
        files.parse_json(text)


@pytest.mark.parametrize("item", ["[],", "{},", '{"a":1},'])
def test_json_with_too_many_groups_is_refused_before_it_is_built(item: str) -> None:
    """Empty ones take thirty times the memory of their text."""
    assert len(files.parse_json(f"[{item * 100_000}0]", groups=100_001)) == 100_001
    with pytest.raises(files.TooManyError, match="more than 100,000 lists and objects"):
        files.parse_json(f"[{item * 100_000}0]", groups=100_000)


def test_json_with_too_many_values_is_refused_before_it_is_built() -> None:
    with pytest.raises(files.TooManyError, match="more than 4,194,304 values"):
        files.parse_json(f"[{'1,' * (1 << 22)}1,1]")


def test_only_the_first_line_may_have_a_byte_order_mark(tmp_path: Path) -> None:
    line = b"\xef\xbb\xbfx"
    assert files.decode_line(tmp_path, 1, line) == "x"
    assert files.decode_line(tmp_path, 2, line) == "\ufeffx"
    with pytest.raises(ProbingError, match=r":3: not UTF-8 \(byte 0xff at column 2\)\. Save the file as UTF-8"):
        files.decode_line(tmp_path, 3, b"x\xff")
