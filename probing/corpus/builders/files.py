"""Files of trees become a folder of task files, as `probe data build` does it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar, Unpack

from rich import progress
from rich.console import Console

from probing.corpus.builders.building import BuildOptions, build_parts, choose_tasks
from probing.corpus.builders.folder import check_output
from probing.corpus.builders.given import read_given
from probing.corpus.builders.survey import CorpusPart, OnProgress, count_part
from probing.corpus.datasheet import Datasheet
from probing.corpus.parsers import (
    Splitter,
    TextPiece,
    ends_like_a_sentence,
    identify_parser,
    learn_abbreviations,
    read_parse,
    read_pieces,
)
from probing.corpus.processes import count_cores, map_in_order
from probing.corpus.readers import Format, Kind, ParsedSentence, divide, parse_lines, read_lines
from probing.storage import hash_file

T = TypeVar("T")

TOKENS = {
    "penn": "as in SentEval's files: Penn's `did n't` is `didn 't`, its quotes are \", its brackets are brackets",
    "conllu": "words as written, split at clitics where this changes no letter; `did n't` is `didn 't`",
    "text": "split by the parser; `did n't` is `didn 't`",
    "words": "words, numbers and punctuation marks, split by rules for all languages; `did n't` is `didn 't`",
}
"""Format -> description of its tokens in the datasheet."""
LARGE = 10_000_000
"""Size of the files, in bytes, from which on several processes are started by default."""
LARGE_UNPARSED = 200_000
"""The same for raw text that is to be parsed."""

Corpus = Literal["penn", "conllu", "text"]
"""Format of the files of a corpus."""
Stretch = tuple[Path, list[tuple[int, str]]]
"""A file, and some lines of it that end between two trees."""


def build_files(
    paths: Sequence[Path],
    format: Corpus,
    output: Path,
    *,
    parser: str | None = None,
    skip_bad: bool = False,
    force: bool = False,
    given: Sequence[Path] = (),
    extended: Sequence[Path] = (),
    jobs: int | None = None,
    **options: Unpack[BuildOptions],
) -> Datasheet:
    """Build tasks from files, with progress bars on a terminal; `options` are those of `build_parts`.

    parser: specification of the parser for raw text; without one, the tasks that need no parse are built.
    """
    check_output(output, force)
    # Before the reading, so that a wrong name is found at once.
    kind: Kind = "constituents" if format == "penn" else "words" if format == "text" and not parser else "dependencies"
    tasks = choose_tasks(options.get("tasks"), kind)
    identity = None if parser is None else identify_parser(parser)
    source: dict[str, Any] = {
        "files": _name(paths),
        **({"given": _name(given)} if given else {}),
        **({"extended": _name(extended)} if extended else {}),
        "reader": format,
        **({"parser": identity or "none"} if format == "text" else {}),
        "tokens": f"{TOKENS['words' if kind == 'words' else format]}; apostrophes are straight",
    }
    if format != "text":
        source["bad_trees_skipped"] = {} if skip_bad else "none: a bad tree is an error"
    taken = read_given(given, extended, tasks)
    seed = options.get("seed", 0)
    size = sum(path.stat().st_size for path in paths)
    jobs = jobs or (count_cores() if size >= (LARGE if identity is None else LARGE_UNPARSED) else 1)
    with _show_progress() as show:
        if format != "text":
            count_lines = partial(_count_lines, format=format, skip_bad=skip_bad, seed=seed)
            stretches = _read_all(paths, lambda path, tell: _divide(path, format, tell), show)
            parts = map_in_order(count_lines, stretches, jobs=jobs)
        else:
            count_text = partial(_count_text, split=_choose_split(paths, parser, identity), seed=seed)
            parts = map_in_order(count_text, _read_all(paths, read_pieces, show), jobs=jobs)
        return build_parts(parts, output, given=taken, source=source, jobs=jobs, progress=show, **options)


def _name(paths: Sequence[Path]) -> list[dict[str, str]]:
    return [{"name": path.name, "sha256": hash_file(path)[0]} for path in paths]


def _read_all(
    paths: Sequence[Path], read: Callable[[Path, Callable[[int], None]], Iterator[T]], show: OnProgress
) -> Iterator[T]:
    """Yield what a function reads from each file, and show the progress in bytes."""
    total, before = sum(path.stat().st_size for path in paths), 0
    for path in paths:

        def show_bytes(done: int, before: int = before) -> None:
            show("reading (bytes)", before + done, total)

        show_bytes(0)
        yield from read(path, show_bytes)
        before += path.stat().st_size


def _divide(path: Path, format: Format, tell: Callable[[int], None]) -> Iterator[Stretch]:
    return ((path, lines) for lines in divide(read_lines(path, tell), format))


def _count_lines(stretch: Stretch, *, format: Format, skip_bad: bool, seed: int) -> CorpusPart:
    path, lines = stretch
    skipped: Counter[str] | None = Counter() if skip_bad else None
    return count_part(parse_lines(path, lines, format, skipped=skipped), seed=seed, skipped=skipped)


Split = Callable[[TextPiece], Iterable[ParsedSentence]]
"""Function that returns the sentences of a piece of raw text."""


def _choose_split(paths: Sequence[Path], parser: str | None, identity: str | None) -> Split:
    if parser is not None and identity is not None:
        return partial(_split_by_parser, parser=parser, identity=identity)
    texts = (text for path in paths for piece in read_pieces(path) for text in piece.paragraphs)
    return Splitter(learn_abbreviations(texts)).split


def _split_by_parser(piece: TextPiece, *, parser: str, identity: str) -> Iterator[ParsedSentence]:
    lines = read_parse(piece, parser, identity).splitlines(keepends=True)
    return parse_lines(piece.path, enumerate(lines, 1), "conllu", skipped=Counter())


def _count_text(piece: TextPiece, *, split: Split, seed: int) -> CorpusPart:
    return count_part(split(piece), seed=seed, refuse=_refuse)


def _refuse(sentence: ParsedSentence) -> str | None:
    ends = ends_like_a_sentence(sentence.tokens)
    return None if ends else "without final punctuation, as headings and broken lines"


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
