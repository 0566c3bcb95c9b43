"""Files of trees become a folder of task files, as `probe data build` does it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from probing.corpus.builders.building import build, choose_tasks
from probing.corpus.builders.folder import check_output
from probing.corpus.builders.given import read_given
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
    **options: Any,
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
        "tokens": TOKENS[format],
        # Filled while the files are read.
        "bad_trees_skipped": skipped if skipped is not None else "none: a bad tree is an error",
    }
    taken = read_given(given, extended, tasks)
    with _Bars(sum(path.stat().st_size for path in paths)) as bars:
        sentences = _read(paths, format, skipped, bars)
        return build(sentences, output, given=taken, source=source, progress=bars.show, **options)


def _name(paths: Sequence[Path]) -> list[dict[str, str]]:
    return [{"name": path.name, "sha256": hash_file(path)[0]} for path in paths]


def _read(paths: Sequence[Path], format: Format, skipped: Counter[str] | None, bars: _Bars) -> Iterator[ParsedSentence]:
    for path in paths:
        yield from read_sentences(path, format, skipped=skipped, progress=bars.show_bytes)
        bars.end_file(path.stat().st_size)


class _Bars:
    """Progress bars on stderr, if it is a terminal, for the bytes read, the sentences sampled and the tasks written."""

    def __init__(self, total_bytes: int) -> None:
        console = Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        times = (TimeElapsedColumn(), TextColumn("left:"), TimeRemainingColumn())
        self._progress = Progress(*columns, *times, console=console, transient=True, disable=not console.is_terminal)
        self._reading = self._progress.add_task("reading (bytes)", total=total_bytes)
        self._stages: dict[str, Any] = {}
        self._bytes = 0

    def __enter__(self) -> _Bars:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def show_bytes(self, done: int) -> None:
        """Show the number of bytes read of the current file."""
        self._progress.update(self._reading, completed=self._bytes + done)

    def end_file(self, size: int) -> None:
        """Count a file as read."""
        self._bytes += size
        self.show_bytes(0)

    def show(self, stage: str, done: int, total: int | None) -> None:
        """Show the progress of a stage; reading, whose number of sentences is unknown, is shown by `show_bytes`."""
        if total is None:
            return
        if stage not in self._stages:
            self._stages[stage] = self._progress.add_task(stage, total=total)
        self._progress.update(self._stages[stage], completed=done)
