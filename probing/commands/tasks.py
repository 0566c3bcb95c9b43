"""`probe tasks`: the list of tasks."""

from __future__ import annotations

import click

from probing.commands import options

WIDE = 130
"""Width of a terminal in which files and other names have columns of their own."""


@click.command()
def tasks() -> None:
    """List the probing tasks."""
    from probing.tasks import COUNTERPARTS, TASKS

    headers = ["task", "family", "classes", "file", "also called", "asks for"]
    rows = [
        (task.name, task.family, task.classes or "", f"{task.file}.txt", _list_others(task.spellings), task.asks)
        for task in TASKS + COUNTERPARTS
    ]
    if (width := options.find_width()) is None or width >= WIDE:
        options.show_list(rows, headers)
    else:
        told = [(*row, f"{asks} ({file}{names and f'; also {names}'})") for *row, file, names, asks in rows]
        options.show_list(told, [*headers[:3], headers[-1]])


def _list_others(spellings: tuple[str, ...]) -> str:
    """Return the names of a task in SentEval and in its paper that differ from its name here."""
    name, *others, _ = spellings
    return ", ".join(dict.fromkeys(other for other in others if other != name))
