"""The choice of the data for a run: SentEval's files, an embedded data set, a folder of task files, or own files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from probing.config import DEFAULT_PRESETS
from probing.errors import ProbingError
from probing.storage import parse_json, read_text
from probing.tasks import COUNTERPARTS, TASKS, Task, get_task, get_tasks, is_spelling, own_task

T = TypeVar("T")

DATA_DIR = Path("data/senteval")
"""Default folder of SentEval's files."""

EMBEDDED = ("mini", "midi")
"""Names of the embedded data sets."""
RESERVED_NAMES = ("", "senteval", *EMBEDDED, "own")
"""Names of data sets that a user's folder must not be called by in results."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A data set and the reason why it was chosen."""

    name: str
    files: Mapping[Task, Path]
    """Task -> its file."""
    reason: str
    preset: str
    """Preset for this data, unless the user names another."""
    datasheet: str | None = None
    """Identity of the data according to the folder's datasheet."""


def choose_source(tasks: Sequence[str], *, data: str | None = None, data_dir: Path | None = None) -> Source:
    """Return the requested data set; by default, SentEval's files if they exist, and else `mini`."""
    wanted = get_tasks(tasks)
    folder = data_dir or DATA_DIR
    if data_dir is not None and data not in (None, "senteval"):
        raise ProbingError(f"--data-dir says where SentEval's files are; it does not go with --data {data}")
    if data == "senteval" or data_dir is not None:
        return _senteval(wanted, folder, "asked for")
    if data in EMBEDDED:
        return _embedded(data, wanted, "asked for")
    if data is not None:
        parts = [part.strip().lower() for name in tasks for part in name.split(",")]
        return _folder(wanted, Path(data), everything="all" in parts)
    if not any((folder / task.file_name).is_file() for task in TASKS):
        return _embedded("mini", wanted, f"no SentEval files in {folder}; `probe data fetch` gets them")
    return _senteval(wanted, folder, f"its files are in {folder}")


def own_files(paths: Iterable[Path]) -> Source:
    """Return a user's own task files as a data set."""
    files: dict[Task, Path] = {}
    for path in paths:
        task = get_task(path.stem) if is_spelling(path.stem) else own_task(path)
        if task.name in [known.name for known in files]:
            raise ProbingError(f"--task-file {path}: there is another file for task {task.name!r}. Rename one of them")
        files[task] = path
    return Source(
        name="own", files=files, reason=f"task files {', '.join(str(path) for path in files.values())}", preset="small"
    )


def _senteval(wanted: Sequence[Task], folder: Path, reason: str) -> Source:
    files = {task: folder / task.file_name for task in wanted}
    missing = [str(path) for path in files.values() if not path.is_file()]
    if missing:
        raise ProbingError(
            f"SentEval's files are not all there: missing {', '.join(missing)}. "
            "Run `probe data fetch`, name the tasks that are there with --task, or use --data mini"
        )
    return Source(name="senteval", files=files, reason=reason, preset=DEFAULT_PRESETS["senteval"])


def _embedded(name: str, wanted: Sequence[Task], reason: str) -> Source:
    from probing.corpus.mini import ensure_embedded

    odd = [task.name for task in wanted if task in COUNTERPARTS]
    if odd:
        raise ProbingError(f"data set {name} has no task {', '.join(odd)}: that needs a dependency treebank")
    folder = ensure_embedded(name)
    return Source(
        name=name,
        files={task: folder / task.file_name for task in wanted},
        reason=reason,
        preset=DEFAULT_PRESETS[name],
        datasheet=read_datasheet_identity(folder),
    )


def _folder(wanted: Sequence[Task], folder: Path, *, everything: bool) -> Source:
    if not folder.is_dir():
        known = f"senteval, {', '.join(EMBEDDED)}, or a folder"
        raise ProbingError(f"--data {folder}: there is no such data set or folder. Known: {known}")
    if everything:
        wanted = [*wanted, *(task for task in COUNTERPARTS if task not in wanted)]
    files = {task: path for task in wanted if (path := folder / task.file_name).is_file()}
    missing = [task for task in wanted if task not in files and not (everything and task in COUNTERPARTS)]
    if missing and not everything:
        raise ProbingError(f"--data {folder}: no file {', '.join(task.file_name for task in missing)}")
    if not files:
        names = ", ".join(task.file_name for task in TASKS)
        raise ProbingError(f"--data {folder}: no task file there. Expected some of {names}")
    reason = "asked for" + (f"; it has no {', '.join(task.name for task in missing)}" if missing else "")
    name = folder.resolve().name
    return Source(
        # A folder that happens to be called mini is not the embedded data set, and no table may say so.
        name=f"folder {name}" if name.lower() in RESERVED_NAMES else name,
        files=files,
        reason=reason,
        preset="small",
        datasheet=read_datasheet_identity(folder),
    )


def read_datasheet_identity(folder: Path) -> str | None:
    """Return the identity that the datasheet of a folder states, or None without a datasheet."""
    return read_datasheet(folder, _pick_identity)


def _pick_identity(sheet: Any) -> str:
    if not isinstance(sheet["identity"], str):
        raise TypeError("the identity is a text")
    return sheet["identity"]


def read_datasheet(folder: Path, pick: Callable[[Any], T]) -> T | None:
    """Return what a function picks from the datasheet of a folder, or None without a datasheet."""
    path = folder / "datasheet.json"
    if not path.is_file():
        return None
    try:
        return pick(parse_json(read_text(path)))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ProbingError(f"{path}: not a datasheet of `probe data build`. Remove it or build again") from None
