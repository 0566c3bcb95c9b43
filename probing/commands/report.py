"""`probe report`: the comparison table of a results folder."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from probing.commands import options
from probing.errors import ProbingError, as_lines, escape_json
from probing.report import FORMATS

if TYPE_CHECKING:
    from probing.report.selection import Selection


@click.command()
@options.RESULTS
@click.option("--format", type=click.Choice(FORMATS), default="table", show_default=True, help="Format of the report.")
@click.option("--compare", "reference", metavar="MODEL", help="Mark figures that differ significantly from this model.")
@click.option("--against", type=click.Choice(["paper"]), help="Add the paper's figures, and check its claims.")
@options.BY
@click.option("--dev", is_flag=True, help="Show dev accuracies, by which settings are chosen (with --by).")
@options.FILTERS
@options.EXPLAIN
@click.option("-o", "--output", type=options.FILE, help="File to write instead of printing to the terminal.")
def report(
    results: Path,
    format: str,
    reference: str | None,
    against: str | None,
    by: tuple[str, ...],
    dev: bool,
    explain: bool,
    output: Path | None,
    **filters: Any,
) -> None:
    """Print the comparison table across Base, Simple, EM and all other models found.

    Each figure has its 95 % interval. The best of a column and all that are not significantly worse are bold.

    \b
    probe report
    probe report --compare base
    probe report --against paper --explain
    probe report --task Tense,SubNm --model em --model base
    probe report --format latex -o table.tex
    probe report --format csv | cut -d, -f5,7,11
    probe report --format html -o report.html
    probe report --by model.num_capsules --by model.iterations
    probe report --by training.learning_rate --dev
    """
    from probing.report.formats import load_and_render
    from probing.report.selection import Selection

    if format == "html" and output is None and sys.stdout.isatty():
        raise ProbingError("--format html makes a page, not text for a terminal: add -o report.html")
    if by:
        if reference or against:
            raise ProbingError("--by shows accuracies against a setting. It does not go with --compare or --against")
        _report_sweep(results, format, by, output, Selection(**filters), dev=dev)
        return
    if dev:
        raise ProbingError("--dev goes with --by SECTION.KEY: a comparison of models is on test sentences")
    text = load_and_render(
        results,
        format,
        against_paper=against == "paper",
        reference=reference,
        colour=output is None and sys.stdout.isatty(),
        selection=Selection(**filters),
        explain=explain,
        width=None if output else options.find_width(),
        on_damaged=options.warn,
    )
    _show(text, format, output)


def _report_sweep(
    results: Path, format: str, by: tuple[str, ...], output: Path | None, selection: Selection, *, dev: bool
) -> None:
    """Print accuracy against some settings."""
    from probing.report.sweeps import load_and_render_sweep

    width = None if output else options.find_width()
    text = load_and_render_sweep(
        results, format, by, dev=dev, selection=selection, width=width, on_damaged=options.warn
    )
    _show(text, format, output)


def _show(text: str, format: str, output: Path | None) -> None:
    """Print a report, or write it to a file."""
    if output is None:
        # The other formats hold no control characters, except those that make text bold.
        click.echo({"json": escape_json, "csv": as_lines}.get(format, str)(text))
    else:
        options.write(output, f"{text}\n".encode(errors="replace"))
