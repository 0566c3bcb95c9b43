"""`probe encoders`: the list of encoders."""

from __future__ import annotations

import click


@click.command()
def encoders() -> None:
    """List the encoders: built-in, installed, and the forms of a specification."""
    from tabulate import tabulate

    from probing.encoders import summaries

    click.echo(tabulate(summaries(), ["--encoder", "what it is"]))
