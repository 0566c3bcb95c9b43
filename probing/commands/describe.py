"""`probe describe`: a model's parameters and shapes."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import click

from probing.commands import options
from probing.commands.options import join_names
from probing.config import PRESETS, resolve_config
from probing.registry import AGGREGATORS


@click.command()
@click.option("--preset", default="paper", show_default=True, help=f"Preset of settings: {join_names(PRESETS)}.")
@click.option("--aggregator", default="em", show_default=True, help=f"Aggregator: {options.ONE_AGGREGATOR}.")
@options.SETTINGS
@click.option("--vocabulary-size", type=options.COUNT, default=30_000, show_default=True, help="Number of words.")
@click.option("--num-classes", type=options.COUNT, default=2, show_default=True, help="Number of the task's labels.")
@options.AS_JSON
def describe(
    preset: str,
    aggregator: str,
    config_file: Path | None,
    settings: tuple[str, ...],
    vocabulary_size: int,
    num_classes: int,
    as_json: bool,
) -> None:
    """Print a model's parameters part by part and its tensors' shapes.

    \b
    probe describe --preset paper --aggregator em
    probe describe --aggregator base --set model.num_layers=6 --json
    """
    from probing.model import describe_model

    found = AGGREGATORS.find(aggregator)
    config = resolve_config(preset, config_file=config_file, settings=settings).model
    description = describe_model(
        found.object, config, name=found.name, vocabulary_size=vocabulary_size, num_classes=num_classes
    )
    if as_json:
        click.echo(json.dumps(dataclasses.asdict(description), indent=2))
    else:
        options.show_fitted(description.text())
