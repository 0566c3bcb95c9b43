"""`probe aggregators`: the list of aggregators."""

from __future__ import annotations

import click


@click.command()
def aggregators() -> None:
    """List the aggregators: built-in and installed."""
    from tabulate import tabulate

    from probing.registry import AGGREGATORS

    click.echo(tabulate(AGGREGATORS.summaries(), ["aggregator", "in tables", "what it is"]))
