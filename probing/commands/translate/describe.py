"""`probe translate describe`: a translator's parameters, part by part."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from probing.commands import options
from probing.commands.options import join_names
from probing.commands.translate.run import APPLY, LAYERS
from probing.errors import ProbingError, unknown
from probing.registry import AGGREGATORS
from probing.translation.settings import ATTENTIONS, TRANSLATION_PRESETS, resolve_translation_config

if TYPE_CHECKING:
    from probing.model import ModelDescription


class VocabularySizes(click.ParamType):
    """Numbers of subwords of the source and of the target."""

    name = "N,N"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        if isinstance(value, tuple):
            return value[0], value[1]
        parts = str(value).split(",")
        if not 1 <= len(parts) <= 2 or not all(part.isdecimal() and 0 < int(part) < 1 << 32 for part in parts):
            raise ProbingError(f"--vocabulary must be one number of subwords, or two (24004,30829). Got {value!r}")
        return int(parts[0]), int(parts[-1])


@click.command()
@click.option(
    "--preset", default="base", show_default=True, help=f"Preset of settings: {join_names(TRANSLATION_PRESETS)}."
)
@click.option("--aggregator", default="em", show_default=True, help=f"Aggregator: {options.ONE_AGGREGATOR}.")
@APPLY
@LAYERS
@options.SETTINGS
@click.option(
    "--vocabulary",
    type=VocabularySizes(),
    default=(32_000, 32_000),
    help="Subwords of source and target. [default: 32000,32000]",
)
@options.AS_JSON
def describe(
    preset: str,
    aggregator: str,
    apply: tuple[str, ...],
    layers: tuple[int, ...],
    config_file: Path | None,
    settings: tuple[str, ...],
    vocabulary: tuple[int, int],
    as_json: bool,
) -> None:
    """Print a translator's parameters part by part.

    \b
    probe translate describe --preset base --aggregator em --apply enc-self \\
        --vocabulary 24004,30829
    probe translate describe --preset big --aggregator base \\
        --vocabulary 24004,30829 --json
    """
    from probing.translation.description import describe_translator

    for kind in apply:
        if kind not in ATTENTIONS:
            raise unknown("attention", kind, ATTENTIONS)
    if apply:
        settings += (f"model.apply={','.join(apply)}",)
    if layers:
        settings += (f"model.layers_with_aggregator={','.join(map(str, layers))}",)
    config = resolve_translation_config(preset, config_file=config_file, settings=settings)

    def count(spec: str) -> tuple[ModelDescription, int]:
        found = AGGREGATORS.find(spec)
        described = describe_translator(
            found.object, config.model, config.routing, name=found.name, vocabulary_sizes=vocabulary
        )
        return described, described.total

    (description, total), (_, base) = count(aggregator), count("base")
    if as_json:
        click.echo(json.dumps({**dataclasses.asdict(description), "over_base": total - base}, indent=2))
    else:
        text = f"{description.text()}\n\n{total / 1e6:.1f}M parameters, {(total - base) / 1e6:+.1f}M beside base"
        options.show_fitted(text)
