"""`probe compare`: two models side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from probing.commands import options


@click.command()
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@options.RESULTS
@options.FILTERS
@options.EXPLAIN
@options.AS_JSON
def compare(first: str, second: str, results: Path, explain: bool, as_json: bool, **filters: Any) -> None:
    """Compare two models, task by task and overall.

    A and B are models by their names in `probe report`, or by their registered names. Differences are A - B, paired on
    the test sentences, with 95 % intervals and p-values.

    \b
    probe compare em base
    probe compare "EM (iterations=2)" "EM (iterations=3)"
    probe compare em simple --json
    """
    from probing.report.comparison import load_and_compare
    from probing.report.selection import Selection

    show = options.show_json if as_json else options.show
    text = load_and_compare(
        results,
        first,
        second,
        as_json=as_json,
        selection=Selection(**filters),
        explain=explain,
        width=options.find_width(),
        on_damaged=options.warn,
    )
    show(text)
