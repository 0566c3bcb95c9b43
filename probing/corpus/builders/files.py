"""Files of trees become a folder of task files, as `probe data build` does it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Unpack

from rich import progress
from rich.console import Console

from probing.corpus.builders.building import BuildOptions, build, choose_tasks
from probing.corpus.builders.folder import check_output
from probing.corpus.builders.given import read_given
from probing.corpus.builders.survey import OnProgress
from probing.corpus.datasheet import Datasheet
from probing.corpus.readers import Format, ParsedSentence, read_sentences
from probing.storage import hash_file

TOKENS = {
    "penn": "as in SentEval's files: Penn's `did n't` is `didn 't`, its quotes are \", its brackets are brackets",
    "conllu": "words as written, split at clitics where this changes no letter; `did n't` is `didn 't`",
}
"""Format -> description of its tokens in the datasheet."""


def build_files(
    paths: Sequence[Path],
    format: Format,
    output: Path,
    *,
    skip_bad: bool = False,
    force: bool = False,
    given: Sequence[Path] = (),
    extended: Sequence[Path] = (),
    **options: Unpack[BuildOptions],
) -> Datasheet:
    """Build tasks from files of trees, with progress bars on a terminal; `options` are passed to `build`."""
    check_output(output, force)
    # Before the reading, so that a wrong name is found at once.
    tasks = choose_tasks(options.get("tasks"), format == "conllu")
    skipped: Counter[str] | None = Counter() if skip_bad else None
    source = {
        "files": _name(paths),
        **({"given": _name(given)} if given else {}),
        **({"extended": _name(extended)} if extended else {}),
        "reader": format,
        "tokens": f"{TOKENS[format]}; apostrophes are straight",
        # Filled while the files are read.
        "bad_trees_skipped": skipped if skipped is not None else "none: a bad tree is an error",
    }
    taken = read_given(given, extended, tasks)
    with _show_progress() as show:
        sentences = _read(paths, format, skipped, show)
        return build(sentences, output, given=taken, source=source, progress=show, **options)


def _name(paths: Sequence[Path]) -> list[dict[str, str]]:
    return [{"name": path.name, "sha256": hash_file(path)[0]} for path in paths]


def _read(
    paths: Sequence[Path], format: Format, skipped: Counter[str] | None, show: OnProgress
) -> Iterator[ParsedSentence]:
    total, before = sum(path.stat().st_size for path in paths), 0
    for path in paths:

        def show_bytes(done: int, before: int = before) -> None:
            show("reading (bytes)", before + done, total)

        show_bytes(0)
        yield from read_sentences(path, format, skipped=skipped, progress=show_bytes)
        before += path.stat().st_size


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
