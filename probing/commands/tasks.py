"""`probe tasks`: the list of tasks."""

from __future__ import annotations

import click


@click.command()
def tasks() -> None:
    """List the probing tasks."""
    from tabulate import tabulate

    from probing.tasks import COUNTERPARTS, TASKS

    rows = [
        (task.name, task.family, task.classes or "", f"{task.file}.txt", ", ".join(task.spellings[1:3]), task.asks)
        for task in TASKS + COUNTERPARTS
    ]
    click.echo(tabulate(rows, ["task", "family", "classes", "file", "also called", "asks for"]))
