"""The output folder of a build: it receives all files together at the end, or stays unchanged."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from probing.errors import ProbingError
from probing.storage import is_temporary, make_temporary_folder, sweep
from probing.tasks import COUNTERPARTS, TASKS


def check_output(output: Path, force: bool) -> None:
    """Raise an error if the folder is not empty, unless `force` is set."""
    try:
        if output.exists() and not output.is_dir():
            raise ProbingError(f"{output}: not a folder. Name a folder for the task files with --output")
        # The temporary folder of a build that was killed does not count.
        filled = output.is_dir() and any(not is_temporary(path.name) for path in output.iterdir())
    except OSError as error:
        raise _refuse(output, error) from None
    if filled and not force:
        raise ProbingError(f"{output}: the folder is not empty. Name another with --output, or overwrite with --force")


@contextmanager
def fill_folder(output: Path) -> Iterator[Path]:
    """Yield a temporary folder whose files are moved to `output` at the end; an error removes the new folders."""
    made: list[Path] = []
    try:
        made += [path for path in (output, *output.parents) if not path.exists()]
        output.mkdir(parents=True, exist_ok=True)
        sweep(output)  # what builds that were killed have left
        aside = make_temporary_folder(output / "build")  # inside, and so on the same file system
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


def _remove(folders: Sequence[Path]) -> None:
    with suppress(OSError):  # another program has put files there meanwhile
        for folder in folders:
            folder.rmdir()


def _move(aside: Path, output: Path) -> None:
    """Move the files into the folder, the datasheet last, and remove task files that it does not describe."""
    paths = sorted(aside.iterdir(), key=lambda path: path.name)
    names = [path.name for path in paths]
    try:
        for path in (path for path in paths if path.stem != "datasheet"):
            path.replace(output / path.name)
        for old in (output / task.file_name for task in TASKS + COUNTERPARTS):
            if old.name not in names and old.is_file():
                old.unlink()
        for path in (path for path in paths if path.stem == "datasheet"):
            path.replace(output / path.name)
    except OSError as error:
        raise _refuse(output, error) from None


def _refuse(output: Path, error: OSError) -> ProbingError:
    return ProbingError(f"--output {output}: cannot be written ({error.strerror or error}). Name another folder")
