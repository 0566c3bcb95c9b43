"""The output folder of a build is filled at the end or unchanged, on any file system; a mistake is one line."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
from click.testing import CliRunner

import cli
from probing.corpus.builders.folder import check_output, fill_folder
from probing.errors import ProbingError

MEMORY = Path("/dev/shm")


def fill(output: Path, **texts: str) -> None:
    with fill_folder(output) as aside:
        for name, text in texts.items():
            suffix = "json" if name == "datasheet" else "txt"
            (aside / f"{name}.{suffix}").write_text(text, encoding="utf-8")


def read(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}


def test_the_files_are_made_inside_the_folder_and_moved(tmp_path: Path) -> None:
    output = tmp_path / "a" / "out"
    with fill_folder(output) as aside:
        assert aside.parent == output
        (aside / "past_present.txt").write_text("new", encoding="utf-8")
        assert list(output.iterdir()) == [aside]
    assert read(output) == {"past_present.txt": "new"}


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Path]:
    """A folder on another file system."""
    if not MEMORY.is_dir() or not os.access(MEMORY, os.W_OK) or MEMORY.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip(f"{MEMORY} is not another file system")
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        yield Path(folder)


def test_the_folder_may_be_a_link_to_another_file_system(tmp_path: Path, elsewhere: Path) -> None:
    output = tmp_path / "out"
    output.symlink_to(elsewhere, target_is_directory=True)
    fill(output, past_present="old", datasheet="old")
    fill(output, past_present="new", datasheet="new")
    assert read(elsewhere) == {"past_present.txt": "new", "datasheet.json": "new"}


def test_task_files_of_an_earlier_build_go_and_other_files_stay(tmp_path: Path) -> None:
    fill(tmp_path, past_present="old", tree_depth="old", dependency_depth="old", datasheet="old")
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    fill(tmp_path, past_present="new", datasheet="new")
    assert read(tmp_path) == {"past_present.txt": "new", "datasheet.json": "new", "mine.txt": "mine"}


def test_files_that_cannot_be_moved_cost_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path, past_present="old", tree_depth="old", datasheet="old")
    before = read(tmp_path)

    def fail(*_: Any) -> NoReturn:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(ProbingError, match=r"--output .*: cannot be written \(.*\). Name another folder"):
        fill(tmp_path, past_present="new", datasheet="new")
    assert read(tmp_path) == before


def test_folders_made_for_nothing_go_again(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    for output in (tmp_path / "a" / "b" / "out", tmp_path / "there"):
        with pytest.raises(KeyboardInterrupt), fill_folder(output):
            raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == [tmp_path / "there"]
    assert not list((tmp_path / "there").iterdir())


def test_what_a_killed_build_left_is_no_reason_to_refuse_and_swept(tmp_path: Path) -> None:
    code = "import os, sys; from pathlib import Path; from probing.corpus.builders.folder import fill_folder\n"
    code += "with fill_folder(Path(sys.argv[1])) as aside: (aside / 'x').touch(); os._exit(9)"
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    (left,) = tmp_path.iterdir()
    check_output(tmp_path, force=False)
    with fill_folder(tmp_path) as aside:
        assert list(tmp_path.iterdir()) == [aside]
    assert not left.exists()
    (tmp_path / "mine.txt").touch()
    with pytest.raises(ProbingError, match="the folder is not empty"):
        check_output(tmp_path, force=False)


def probe(trees: Path, output: Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(cli.main, ["data", "build", "--trees", str(trees), "--output", str(output)])
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def trees(tmp_path: Path) -> Path:
    path = tmp_path / "trees.mrg"
    path.write_text("(S (NP (DT the) (NN dog)) (VP (VBZ barks) (RB now)) (. .))\n", encoding="utf-8")
    return path


def test_a_folder_below_a_file_is_refused(trees: Path) -> None:
    code, out, err = probe(trees, trees / "out")
    assert (code, out) == (2, "")
    assert err == f"probe: --output {trees / 'out'}: cannot be written (Not a directory). Name another folder\n"


@pytest.mark.parametrize("name", ["mkdtemp", "mkdir", "exists"])
def test_a_folder_that_may_not_be_written_is_refused(
    trees: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def fail(*_: Any, **__: Any) -> NoReturn:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(tempfile if name == "mkdtemp" else Path, name, fail)
    code, out, err = probe(trees, tmp_path / "out")
    monkeypatch.undo()
    assert (code, out) == (2, "")
    assert err == f"probe: --output {tmp_path / 'out'}: cannot be written (Permission denied). Name another folder\n"
    assert list(tmp_path.iterdir()) == [trees]
