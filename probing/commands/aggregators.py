"""`probe aggregators`: the list of aggregators."""

from __future__ import annotations

import click

from probing.commands import options


@click.command()
def aggregators() -> None:
    """List the aggregators: built-in and installed."""
    from probing.registry import AGGREGATORS

    options.show_list(AGGREGATORS.summaries(), ["aggregator", "in tables", "what it is"])
