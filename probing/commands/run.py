"""`probe run`: train and score models, and record the outcome."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from probing.commands import options
from probing.config import CONTROLS, DTYPES, PROBES
from probing.errors import ProbingError

ROOM = 4
"""Number of a terminal's lines that the table at the end of a run leaves to the lines above it."""


@click.command()
@options.TASKS
@options.AGGREGATORS
@click.option("--encoder", "encoders", multiple=True, metavar="SPEC", help="Encoder to probe: see `probe encoders`.")
@options.ENCODER_OPTIONS
@click.option("--dtype", metavar="|".join(DTYPES), help="Type in which frozen vectors are kept. [default: float32]")
@click.option(
    "--probe",
    metavar="|".join(PROBES),
    help="Classifier on frozen vectors; the last two are SentEval's, with nhid 0 and 50. [default: mlp]",
)
@click.option("--fine-tune", is_flag=True, help="Train the encoder, a torch module, together with the head.")
@click.option(
    "--control",
    "controls",
    multiple=True,
    metavar="|".join(CONTROLS),
    help="Control to measure as well: labels that can only be memorised, or the untrained encoder. Can be repeated.",
)
@click.option("--baselines", is_flag=True, help="Probe sentence length and a bag of words as well.")
@click.option("--mdl", is_flag=True, help="Measure the description length by online coding as well.")
@options.DATA
@options.PRESET
@options.SETTINGS
@click.option("--layers-with-aggregator", metavar="1,2", help="Layers that have the aggregator; others stay linear.")
@options.SEEDS
@options.DEVICE
@options.RESULTS
@options.EXECUTION
def run(
    tasks: tuple[str, ...],
    aggregators: tuple[str, ...],
    encoders: tuple[str, ...],
    dtype: str | None,
    probe: str | None,
    fine_tune: bool,
    controls: tuple[str, ...],
    baselines: bool,
    mdl: bool,
    data: str | None,
    data_dir: Path | None,
    task_files: tuple[Path, ...],
    preset: str | None,
    config_file: Path | None,
    settings: tuple[str, ...],
    layers_with_aggregator: str | None,
    single_seeds: tuple[int, ...],
    seeds: tuple[int, ...],
    device: str,
    jobs: int | None,
    results: Path,
    force: bool,
    backend: str,
    address: str | None,
    gpus_per_cell: float,
    shard: tuple[int, int] | None,
    plan: bool,
    as_json: bool,
    quiet: bool,
    verbose: bool,
    **encoder_options: Any,
) -> None:
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
    probe run --control random-labels --control random-encoder --baselines --mdl
    probe run --task all --seeds 5 --plan
    probe run --task all --seeds 5 --backend ray --address 10.0.0.1:6379 --gpus-per-cell 1
    probe run --task all --seeds 5 --shard $SLURM_ARRAY_TASK_ID/8     (sbatch --array=1-8)
    """
    from probing.display import Display
    from probing.experiments import running
    from probing.experiments.options import DataOptions, Experiment, ModelOptions, Place, SettingOptions

    if as_json and not plan:
        raise ProbingError("--json goes with --plan. For results as JSON, see `probe report --format json`")
    if layers_with_aggregator is not None:
        settings += (f"model.layers_with_aggregator={layers_with_aggregator}",)
    experiment = Experiment(
        models=ModelOptions(
            aggregators=aggregators,
            encoders=encoders,
            encoder_options=encoder_options,
            dtype=dtype,
            probe=probe,
            fine_tune=fine_tune,
            controls=controls,
            baselines=baselines,
            mdl=mdl,
        ),
        data=DataOptions(tasks=tasks, data=data, data_dir=data_dir, task_files=task_files),
        settings=SettingOptions(
            preset=preset, config_file=config_file, settings=settings, seeds=(*single_seeds, *seeds) or (0,)
        ),
    )
    place = Place(
        results=results,
        device=device,
        jobs=jobs,
        backend=backend,
        address=address,
        gpus_per_cell=gpus_per_cell,
        shard=shard,
        force=force,
    )
    display = Display(verbosity=verbose - quiet)
    if plan:
        planned = running.plan(experiment, place, display)
        options.show(json.dumps(planned.as_dict(), indent=2) if as_json else planned.text())
        return
    summary = running.run(experiment, place, display)
    if summary.cells and not quiet:
        _show_outcome(summary.cells, results)
    sys.exit(1 if summary.failed else 0)


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
