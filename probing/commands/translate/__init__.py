"""`probe translate`: the paper's other half, a module a command."""

from __future__ import annotations

import click

from probing.commands.translate.describe import describe
from probing.commands.translate.report import report
from probing.commands.translate.run import run
from probing.commands.translate.text import text


@click.group()
def translate() -> None:
    """Translation by an encoder-decoder whose attentions have any aggregator.

    \b
    probe translate run --data multi30k/ --pair en-de --table components
    probe translate report --against paper
    probe translate text --model results/….translator news.en
    probe translate describe --preset base --aggregator em --apply enc-self
    """


for command in (run, report, text, describe):
    translate.add_command(command)
