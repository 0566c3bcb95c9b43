"""Results folders are merged into one, for example after runs on several machines; contradictions are refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from probing.errors import ProbingError
from probing.results.record import Record, read_record
from probing.results.store import Store
from probing.storage import check_path, resolve_path


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
    new = [result for group in chosen.values() for path, result in group.values() if path.parent != output]
    for result in new:
        store.save(result)
    return Merged(len(new), sum(len(group) for group in chosen.values()) - len(new), damaged)


def _choose(group: dict[Path, tuple[Path, Record]], target: Path, path: Path, result: Record) -> None:
    """Keep one of a cell's records: the first that is finished, else the first; all must have the same numbers."""
    for other_path, other in group.values():
        if result.scores is not None and other.scores is not None and result.scores != other.scores:
            raise ProbingError(
                f"{other_path} and {path} are of the same cell and contradict each other (test accuracy "
                f"{other.scores.test_accuracy:.2f} and {result.scores.test_accuracy:.2f}). "
                "Nothing was written. Find out which is right, and remove the other"
            )
    if target not in group or (group[target][1].scores is None and result.scores is not None):
        group[target] = (path, result)
