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


@data.command()
@click.option("--task", "tasks", multiple=True, default=["all"], show_default=True, help="A task, or all ten.")
@click.option("--data-dir", default="data/senteval", show_default=True, help="The folder that the files go to.")
@click.option("--mirror", metavar="URL", help="Where the .txt files are: http, https or file:. [default: GitHub]")
@click.option("--offline", is_flag=True, help="Download nothing: verify what is there, name what is missing.")
@click.option("--force", is_flag=True, help="Overwrite files that are not SentEval's.")
def fetch(tasks: tuple[str, ...], data_dir: str, mirror: str | None, offline: bool, force: bool) -> None:
    """Download SentEval's ten task files and verify each.

    What is there and right is not downloaded again; a broken download goes on where it stopped.

    \b
    probe data fetch
    probe data fetch --task Tense,WC --mirror https://example.org/probing
    probe data fetch --mirror file:///media/disk/probing
    probe data fetch --offline
    """
    from pathlib import Path

    from probing import tasks as table
    from probing.corpus import download

    try:
        download.fetch(
            table.get_tasks(tasks),
            Path(data_dir),
            mirror=mirror or download.MIRROR,
            offline=offline,
            force=force,
            report=click.echo,
        )
    except KeyboardInterrupt:
        click.echo("probe: interrupted; what has arrived is kept: run the command again to go on", err=True)
        sys.exit(130)


@data.command()
@click.argument("paths", nargs=-1, required=True, metavar="DIR_OR_FILE...")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
@click.option("--strict", is_flag=True, help="End with exit code 1 if there are warnings.")
def check(paths: tuple[str, ...], as_json: bool, strict: bool) -> None:
    """Verify task files: format, balance, duplicates, leakage.

    An error makes a file unusable (exit code 2), a warning makes its scores doubtful, a note is worth knowing.
    Of a folder, the files that bear a task's name are checked.

    \b
    probe data check data/senteval
    probe data check my_tasks/ my_own_task.txt --strict
    probe data check data/senteval --json
    """
    from pathlib import Path

    from probing.corpus import checking

    sys.exit(checking.check([Path(path) for path in paths], report=click.echo, as_json=as_json, strict=strict))
