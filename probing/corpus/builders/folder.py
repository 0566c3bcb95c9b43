"""The folder that a build fills: all of its files come into it together at the end, or it stays as it was."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from probing.errors import ProbingError
from probing.tasks import COUNTERPARTS, TASKS

PREFIX = ".build-"
"""Of the folder, inside the one to be filled and so on the same file system, in which the files are made."""


def check_output(output: Path, force: bool) -> None:
    """Refuse a folder that has something in it, unless forced."""
    try:
        if output.exists() and not output.is_dir():
            raise ProbingError(f"{output}: not a folder. Name a folder for the task files with --output")
        # What a build that was killed has left behind is no reason to refuse.
        filled = output.is_dir() and any(not path.name.startswith(PREFIX) for path in output.iterdir())
    except OSError as error:
        raise _refuse(output, error) from None
    if filled and not force:
        raise ProbingError(f"{output}: the folder is not empty. Name another with --output, or overwrite with --force")


@contextmanager
def fill_folder(output: Path) -> Iterator[Path]:
    """Give a folder whose files are moved to `output` at the end; folders made for nothing are removed again."""
    made: list[Path] = []
    try:
        made += _find_missing(output)
        output.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(dir=output, prefix=PREFIX))
    except OSError as error:
        _remove(made)
        raise _refuse(output, error) from None
    try:
        yield aside
        _move(aside, output)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        _remove(made)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _find_missing(folder: Path) -> list[Path]:
    """Return the folder and those above it, the innermost first, that are not there yet."""
    return [path for path in (folder, *folder.parents) if not path.exists()]


def _remove(folders: Sequence[Path]) -> None:
    with suppress(OSError):  # someone else has put something there meanwhile
        for folder in folders:
            folder.rmdir()


def _move(aside: Path, output: Path) -> None:
    """Move the files into the folder, the datasheet last; task files that it does not describe are removed."""
    paths = sorted(aside.iterdir(), key=lambda path: path.name)
    names = [path.name for path in paths]
    try:
        for path in (path for path in paths if path.stem != "datasheet"):
            path.replace(output / path.name)
        for old in (output / f"{task.file}.txt" for task in TASKS + COUNTERPARTS):
            if old.name not in names and old.is_file():
                old.unlink()
        for path in (path for path in paths if path.stem == "datasheet"):
            path.replace(output / path.name)
    except OSError as error:
        raise _refuse(output, error) from None


def _refuse(output: Path, error: OSError) -> ProbingError:
    return ProbingError(f"--output {output}: cannot be written ({error.strerror or error}). Name another folder")
