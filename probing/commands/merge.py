"""`probe merge`: results folders become one."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from probing.commands import options
from probing.errors import as_one_line


@click.command()
@click.argument("folders", nargs=-1, required=True, type=options.FOLDER, metavar="DIR...")
@click.option("-o", "--output", type=options.FOLDER, required=True, help="Folder to which all records are written.")
def merge(folders: tuple[Path, ...], output: Path) -> None:
    """Join results folders, such as those of runs on several machines.

    If two records of one cell have different numbers, both files are named and nothing is written (exit code 2).
    A damaged file is named and left out (exit code 1). The texts and the model of a translation come with its record.

    \b
    probe merge node1/results node2/results --output results
    probe merge shard-*/ --output results && probe report
    """
    from probing.results import merge as merge_folders

    merged = merge_folders(folders, output, on_damaged=options.warn)
    options.show_fitted(
        f"{as_one_line(str(output))}: {merged.written} records written, {merged.there} were there already"
    )
    sys.exit(1 if merged.damaged else 0)
