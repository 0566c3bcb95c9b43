from __future__ import annotations

import os
import re
import stat
from pathlib import Path

import pytest

from probing.errors import ProbingError
from probing.report.writing import write_file


def test_a_file_is_written_and_replaced(tmp_path):
    path = tmp_path / "new" / "report.html"
    write_file(path, b"one")
    write_file(path, b"two")
    assert path.read_bytes() == b"two"
    assert os.listdir(path.parent) == ["report.html"]
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "there")
    (tmp_path / "there").write_bytes(b"old")
    write_file(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there").read_bytes() == b"new"


def test_a_device_is_written_to():
    write_file(Path(os.devnull), b"x")
    assert not stat.S_ISREG(os.stat(os.devnull).st_mode)


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    path = tmp_path / "file" / "report.html"
    with pytest.raises(ProbingError, match=rf"^{re.escape(str(path))}: cannot be written \(.*(directory|exists)\)$"):
        write_file(path, b"x")
