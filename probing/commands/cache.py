"""`probe cache`: the vectors that were computed."""

from __future__ import annotations

import click


@click.group()
def cache() -> None:
    """Look at or delete the vectors that were computed."""


@cache.command("list")
def list_cache() -> None:
    """List the cached vectors, the largest first."""
    from tabulate import tabulate

    from probing.vectors import describe_cached

    headers = ["encoder", "task", "sentences", "dim", "layers", "kept as", "MB", "key"]
    click.echo(tabulate(describe_cached(), headers, floatfmt=".1f"))


@cache.command("clear")
@click.option("--encoder", help="Only the vectors of this encoder, by the name that `probe cache list` shows.")
def clear_cache(encoder: str | None) -> None:
    """Delete cached vectors; results stay, and vectors can be computed again.

    \b
    probe cache clear
    probe cache clear --encoder bag-of-words
    """
    from probing.vectors import clear_cached

    count, size = clear_cached(encoder)
    click.echo(f"{count} entries deleted, {size / 1e6:.1f} MB")
