"""`probe cache`: what commands keep on the disk, listed and deleted."""

from __future__ import annotations

from pathlib import Path

import click

from probing.commands import options
from probing.errors import ProbingError, escape_rows
from probing.storage import CHECKPOINTS, KINDS, VECTORS

TEXTS = [0, 1, 2, 5, 7]
"""Columns of the table of vectors that hold texts, even if these look like numbers."""


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

    from probing.display import leave_out_middle
    from probing.encoders import describe_cached
    from probing.experiments.cleanup import describe_leftovers

    headers = ["encoder", "task", "sentences", "dim", "layers", "kept as", "MB", "key"]
    vectors = escape_rows(describe_cached())
    options.show_fitted(tabulate(vectors, headers, floatfmt=".1f", disable_numparse=TEXTS if vectors else False))
    if others := escape_rows(
        (kind, what, f"{size:.1f}", name) for kind, what, size, name in describe_leftovers(results)
    ):
        headers = ["kind", "what", "MB", "folder"]
        room = options.find_room(others, headers)  # of a long name, a program gets the whole
        fitted = others if room is None else [[*rest, leave_out_middle(name, room)] for *rest, name in others]
        align = ("left", "left", "right", "left")
        options.show_fitted("\n" + tabulate(fitted, headers, disable_numparse=True, colalign=align))


@cache.command("clear")
@click.option("--encoder", help="Encoder whose vectors are deleted, by its name in `probe cache list`.")
@click.option(
    "--kind",
    "kinds",
    type=click.Choice(KINDS),
    metavar="KIND",
    multiple=True,
    help=f"Kind to delete: {', '.join(KINDS)}. Can be repeated. [default: all but {CHECKPOINTS}]",
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
