"""Results folders are merged into one, for example after runs on several machines; contradictions are refused.

The folder of a translation, with its model and texts, goes with its record.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from probing.errors import ProbingError
from probing.results.record import Outcome, Record, read_record
from probing.results.scores import Scores
from probing.results.store import Store, translator_folder
from probing.storage import check_path, make_temporary_folder, remove_folder, resolve_path


@dataclass(frozen=True, slots=True)
class Merged:
    """Numbers of records after a merge."""

    written: int
    there: int
    """Number of records that were already in the output folder."""
    damaged: int


def merge(folders: Sequence[Path], output: Path, *, on_damaged: Callable[[str], None] = lambda line: None) -> Merged:
    """Write the records of all folders into one; if two contradict each other, nothing is written."""
    chosen: dict[str, dict[Path, tuple[Path, Record]]] = {}
    translators: dict[Path, Path] = {}
    output = resolve_path(check_path(output))
    store, damaged = Store(output), 0
    named = {resolve_path(check_path(folder)): folder for folder in reversed(folders)}
    for folder in dict.fromkeys([output, *(resolve_path(folder) for folder in folders)]):
        paths = sorted(folder.glob("*--*.json"))
        if not paths and folder != output:
            what = "there are no records" if folder.is_dir() else "there is no such folder"
            raise ProbingError(f"{named[folder]}: {what}. Name folders that `probe run --results` wrote")
        for path in paths:
            try:
                result = read_record(path)
            except ProbingError as error:
                damaged += 1
                on_damaged(str(error))
                continue
            _choose(chosen.setdefault(result.key, {}), result.path(store.folder), path, result)
            if result.translation is not None and (own := translator_folder(path)).is_dir():
                translators.setdefault(translator_folder(result.path(store.folder)), own)
    new = [result for group in chosen.values() for path, result in group.values() if path.parent != output]
    for result in new:
        store.save(result)
    for target, own in translators.items():
        _copy_folder(own, target)
    return Merged(len(new), sum(len(group) for group in chosen.values()) - len(new), damaged)


def _choose(group: dict[Path, tuple[Path, Record]], target: Path, path: Path, result: Record) -> None:
    """Keep one of a cell's records: the first that is finished, else the first; all must have the same numbers."""
    for other_path, other in group.values():
        if result.outcome is not None and other.outcome is not None and result.outcome != other.outcome:
            raise ProbingError(
                f"{other_path} and {path} are of the same cell and contradict each other (test "
                f"{_describe(other.outcome)} and {_describe(result.outcome).split()[-1]}). "
                "Nothing was written. Find out which is right, and remove the other"
            )
    if target not in group or (group[target][1].outcome is None and result.outcome is not None):
        group[target] = (path, result)


def _describe(outcome: Outcome) -> str:
    """Return the figure by which an outcome is known."""
    if isinstance(outcome, Scores):
        return f"accuracy {outcome.test_accuracy:.2f}"
    return f"BLEU {outcome.test.bleu:.2f}"


def _copy_folder(source: Path, target: Path) -> None:
    """Copy a translation's folder, as a whole or not at all; links in it are left out, and one that is there stays."""
    if target.exists() or target.is_symlink():
        return
    temporary = make_temporary_folder(target)
    try:
        shutil.copytree(source, temporary, dirs_exist_ok=True, symlinks=True, ignore=_list_links)
        os.chmod(temporary, source.stat().st_mode & 0o777)
        os.replace(temporary, target)
    except (OSError, shutil.Error) as error:
        remove_folder(temporary)
        raise ProbingError(
            f"{source}: cannot be copied to {target} ({getattr(error, 'strerror', None) or error})"
        ) from None


def _list_links(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if (Path(folder) / name).is_symlink()]
