"""A task file is read as it was written; whatever is wrong with it is named with its line."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probing.errors import ProbingError
from probing.tasks.index import load_task
from probing.tasks.task_file import MAX_TOKENS, SPLITS, iterate_lines, read_task_file
from tests.tasks.instances import GOOD, QUICK, instances, write


def error_of(path):
    """Return the text after the path: reading and loading agree on it."""
    texts = set()
    for read in (read_task_file, load_task):
        with pytest.raises(ProbingError) as caught:
            read(path)
        texts.add(str(caught.value))
    (text,) = texts
    assert text.startswith(f"{path}:")
    return text.removeprefix(f"{path}:")


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("tr\tA", "expected 3 tab-separated fields, got 2"),
        ("tr A a b", "expected 3 tab-separated fields, got 1"),
        ("tr\tA\ta\tb", "expected 3 tab-separated fields, got 4"),
        ("", "expected 3 tab-separated fields, got 1"),
        ("   ", "expected 3 tab-separated fields, got 1"),
        ("tr\tA\ta\rva\tA\tb", "expected 3 tab-separated fields, got 5"),
        ("dev\tA\ta", "unknown split 'dev'. Allowed: tr, va, te"),
        ("TR\tA\ta", "unknown split 'TR'. Allowed: tr, va, te"),
        ("tr \tA\ta", "unknown split 'tr '. Allowed: tr, va, te"),
        ("\tA\ta", "unknown split ''. Allowed: tr, va, te"),
        ("\ufefftr\tA\ta", "unknown split '\\ufefftr'. Allowed: tr, va, te"),
        ("t\0r\tA\ta", "unknown split 't\\x00r'. Allowed: tr, va, te"),
        ("tr\t\ta", "empty label"),
        ("tr\t  \ta", "empty label"),
        ("tr\tA\t", "empty sentence"),
        ("tr\tA\t   ", "empty sentence"),
        ("tr\tA\t\r", "empty sentence"),
        ("tr\tA\t\u2028\x85\xa0", "empty sentence"),
        ("va\tB\ta", "label 'B' of split va does not occur in tr"),
        ("te\tA \ta", "label 'A ' of split te does not occur in tr"),
    ],
)
def test_a_bad_line_is_named_with_its_number(task_file, line, text):
    for number in (2, 3, 4):  # line 1 is the one that a byte order mark would be allowed in
        path = task_file([*GOOD[: number - 1], line, *GOOD[number - 1 :]])
        assert error_of(path) == f"{number}: {text}"


def test_the_first_bad_line_is_named(task_file):
    assert error_of(task_file([*GOOD, "tr\tA", "xx\tA\ta"])) == "4: expected 3 tab-separated fields, got 2"
    assert error_of(task_file(["te\tC\ta", "va\tB\ta", *GOOD])) == "1: label 'C' of split te does not occur in tr"


@pytest.mark.parametrize(
    ("left", "text"),
    [
        (["tr", "va"], "te"),
        (["tr", "te"], "va"),
        (["va", "te"], "tr"),
        (["va"], "tr, te"),
    ],
)
def test_a_missing_split(task_file, left, text):
    path = task_file([line for line in GOOD if line[:2] in left])
    assert error_of(path) == f" no line of split {text}. All of tr, va, te are needed"


def test_an_empty_file(task_file):
    expected = " the file is empty. Expected lines of split <TAB> label <TAB> tokens"
    assert error_of(task_file(b"")) == expected


@pytest.mark.parametrize("content", [b"\n\n", b"\r\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"])
def test_a_file_of_blank_lines(task_file, content):
    assert error_of(task_file(content)) == "1: expected 3 tab-separated fields, got 1"


@pytest.mark.parametrize(
    ("line", "where"),
    [
        (b"tr\tA\tcaf\xe9 au lait", "byte 0xe9 at column 9"),
        (b"\xff\xfet\x00r\x00", "byte 0xff at column 1"),
        (b"tr\tA\t\xed\xa0\x80", "byte 0xed at column 6"),
        (b"tr\tA\t\xc0\xaf", "byte 0xc0 at column 6"),
        (b"tr\tA\tend \xe2\x82", "byte 0xe2 at column 10"),
    ],
)
def test_a_file_that_is_not_utf8(task_file, line, where):
    content = "\n".join(GOOD).encode() + b"\n" + line + b"\n"
    assert error_of(task_file(content)) == f"4: not UTF-8 ({where}). Save the file as UTF-8"
    for start in (b"", b"\xef\xbb\xbf"):
        assert error_of(task_file(start + line)).startswith(f"1: not UTF-8 ({where})")


def test_a_file_that_cannot_be_read(tmp_path, task_file, monkeypatch):
    assert error_of(tmp_path / "no.txt") == " cannot be read (No such file or directory)"
    assert error_of(tmp_path) == " cannot be read (Is a directory)"
    os.mkfifo(tmp_path / "pipe")
    assert error_of(tmp_path / "pipe") == " cannot be read (not a regular file)"
    path = task_file()
    path.chmod(0)
    if os.access(path, os.R_OK):  # root reads everything

        def refuse(*args):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(os, "open", refuse)
    assert error_of(path) == " cannot be read (Permission denied)"


def test_a_sound_file(task_file):
    path = task_file(["te\tB\tb  c ", "tr\tB\tx", "tr\tA\ta b", "va\tA\ta", "tr\tB\ty"])
    data = read_task_file(path)
    assert data.labels == ["A", "B"]
    assert data.splits["tr"].sentences == [["x"], ["a", "b"], ["y"]]
    assert data.splits["tr"].labels == ["B", "A", "B"]
    assert data.splits["va"].sentences == [["a"]]
    assert data.splits["te"].sentences == [["b", "c"]]


@pytest.mark.parametrize(
    "content",
    [
        "\r\n".join(GOOD) + "\r\n",
        "\n".join(GOOD),
        "\r\n".join(GOOD),
        "\ufeff" + "\n".join(GOOD) + "\n",
        "\ufeff" + "\r\n".join(GOOD),
    ],
    ids=["CRLF", "no final newline", "CRLF and no final newline", "BOM", "BOM and CRLF"],
)
def test_line_ends_and_byte_order_marks_make_no_difference(task_file, content):
    path = task_file(content.encode())
    assert list(iterate_lines(path)) == list(enumerate(GOOD, 1))
    assert read_task_file(path).splits == read_task_file(task_file(GOOD, "other.txt")).splits


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e"])
def test_only_newlines_end_lines(task_file, separator):
    path = task_file([f"tr\tA\ta{separator}b", *GOOD])
    assert [number for number, _ in iterate_lines(path)] == [1, 2, 3, 4]
    assert read_task_file(path).splits["tr"].sentences[0] == ["a", "b"]


def test_nul_bytes_are_characters_like_others(task_file):
    path = task_file(["tr\tA\0\ta\0b c", "va\tA\0\tc", "te\tA\0\t\0"])
    assert read_task_file(path).splits["tr"].sentences == [["a\0b", "c"]]


def test_very_long_words_and_sentences(task_file):
    long = "w" * 1_000_000
    path = task_file([f"tr\tA\t{long} " + "x " * (MAX_TOKENS - 1), *GOOD])
    tokens = read_task_file(path).splits["tr"].sentences[0]
    assert tokens[0] == long
    assert len(tokens) == MAX_TOKENS
    for count in (MAX_TOKENS + 1, 1_000_000):
        path = task_file([*GOOD, "tr\tA\t" + "x " * count])
        assert error_of(path) == "4: a sentence of more than 10,000 tokens. Split it or leave it out"


@given(instances(), st.sampled_from(["\n", "\r\n"]), st.booleans())
@QUICK
def test_what_is_written_is_read(tmp_path, rows, newline, final):
    data = read_task_file(write(tmp_path / "task.txt", rows, newline, final=final))
    for name in SPLITS:
        assert data.splits[name].sentences == [tokens for split, _, tokens in rows if split == name]
        assert data.splits[name].labels == [label for split, label, _ in rows if split == name]


@given(st.binary(max_size=80) | st.lists(st.sampled_from([b"tr", b"va", b"te", b"\t", b"\n", b"A", b" ", b"\xff"])))
@QUICK
def test_any_bytes_are_read_or_refused(tmp_path, content):
    path = tmp_path / "task.txt"
    path.write_bytes(content if isinstance(content, bytes) else b"".join(content))
    data, problem = None, ""
    try:
        data = read_task_file(path)
    except ProbingError as error:
        problem = str(error)
    assert (data is None) == problem.startswith(f"{path}:")
    assert "\n" not in problem
    assert data is None or all(split.labels for split in data.splits.values())
