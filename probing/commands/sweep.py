"""`probe sweep`: train and score models with several values of some settings."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from probing.commands import measuring, options
from probing.errors import ProbingError


@click.command()
@click.option(
    "--set",
    "settings",
    multiple=True,
    required=True,
    metavar="SECTION.KEY=V1,V2,...",
    help="Values of a setting; a single one is the same in all cells. Can be repeated.",
)
@click.option("--zip", "zipped", is_flag=True, help="Combine the first values, the second ones, …, not all with all.")
@measuring.MODELS
@options.CONFIG
@measuring.RETRY
@options.SEEDS
@options.DEVICE
@options.RESULTS
@options.EXECUTION
def sweep(settings: tuple[str, ...], zipped: bool, **given: Any) -> None:
    """Train and score models with several values of some settings: all combinations, or a list of them.

    The cells are as those of `probe run`: recorded ones are skipped, and the same command goes on after an
    interruption. `probe report --by SETTING` shows accuracy against the setting, `probe plot sweep` draws it.
    Values are separated by commas. The items of a value that is itself a list are joined by +, and `empty` is a list
    without items: model.layers_with_aggregator=1,1+2,empty has three values.

    \b
    probe sweep --set model.num_capsules=8,32,64 --set model.iterations=1,2,3 \\
        --task Tense --aggregator em
    probe sweep --set training.sentences=500,1000,2000,0 --task SubNm \\
        --aggregator all --baselines --seeds 3
    probe sweep --set model.model_dim=32,64 --set model.num_capsules=32,64 --zip \\
        --aggregator simple
    probe sweep --set model.layers_with_aggregator=1,1+2,empty --task TrDep \\
        --aggregator em --plan
    probe report --by model.num_capsules --by model.iterations
    probe plot sweep --by training.sentences -o sweep.pdf
    """
    from probing.experiments.sweeping import list_variants

    fixed, variants = list_variants(settings, zipped=zipped)
    swept = [change.partition("=")[0] for change in variants[0]]
    measuring.measure(given, settings=fixed, variants=variants, show_outcome=partial(_show_outcome, swept))


def _show_outcome(swept: Sequence[str], cells: Sequence[Any], results: Path) -> None:
    """Print the table of the sweep's own cells; elsewhere than in a terminal, name the command that shows it."""
    from probing.report.sweeps import render_sweep
    from probing.results import find_record

    width = options.find_width()
    found = [find_record(cell.record_path(results), cell.key) for cell in cells] if width else []
    records = [record for record in found if record is not None]
    if any(record.identity.measure == "accuracy" and record.scores for record in records):
        try:
            options.show(f"\n{render_sweep(records, swept, 'table', width=width)}")
            return
        except ProbingError as error:  # such as a setting that concerns none of the models
            options.warn(str(error))
    command = [part for name in swept for part in ("--by", name)]
    options.warn(f"The table: {options.spell_command('report', *command, results=results)}")
