"""`probe cache`: what was computed or fetched and is kept."""

from __future__ import annotations

from pathlib import Path

import click

from probing.errors import ProbingError

RESULTS = click.option(
    "--results",
    type=click.Path(path_type=Path, file_okay=False),
    default="results",
    show_default=True,
    help="The folder whose checkpoints are meant.",
)
KINDS = ("vectors", "explained", "shipped", "checkpoints")


@click.group()
def cache() -> None:
    """Look at or delete vectors, models, shipped files and checkpoints that are kept."""


@cache.command("list")
@RESULTS
def list_cache(results: Path) -> None:
    """List the cached vectors, and below them all else that is kept, the largest first.

    \b
    probe cache list
    probe cache list --results results
    """
    from tabulate import tabulate

    from probing.leftovers import describe_leftovers
    from probing.vectors import describe_cached

    headers = ["encoder", "task", "sentences", "dim", "layers", "kept as", "MB", "key"]
    click.echo(tabulate(describe_cached(), headers, floatfmt=".1f"))
    if rows := describe_leftovers(results):
        click.echo("\n" + tabulate(rows, ["kind", "what", "MB", "folder"], floatfmt=".1f"))


@cache.command("clear")
@click.option("--encoder", help="Only the vectors of this encoder, by the name that `probe cache list` shows.")
@click.option(
    "--kind",
    "kinds",
    type=click.Choice(KINDS),
    multiple=True,
    help="Only this kind. Can be repeated.  [default: all but checkpoints]",
)
@RESULTS
def clear_cache(encoder: str | None, kinds: tuple[str, ...], results: Path) -> None:
    """Delete what is kept and can be made again; results stay, and checkpoints unless they are named.

    \b
    probe cache clear
    probe cache clear --encoder bag-of-words
    probe cache clear --kind checkpoints --results results
    """
    from probing.leftovers import clear_leftovers
    from probing.vectors import clear_cached

    if encoder is not None and kinds not in ((), ("vectors",)):
        raise ProbingError(f"--encoder goes with --kind vectors. Got --kind {' --kind '.join(kinds)}")
    chosen = ("vectors",) if encoder is not None else kinds or KINDS[:-1]
    done = [clear_cached(encoder)] if "vectors" in chosen else []
    done.append(clear_leftovers(chosen, results))
    click.echo(f"{sum(count for count, _ in done)} entries deleted, {sum(size for _, size in done) / 1e6:.1f} MB")
