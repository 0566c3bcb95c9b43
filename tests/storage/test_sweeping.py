"""What a killed process was writing is swept; what a living one writes is not, on whatever machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from probing.storage import list_abandoned, measure, sweep
from probing.storage.temporary import make_temporary_file

KILLED = """
import os, signal, sys
from pathlib import Path
from probing.storage import files
from probing.storage.cache import new_folder

files.publish = lambda *paths: os.kill(os.getpid(), signal.SIGKILL)
folder = Path(sys.argv[1])
if len(sys.argv) > 2:
    with new_folder(folder / "entry") as new:
        (new / "inside").write_text("half")
        os.kill(os.getpid(), signal.SIGKILL)
files.write_atomically(folder / "record.json", "half of it")
"""


def kill_a_write(*arguments: object) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, *map(str, arguments)], check=False)
    assert done.returncode == -signal.SIGKILL


def test_what_a_killed_process_was_writing_is_swept(tmp_path: Path) -> None:
    (tmp_path / "record.json").write_text("kept")
    kill_a_write(tmp_path)
    kill_a_write(tmp_path, "a folder")
    left = list_abandoned(tmp_path)
    assert sorted(map(measure, left)) == [len("half"), len("half of it")]
    assert sweep(tmp_path) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["record.json"]


def test_what_a_living_process_writes_is_not_swept(tmp_path: Path) -> None:
    descriptor, path = make_temporary_file(tmp_path / "record.json")
    os.close(descriptor)
    assert sweep(tmp_path) == 0
    assert path.exists()


@pytest.mark.parametrize(("hours", "swept"), [(0, 0), (23, 0), (25, 1)])
def test_what_another_machine_left_is_swept_after_a_day(tmp_path: Path, hours: int, swept: int) -> None:
    path = tmp_path / ".record.json.00000000-1-1.abcdefgh.partial"
    path.touch()
    os.utime(path, (time.time() - hours * 3600,) * 2)
    assert sweep(tmp_path) == swept
    assert path.exists() == (not swept)


def test_no_link_is_followed(tmp_path: Path) -> None:
    """A link that is named like a temporary folder of a process that has died."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").touch()
    results = tmp_path / "results"
    results.mkdir()
    kill_a_write(results)
    (name,) = [path.name for path in list_abandoned(results)]
    (results / name).unlink()
    (results / name).symlink_to(outside)
    assert sweep(results) == 1
    assert list(results.iterdir()) == []
    assert (outside / "precious").exists()
    (results / "checkpoints").symlink_to(outside)
    kill_a_write(outside)
    assert sweep(results, "checkpoints") == 0
    assert len(list(outside.iterdir())) == 2


def test_a_folder_that_is_not_there_is_no_error(tmp_path: Path) -> None:
    assert sweep(tmp_path / "none") == 0
