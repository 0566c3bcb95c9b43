"""Files appear whole or not at all, under names that any file system takes; hashes are those of other programs."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import subprocess

import pytest

from probing.storage.files import (
    as_unicode,
    hash_content,
    hash_file,
    hash_json,
    make_name,
    publish,
    to_json,
    write_atomically,
)


@pytest.mark.parametrize("content", ["ä\r\n\n", "ä\r\n\n".encode(), b"\xff\0", ""])
def test_a_text_is_written_as_it_is(tmp_path, content):
    path = tmp_path / "new" / "a.txt"
    write_atomically(path, content)
    assert path.read_bytes() == (content if isinstance(content, bytes) else content.encode())
    assert os.listdir(path.parent) == ["a.txt"]


@pytest.mark.parametrize("step", ["fsync", "chmod", "replace"])
@pytest.mark.parametrize("problem", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_a_write_that_fails_leaves_what_was_there_and_nothing_else(tmp_path, monkeypatch, step, problem):
    def fail(*arguments):
        raise problem

    path = tmp_path / "a.txt"
    write_atomically(path, "old")
    monkeypatch.setattr(os, step, fail)
    with pytest.raises(type(problem)):
        write_atomically(path, "new")
    assert path.read_text(encoding="utf-8") == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_text_that_is_no_unicode_leaves_nothing(tmp_path):
    with pytest.raises(UnicodeEncodeError):
        write_atomically(tmp_path / "a.txt", "\udcff")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_published_file_may_be_read_by_whom_other_files_are(tmp_path, mask, mode):
    before = os.umask(mask)
    try:
        (tmp_path / "temporary").write_bytes(b"x")
        (tmp_path / "temporary").chmod(0o600)
        publish(tmp_path / "temporary", tmp_path / "a.txt")
        assert os.umask(mask) == mask
    finally:
        os.umask(before)
    assert (tmp_path / "a.txt").stat().st_mode & 0o777 == mode
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize(
    ("part", "name"),
    [
        ("Tense", "Tense"),
        ("my.py:Mine", "my.py_Mine"),
        ("../a//b \n", ".._a_b_"),
        ("a+b-c_d", "a+b-c_d"),
        ("é" * 30, "é" * 20),
        ("a" + "é" * 30, "a" + "é" * 19),
        ("\udcff", "_"),
    ],
)
def test_a_part_of_a_name_has_no_separators_and_is_short(part, name):
    assert make_name(part) == name
    assert len(name.encode()) <= 40


def test_json_is_unicode_and_has_finite_numbers_only():
    content = {"name": "ä\udcff", "numbers": [1, 2.5]}
    text = to_json(content, separators=(",", ":"))
    assert text == '{"name":"ä\\udcff","numbers":[1,2.5]}'
    assert json.loads(text) == content
    with pytest.raises(ValueError, match="Out of range float values are not JSON compliant"):
        to_json(float("nan"))


def test_stray_bytes_of_a_file_name_become_escapes():
    assert as_unicode("ä b") == "ä b"
    assert as_unicode(os.fsdecode(b"a\xff.txt")) == "a\\udcff.txt"


@pytest.mark.parametrize("content", [b"", b"a\n", b"\r\n\0" * 700_000])
def test_the_hashes_are_sha256_and_gits(task_file, content):
    path = task_file(content)
    sha256, blob = hash_file(path)
    assert sha256 == hashlib.sha256(content).hexdigest()
    assert blob == hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    if shutil.which("git"):
        command = ["git", "hash-object", "--no-filters", path]
        assert blob == subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_a_text_has_the_hash_of_its_bytes():
    assert hash_content("ä") == hash_content("ä".encode()) == hashlib.sha256("ä".encode()).hexdigest()


def test_the_order_of_keys_does_not_change_a_hash():
    content = {"b": [1, 2], "a": {"d": None, "c": "x"}}
    assert hash_json(content) == hash_json({"a": {"c": "x", "d": None}, "b": [1, 2]})
    assert hash_json(content) == hash_content('{"a": {"c": "x", "d": null}, "b": [1, 2]}')
    assert hash_json(content) != hash_json({"b": [2, 1], "a": {"d": None, "c": "x"}})
