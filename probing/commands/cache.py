"""`probe cache`: what commands keep on the disk, listed and deleted."""

from __future__ import annotations

from pathlib import Path

import click

from probing.commands import options
from probing.errors import ProbingError, escape_rows
from probing.storage import CHECKPOINTS, KINDS, VECTORS

TEXTS = [0, 1, 2, 5, 7]
"""Columns of the table of vectors that hold texts, even if these look like numbers."""

LONGEST_NAME = 50
"""Number of characters from which a name is shown without its middle."""


@click.group()
def cache() -> None:
    """List or delete vectors, models, shipped files, kernels, parses, parallel text and checkpoints that are kept."""


@cache.command("list")
@options.RESULTS
def list_cache(results: Path) -> None:
    """List the cached vectors, and below them everything else that is kept, the largest first.

    \b
    probe cache list
    probe cache list --results results
    """
    from tabulate import tabulate

    from probing.encoders import describe_cached
    from probing.experiments.cleanup import describe_leftovers

    headers = ["encoder", "task", "sentences", "dim", "layers", "kept as", "MB", "key"]
    vectors = escape_rows(describe_cached())
    options.show_fitted(tabulate(vectors, headers, floatfmt=".1f", disable_numparse=TEXTS if vectors else False))
    if others := escape_rows((*facts, _shorten(name)) for *facts, name in describe_leftovers(results)):
        headers = ["kind", "what", "MB", "folder"]
        options.show_fitted("\n" + tabulate(others, headers, floatfmt=".1f", disable_numparse=[0, 1, 3]))


def _shorten(name: str) -> str:
    """Return a long name without its middle, which tells a reader nothing; a program that reads it gets the whole."""
    if options.find_width() is None or len(name) <= LONGEST_NAME:
        return name
    return f"{name[: LONGEST_NAME // 2]}…{name[-LONGEST_NAME // 2 :]}"


@cache.command("clear")
@click.option("--encoder", help="Encoder whose vectors are deleted, by its name in `probe cache list`.")
@click.option(
    "--kind",
    "kinds",
    type=click.Choice(KINDS),
    multiple=True,
    help=f"Kind to delete. Can be repeated.  [default: all but {CHECKPOINTS}]",
)
@options.RESULTS
def clear_cache(encoder: str | None, kinds: tuple[str, ...], results: Path) -> None:
    """Delete what is kept and can be made again; results stay, and checkpoints stay unless they are named.

    \b
    probe cache clear
    probe cache clear --encoder bag-of-words
    probe cache clear --kind checkpoints --results results
    """
    from probing.encoders import clear_cached
    from probing.experiments.cleanup import clear_leftovers

    if encoder is not None and kinds not in ((), (VECTORS,)):
        raise ProbingError(f"--encoder goes with --kind {VECTORS}. Got --kind {' --kind '.join(kinds)}")
    chosen = (VECTORS,) if encoder is not None else kinds or [kind for kind in KINDS if kind != CHECKPOINTS]
    done = [clear_cached(encoder)] if VECTORS in chosen else []
    done.append(clear_leftovers(chosen, results))
    click.echo(f"{sum(count for count, _ in done)} entries deleted, {sum(size for _, size in done) / 1e6:.1f} MB")
