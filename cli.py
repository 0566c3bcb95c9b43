"""The `probe` command: options -> one call into probing -> print. No logic lives here."""

from __future__ import annotations

import sys
from typing import Any

import click

from probing import __version__
from probing.errors import ProbingError


class Main(click.Group):
    """A command group that turns a user's mistake into one line and exit code 2."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ProbingError as error:
            click.echo(f"probe: {error}", err=True)
            sys.exit(2)
        except BrokenPipeError:
            sys.stderr.close()
            sys.exit(0)


@click.group(cls=Main, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="probe")
def main() -> None:
    """What does this sentence encoder know about language?

    \b
    probe run --task all --aggregator all    train and score; skips what is already done
    probe report                             the comparison table across Base, Simple and EM
    """


@main.group()
def data() -> None:
    """Get, check, build and look at task files."""
