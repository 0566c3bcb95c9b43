"""A temporary name says which process writes the file, so that one that was killed can be told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from probing.storage import temporary
from probing.storage.temporary import find_start, has_died, is_temporary, make_temporary_file, make_temporary_folder


def test_a_name_is_that_of_a_living_process(tmp_path: Path) -> None:
    descriptor, path = make_temporary_file(tmp_path / "record.json")
    os.close(descriptor)
    folder = make_temporary_folder(tmp_path / "entry")
    for made in (path, folder):
        assert made.parent == tmp_path
        assert is_temporary(made.name)
        assert has_died(made.name) is False


def test_a_name_of_any_length_and_kind_fits(tmp_path: Path) -> None:
    for name in ("é" * 127, "n" * 255, "a\nb", "."):
        descriptor, path = make_temporary_file(tmp_path / name)
        os.close(descriptor)
        assert is_temporary(path.name)


def test_a_process_that_has_ended_has_died() -> None:
    script = "import os; from probing.storage.temporary import name_temporary; print(name_temporary('a'))"
    prefix = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.strip()
    assert has_died(f"{prefix}abcdefgh.partial") is True


def test_another_process_of_the_same_number_is_another_one() -> None:
    machine, pid = temporary._hash_machine(), os.getpid()
    assert has_died(f".a.{machine}-{pid}-{find_start(pid)}.abcdefgh.partial") is False
    assert has_died(f".a.{machine}-{pid}-1.abcdefgh.partial") is True
    assert has_died(f".a.{machine}-9999999999-1.abcdefgh.partial") is True


@pytest.mark.parametrize("name", ["a.partial", ".a.partial", ".a.0-1-1.abcdefgh.partial", "x" * 40, ".a.json.abcdefgh"])
def test_other_names_are_nobodys(name: str) -> None:
    assert not is_temporary(name)
    assert has_died(name) is None


def test_of_another_machine_nothing_is_known() -> None:
    assert is_temporary(".a.00000000-1-1.abcdefgh.partial")
    assert has_died(".a.00000000-1-1.abcdefgh.partial") is None
