"""The files that code opens, seeks and lists."""

from __future__ import annotations

import ctypes
import importlib
import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from probing.storage import list_matching, watching


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a.txt", "b.txt", "c.csv"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    time.sleep(0.02)  # what was written before the watching counts as input
    return tmp_path


def test_files_that_are_read_are_seen_and_what_is_written_is_not(folder: Path) -> None:
    with watching() as opened:
        (folder / "a.txt").read_text("utf-8")
        (folder / "new.txt").write_text("new", encoding="utf-8")
        (folder / "new.txt").read_text("utf-8")
    assert opened.list_read() == {str(folder / "a.txt")}
    assert opened.written == {str(folder / "new.txt")}


def test_a_file_that_is_sought_in_vain_is_missing(folder: Path) -> None:
    with watching() as opened, pytest.raises(FileNotFoundError):
        (folder / "optional.txt").read_text("utf-8")
    assert opened.list_missing() == {str(folder / "optional.txt")}
    (folder / "optional.txt").write_text("now", encoding="utf-8")
    assert opened.list_missing() == set()


def test_a_listed_folder_gives_the_pattern_of_what_was_read_in_it(folder: Path) -> None:
    with watching() as opened:
        for path in folder.glob("*.txt"):
            path.read_text("utf-8")
    assert opened.list_patterns() == {f"{folder}/*.txt"}
    assert list_matching(f"{folder}/*.txt") == ["a.txt", "b.txt"]


@pytest.mark.parametrize(
    "use", [os.listdir, lambda folder: list(os.walk(folder)), lambda folder: list(folder.iterdir())]
)
def test_every_way_to_list_is_seen_and_alone_gives_no_pattern(folder: Path, use: object) -> None:
    assert callable(use)
    with watching() as opened:
        use(folder)
    assert opened.list_patterns() == set(), "nothing in the folder was read"
    with watching() as opened:
        use(folder)
        (folder / "c.csv").read_text("utf-8")
    assert opened.list_patterns() == {f"{folder}/*.csv"}


def test_the_search_for_a_module_is_no_listing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "a_module_of_this_test.py").write_text("", encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    with watching() as opened:
        importlib.import_module("a_module_of_this_test")
        (folder / "a.txt").read_text("utf-8")
    assert opened.list_patterns() == set()


def test_the_path_of_a_file_is_no_pattern(folder: Path) -> None:
    assert list_matching(str(folder / "a.txt")) is None
    (folder / "*.odd").write_text("a file", encoding="utf-8")
    assert list_matching(str(folder / "*.odd")) is None


def test_files_that_another_program_is_given_are_seen(folder: Path) -> None:
    with watching() as opened:
        subprocess.run([sys.executable, "-c", "pass", "a.txt", "no such file"], cwd=folder, check=True)
    assert str(folder / "a.txt") in opened.list_read()
    assert not [path for path in opened.list_missing() if "no such file" in path]


def test_libraries_and_modules_of_compiled_code_are_seen(folder: Path) -> None:
    (folder / "mine.so").write_text("no library", encoding="utf-8")
    suffix = importlib.machinery.EXTENSION_SUFFIXES[0]
    (folder / f"mine{suffix}").write_text("no module", encoding="utf-8")
    time.sleep(0.02)
    with watching() as opened:
        with pytest.raises(OSError, match="mine"):
            ctypes.CDLL(str(folder / "mine.so"))
        with pytest.raises(ImportError, match="mine"):
            _load_extension("mine", folder / f"mine{suffix}")
    assert opened.list_read() >= {str(folder / "mine.so"), str(folder / f"mine{suffix}")}


def _load_extension(name: str, path: Path) -> None:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    importlib.util.module_from_spec(spec)
