"""`probe translate text`: raw text in, its translation out, line by line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from probing.commands import options
from probing.errors import ProbingError, as_one_line

if TYPE_CHECKING:
    from probing.translation.translator import Translation

LONGEST = 20_000
"""Most bytes of a line."""


@click.command()
@click.argument("file", type=options.FILE, required=False)
@click.option("--model", type=options.PathType(path_type=Path), required=True, help="Record of a run, or its folder.")
@click.option("--beam", type=options.COUNT, help="Hypotheses kept at each step. [default: as in the run]")
@click.option("--alpha", type=click.FloatRange(0, 10), help="Exponent of the length penalty. [default: as in the run]")
@click.option("--n-best", type=options.COUNT, default=1, show_default=True, help="Translations of each line.")
@click.option("--scores", is_flag=True, help="Print score (log probability by length penalty) and tab before each.")
@click.option("--aggregator", help="Code of an aggregator that is a plug-in: module:Name or file.py:Name.")
@click.option("--batch", type=options.COUNT, default=64, show_default=True, help="Most lines translated together.")
@options.DEVICE
def text(
    file: Path | None,
    model: Path,
    beam: int | None,
    alpha: float | None,
    n_best: int,
    scores: bool,
    aggregator: str | None,
    batch: int,
    device: str,
) -> None:
    """Translate a file, plain or packed, or standard input, to standard output.

    Each line is a sentence; each translation is a line, in the same order, printed as soon as it is there. Lines of
    standard input are translated as they come. With --n-best each line has so many translations, and an empty line
    after them.

    \b
    echo "A man rides a horse." |
        probe translate text --model results/….json
    probe translate text --model results/….translator news.en > news.de
    probe translate text --model results/….translator \\
        --n-best 4 --scores --beam 8 news.en
    """
    from probing.training import pick_device
    from probing.translation.translator import load_translator

    search = {name: value for name, value in (("beam", beam), ("alpha", alpha)) if value is not None}
    translator = load_translator(model, pick_device(device), aggregator=aggregator, search=search)
    output = sys.stdout  # a progress bar would take what is printed to the new sys.stdout that it makes
    with _opening(file) as (opened, tell_progress):
        for lines in _read_groups(opened, str(file or "standard input"), batch):
            _print(translator.translate(lines, n_best=n_best), output, scores=scores, blank=n_best > 1)
            tell_progress(sum(len(line.encode()) + 1 for line in lines))


@contextmanager
def _opening(path: Path | None) -> Iterator[tuple[Any, Callable[[int], None]]]:
    """Provide the text, unpacked, and a function that takes the number of bytes that have been translated now.

    How much of a file is done is shown, unless the translations are themselves printed to the terminal.
    """
    from probing.display import Display
    from probing.storage import open_file, unpack

    if path is None:
        yield sys.stdin.buffer, lambda count: None
        return
    with open_file(path) as file:  # reading it once takes no time beside translating it
        content, done = unpack(file, path), 0
        size = sum(map(len, iter(lambda: content.read(1 << 20), b"")))
    display = Display(verbosity=-1 if sys.stdout.isatty() else 0)
    with open_file(path) as file, display.measuring(f"translating {path.name}, percent") as show:

        def tell(count: int) -> None:
            nonlocal done
            done += count
            show(min(1.0, done / size))

        yield unpack(file, path), tell


def _print(found: Sequence[Sequence[Translation]], output: IO[str], *, scores: bool, blank: bool) -> None:
    for translations in found:
        for translation in translations:
            score = f"{translation.score:.4f}\t" if scores else ""
            click.echo(f"{score}{as_one_line(translation.text)}", file=output)
        if blank:
            click.echo(file=output)
    output.flush()


def _read_groups(file: Any, name: str, count: int) -> Iterator[list[str]]:
    """Yield lines some at a time: those that are there without waiting, but no more than `count`."""
    rest, number = b"", 0
    read = getattr(file, "read1", file.read)
    while chunk := read(1 << 16):
        *lines, rest = (rest + chunk).split(b"\n")
        for start in range(0, len(lines), count):
            yield [_decode(line, name, number + place) for place, line in enumerate(lines[start : start + count], 1)]
            number += len(lines[start : start + count])
        if len(rest) > LONGEST:
            raise _refuse_long(name, number + 1)
    if rest:
        yield [_decode(rest, name, number + 1)]


def _decode(line: bytes, name: str, number: int) -> str:
    if len(line) > LONGEST:
        raise _refuse_long(name, number)
    try:
        return line.removesuffix(b"\r").decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError:
        raise ProbingError(f"{name}:{number}: not UTF-8. Convert the text first") from None


def _refuse_long(name: str, number: int) -> ProbingError:
    return ProbingError(f"{name}:{number}: a line of more than {LONGEST:,} bytes. Put each sentence on its own line")
