"""Files of trees become a folder of task files, as `probe data build` does it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Unpack

from rich import progress
from rich.console import Console

from probing.corpus.builders.building import BuildOptions, build_parts, choose_tasks
from probing.corpus.builders.folder import check_output
from probing.corpus.builders.given import read_given
from probing.corpus.builders.survey import CorpusPart, OnProgress, count_part
from probing.corpus.datasheet import Datasheet
from probing.corpus.processes import count_cores, map_in_order
from probing.corpus.readers import Format, divide, parse_lines, read_lines
from probing.storage import hash_file

TOKENS = {
    "penn": "as in SentEval's files: Penn's `did n't` is `didn 't`, its quotes are \", its brackets are brackets",
    "conllu": "words as written, split at clitics where this changes no letter; `did n't` is `didn 't`",
}
"""Format -> description of its tokens in the datasheet."""
LARGE = 10_000_000
"""Size of the files, in bytes, from which on several processes are started by default."""


def build_files(
    paths: Sequence[Path],
    format: Format,
    output: Path,
    *,
    skip_bad: bool = False,
    force: bool = False,
    given: Sequence[Path] = (),
    extended: Sequence[Path] = (),
    jobs: int | None = None,
    **options: Unpack[BuildOptions],
) -> Datasheet:
    """Build tasks from files of trees, with progress bars on a terminal; `options` are those of `build_parts`."""
    check_output(output, force)
    # Before the reading, so that a wrong name is found at once.
    tasks = choose_tasks(options.get("tasks"), format == "conllu")
    source = {
        "files": _name(paths),
        **({"given": _name(given)} if given else {}),
        **({"extended": _name(extended)} if extended else {}),
        "reader": format,
        "tokens": TOKENS[format],
        "bad_trees_skipped": {} if skip_bad else "none: a bad tree is an error",
    }
    taken = read_given(given, extended, tasks)
    count = partial(_count_stretch, format=format, skip_bad=skip_bad, seed=options.get("seed", 0))
    jobs = choose_jobs(jobs, sum(path.stat().st_size for path in paths))
    with _show_progress() as show:
        parts = map_in_order(count, _divide(paths, format, show), jobs=jobs)
        return build_parts(parts, output, given=taken, source=source, jobs=jobs, progress=show, **options)


def choose_jobs(jobs: int | None, size: int) -> int:
    """Return the number of processes: as asked for, or one for each core if there is enough to do for them."""
    return jobs or (count_cores() if size >= LARGE else 1)


def _name(paths: Sequence[Path]) -> list[dict[str, str]]:
    return [{"name": path.name, "sha256": hash_file(path)[0]} for path in paths]


Stretch = tuple[Path, list[tuple[int, str]]]
"""A file, and some lines of it that end between two trees."""


def _divide(paths: Sequence[Path], format: Format, show: OnProgress) -> Iterator[Stretch]:
    total, before = sum(path.stat().st_size for path in paths), 0
    for path in paths:

        def show_bytes(done: int, before: int = before) -> None:
            show("reading (bytes)", before + done, total)

        show_bytes(0)
        for lines in divide(read_lines(path, show_bytes), format):
            yield path, lines
        before += path.stat().st_size


def _count_stretch(stretch: Stretch, *, format: Format, skip_bad: bool, seed: int) -> CorpusPart:
    path, lines = stretch
    skipped: Counter[str] | None = Counter() if skip_bad else None
    return count_part(parse_lines(path, lines, format, skipped=skipped), seed=seed, skipped=skipped)


@contextmanager
def _show_progress() -> Iterator[OnProgress]:
    """Yield a function that shows the progress of each stage on stderr, if it is a terminal."""
    console = Console(stderr=True)
    columns = (progress.TextColumn("{task.description}"), progress.BarColumn(), progress.MofNCompleteColumn())
    times = (progress.TimeElapsedColumn(), progress.TextColumn("left:"), progress.TimeRemainingColumn())
    bars = progress.Progress(*columns, *times, console=console, transient=True, disable=not console.is_terminal)
    rows: dict[str, progress.TaskID] = {}

    def show(stage: str, done: int, total: int | None) -> None:
        if total is None:  # the number of sentences is unknown; `_read` shows the bytes
            return
        if stage not in rows:
            rows[stage] = bars.add_task(stage, total=total)
        bars.update(rows[stage], completed=done)

    with bars:
        yield show
