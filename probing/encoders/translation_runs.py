"""Runs of `probe translate run`, by the path of a run, of a folder of runs, or by a part of a run's name."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from pathlib import Path

from probing.errors import ProbingError
from probing.results import TRANSLATOR_ENDING, Record, Store, read_record, translator_folder
from probing.storage import check_path
from probing.training import checkpoint_folder

MEASURE = "--translation--"
"""Part of the name of a run's record."""
NAMED = 6
"""Largest number of runs that an error names."""


def find_runs(target: str, results: Path) -> list[Path]:
    """Return the records that a specification stands for.

    It is a record, the folder of its model, a folder of runs, the beginning of one run's name or key, or a pattern with
    `*` for several. A name without a folder is looked for in the results folder and the folders in it.
    """
    path = check_path(target)
    if path.suffix == ".json":
        return [path]
    if record := _find_record_of(path):
        return [record]
    if path.is_dir():
        return _list_finished(path)
    folders = [path.parent] if path.name != target else [results, *_list_folders(results)]
    known = [run for folder in folders for run in _list_runs(folder)]
    if any(sign in path.name for sign in "*?["):
        found = [run for run in known if fnmatch.fnmatchcase(run.stem, path.name)]
    else:
        found = [run for run in known if run.stem == path.name] or [run for run in known if _begins(run, path.name)]
        if len(found) > 1:
            raise ProbingError(
                f"encoder 'translation:{target}' could be {_join(found)}. Name one of them, or all by "
                f"'translation:{target}*'"
            )
    if not found:
        raise _explain_missing(target, folders, known)
    return found


def read_run(path: Path) -> Record:
    """Return the record of a finished run whose model is there."""
    if not path.is_file():
        if checkpoint_folder(path).is_dir():
            raise _not_finished(path)
        raise _explain_missing(str(path), [path.parent], _list_runs(path.parent))
    record = read_record(path)
    if record.identity.measure != "translation":
        raise ProbingError(f"{path}: a result of probing ({record.identity.title}), not a run of `probe translate run`")
    if record.translation is None:
        raise ProbingError(f"{path}: the training of this run failed ({record.error}), so it has no encoder")
    if not translator_folder(path).is_dir():
        raise ProbingError(f"{path}: its model is missing: there is no folder {translator_folder(path).name} beside it")
    return record


def _find_record_of(path: Path) -> Path | None:
    """Return the record beside a folder of a model, or of a path without its ending."""
    stem = path.name.removesuffix(TRANSLATOR_ENDING)
    if not stem:
        return None
    record = path.with_name(f"{stem}.json")
    if stem != path.name and path.is_dir() and not record.is_file():
        raise ProbingError(f"{path}: {record.name} is missing beside it. It tells the run's data, seed and BLEU")
    return record if stem != path.name or record.is_file() else None


def _list_runs(folder: Path) -> list[Path]:
    """Return the records of a folder's runs."""
    return [path for path in Store(folder).list_paths() if MEASURE in path.name]


def _list_finished(folder: Path) -> list[Path]:
    """Return the records of a folder's runs that did not fail."""
    runs = _list_runs(folder)
    if not runs:
        others = [str(inner) for inner in _list_folders(folder) if _list_runs(inner)]
        hint = f", but there are in {', '.join(others)}" if others else ""
        raise ProbingError(
            f"encoder 'translation:{folder}': there is no finished run of `probe translate run` in this folder{hint}"
        )
    finished = [run for run in runs if read_record(run).translation is not None]
    if not finished:
        raise ProbingError(f"encoder 'translation:{folder}': all runs in this folder failed")
    return finished


def _list_folders(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*") if path.is_dir() and not path.name.startswith("."))


def _begins(run: Path, text: str) -> bool:
    """Return whether the name or the key of a run begins with a text."""
    return run.stem.startswith(text) or run.stem.rpartition("--")[2].startswith(text)


def _explain_missing(target: str, folders: Sequence[Path], known: Sequence[Path]) -> ProbingError:
    """Return the error for a run that is not there: it may be unfinished, or there are others."""
    name = Path(target).name.removesuffix(".json")
    for folder in folders:
        begun = checkpoint_folder(folder / "x").parent
        for unfinished in sorted(begun.glob(f"*{MEASURE}*")):
            if _begins(unfinished, name):
                return _not_finished(folder / f"{unfinished.name}.json")
    where = str(folders[0])
    there = f"Runs there: {_join(known)}" if known else "There are none: train one with `probe translate run`"
    return ProbingError(f"encoder 'translation:{target}': there is no such run in {where}. {there}")


def _not_finished(path: Path) -> ProbingError:
    return ProbingError(
        f"{path.stem}: this run is not finished. The same `probe translate run` command goes on with it"
    )


def _join(runs: Sequence[Path]) -> str:
    names = [run.stem for run in runs[:NAMED]]
    return ", ".join(names) + (f" and {len(runs) - NAMED} more" if len(runs) > NAMED else "")
