"""`probe encoders`: the list of encoders."""

from __future__ import annotations

import click

from probing.commands import options


@click.command()
def encoders() -> None:
    """List the encoders: built-in, installed, and the forms of a specification."""
    from probing.encoders import summaries

    options.show_list(summaries(), ["--encoder", "what it is"])
