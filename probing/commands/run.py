"""`probe run`: train and score models, and record the outcome."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from probing.commands import measuring, options

ROOM = 4
"""Number of a terminal's lines that the table at the end of a run leaves to the lines above it."""


@click.command()
@measuring.MODELS
@options.SETTINGS
@click.option("--layers-with-aggregator", metavar="1,2", help="Layers that have the aggregator; others stay linear.")
@measuring.RETRY
@options.SEEDS
@options.DEVICE
@options.RESULTS
@options.EXECUTION
def run(settings: tuple[str, ...], layers_with_aggregator: str | None, **given: Any) -> None:
    """Train and score one model per task, aggregator or encoder, and seed.

    Cells that are already recorded are skipped, so the same command goes on after an interruption. Several commands
    may work on one --results folder at a time, also from several machines: they divide the cells among them.
    The exit code is 0, or 1 if a training failed, 2 for a mistake in the input, 130 after Ctrl-C, 143 after SIGTERM.

    \b
    probe run --task all --aggregator all
    probe run --task Tense --task SubNm --aggregator em --seeds 5
    probe run --data my_tasks/ --preset small --set training.max_epochs=5
    probe run --task-file my_task.tsv --aggregator my_file.py:MyAggregator
    probe run --encoder bag-of-words --encoder my_file.py:MyEncoder --probe linear
    probe run --encoder huggingface:my_model/ --layer all --pooling cls
    probe run --encoder translation:results/translation --layer all \\
        --control random-encoder
    probe run --control random-labels --control random-encoder --baselines --mdl
    probe run --task CoIn --aggregator base --seeds 5 --retry-failed 2
    probe run --task all --seeds 5 --plan
    probe run --task all --seeds 5 --backend ray \\
        --address 10.0.0.1:6379 --gpus-per-cell 1
    probe run --task all --shard $SLURM_ARRAY_TASK_ID/8  # sbatch --array=1-8
    """
    if layers_with_aggregator is not None:
        settings += (f"model.layers_with_aggregator={layers_with_aggregator}",)
    measuring.measure(given, settings=settings, show_outcome=_show_outcome)


def _show_outcome(cells: Sequence[Any], results: Path) -> None:
    """Print the table of a run's cells if it fits the terminal; elsewhere name the command that shows it."""
    from probing.report.formats import render
    from probing.results import find_record

    width = options.find_width()
    found = [find_record(cell.record_path(results), cell.key) for cell in cells] if width else []
    records = [record for record in found if record is not None]
    if any(record.identity.measure == "accuracy" and record.scores for record in records):
        table = render(records, colour=True, width=width)
        if table.count("\n") < shutil.get_terminal_size().lines - ROOM:
            click.echo(f"\n{table}")
            return
    options.warn(f"The table: {options.spell_command('report', results=results)}")
