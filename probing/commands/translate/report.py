"""`probe translate report`: the paper's tables of translation, from a results folder."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from probing.commands import options
from probing.errors import ProbingError, as_lines, escape_json
from probing.report import FORMATS
from probing.report.translation import TABLES


@click.command()
@options.RESULTS
@click.option("--table", type=click.Choice(TABLES), help="Only table to show.  [default: all that have rows]")
@click.option("--test", metavar="NAME", help="Test set to show.  [default: the first]")
@click.option("--lowercase", is_flag=True, help="Add a column of BLEU without regard to case (lc).")
@click.option("--format", type=click.Choice(FORMATS), default="table", show_default=True, help="Format of the report.")
@click.option("--against", type=click.Choice(["paper"]), help="Add the paper's figures, and check its claims.")
@options.EXPLAIN
@click.option("-o", "--output", type=options.FILE, help="File to write instead of printing to the terminal.")
def report(
    results: Path,
    table: str | None,
    test: str | None,
    lowercase: bool,
    format: str,
    against: str | None,
    explain: bool,
    output: Path | None,
) -> None:
    """Print the paper's tables of translation: BLEU, parameters and speed.

    components: which attentions have an aggregator; layers: which layers; systems: which architectures and language
    pairs. Arrows mark what is significantly better or worse than Base. The page (html) also has the training curves,
    and the test sentences of two systems side by side.

    \b
    probe translate report
    probe translate report --table layers
    probe translate report --against paper
    probe translate report --test flickr2017 --format latex -o table.tex
    probe translate report --format html -o translation.html
    """
    from probing.report.translation.formats import load_and_render_translations

    if format == "html" and output is None and sys.stdout.isatty():
        raise ProbingError("--format html makes a page, not text for a terminal: add -o report.html")
    text = load_and_render_translations(
        results,
        format,
        table=table,
        against_paper=against == "paper",
        test=test,
        lowercase=lowercase,
        explain=explain,
        width=None if output else options.find_width(),
        on_damaged=options.warn,
    )
    if output is None:
        click.echo({"json": escape_json, "csv": as_lines}.get(format, str)(text))
    else:
        options.write(output, f"{text}\n".encode(errors="replace"))
