"""`probe explain`: what a trained model relies on."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import click

from probing.commands import options


@click.command()
@options.TASKS
@options.AGGREGATORS
@click.option("--sentence", "sentences", multiple=True, metavar="TOKENS", help="Sentence: tokens separated by spaces.")
@click.option(
    "--count", type=click.IntRange(0), default=3, show_default=True, help="Number of test sentences, if none is given."
)
@click.option("--groups", type=options.COUNT, default=8, show_default=True, help="Number of capsule groups to show.")
@options.DATA
@options.PRESET
@options.SETTINGS
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the model.")
@options.DEVICE
@options.RESULTS
@options.AS_JSON
def explain(
    tasks: tuple[str, ...],
    aggregators: tuple[str, ...],
    sentences: tuple[str, ...],
    count: int,
    groups: int,
    data: str | None,
    data_dir: Path | None,
    task_files: tuple[Path, ...],
    preset: str | None,
    config_file: Path | None,
    settings: tuple[str, ...],
    seed: int,
    device: str,
    results: Path,
    as_json: bool,
) -> None:
    """Show what a model attends to, how routing weighs its heads, and its accuracy without each head.

    A model that was not explained before is trained first, as `probe run` does with the same options. The explanation
    is also saved in the results folder, where `probe report --format html` finds it.

    \b
    probe explain --task Tense --aggregator em --sentence "the dogs slept ."
    probe explain --task all --count 2 > heads.txt
    probe explain --task SubNm --aggregator simple --json
    """
    from probing.display import Display
    from probing.experiments import explaining
    from probing.experiments.explanation_text import render
    from probing.experiments.options import DataOptions, Experiment, ModelOptions, Place, SettingOptions

    experiment = Experiment(
        models=ModelOptions(aggregators=aggregators),
        data=DataOptions(tasks=tasks, data=data, data_dir=data_dir, task_files=task_files),
        settings=SettingOptions(preset=preset, config_file=config_file, settings=settings, seeds=(seed,)),
    )
    place = Place(results=results, device=device)
    explained = explaining.explain(experiment, place, Display(), sentences=sentences, count=count, groups=groups)
    if as_json:
        options.show_json(json.dumps([dataclasses.asdict(each) for each in explained], ensure_ascii=False))
    else:
        options.show_fitted(render(explained))
