"""The rows of a table: aggregators to be trained, encoders to be probed or fine-tuned, and how each is measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from probing.cells import FineTuned, Probed, Trained
from probing.config import Config
from probing.dataset import IndexedTask
from probing.encoders.encoder import Recipe
from probing.encoders.specification import find_encoder, find_trainable
from probing.errors import ProbingError
from probing.probes import get_probe
from probing.registry import AGGREGATORS, COMPARED
from probing.results import ModelIdentity
from probing.vectors import Entry


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table: its identity, and how it is measured on a task."""

    identity: ModelIdentity
    method: Callable[[IndexedTask, Config], Trained | FineTuned | Probed]
    recipe: Recipe | None = None
    """Of a frozen encoder."""


def find_rows(aggregators: Sequence[str]) -> list[Row]:
    """Return the models that the aggregators' specifications name; importing them is the check."""
    names = [part.strip() for spec in aggregators for part in spec.split(",")]
    specs = [spec for name in names for spec in (COMPARED if name.lower() == "all" else [name])]
    if not all(specs):
        raise ProbingError("no aggregator was named. Name one, or 'all': see `probe aggregators`")
    return [_trained(spec) for spec in dict.fromkeys(specs)]


def _trained(spec: str) -> Row:
    found = AGGREGATORS.find(spec)
    identity = ModelIdentity(name=found.name, label=found.label, version=found.version)
    return Row(identity, lambda task, config: Trained(spec, config))


def find_encoders(
    encoders: Sequence[str],
    *,
    layer: str | None = None,
    pooling: str | None = None,
    dtype: str | None = None,
    probe: str | None = None,
    fine_tune: bool = False,
) -> list[Row]:
    """Return the rows that the encoders' specifications name: one each, or one for each layer."""
    frozen_only = {"--layer": layer, "--pooling": pooling, "--dtype": dtype, "--probe": probe}
    named = [option for option, value in frozen_only.items() if value is not None]
    if not encoders and (named or fine_tune):
        raise ProbingError(f"{'--fine-tune' if fine_tune else named[0]} goes with --encoder: see `probe encoders`")
    if fine_tune and named:
        raise ProbingError(f"{named[0]} is for frozen encoders and does not go with --fine-tune")
    models: list[Row] = []
    for spec in dict.fromkeys(encoders):
        if fine_tune:
            models.append(_fine_tuned(spec))
        else:
            recipe = find_encoder(spec, layer=layer, pooling=pooling)
            models += _probed(recipe, get_probe(probe or "mlp").name, dtype or "float32")
    return models


def _fine_tuned(spec: str) -> Row:
    found = find_trainable(spec)
    identity = ModelIdentity(name=f"{found.name} fine-tuned", label=f"{found.label}, fine-tuned", version=found.version)
    return Row(identity, lambda task, config: FineTuned(spec, config))


def _probed(recipe: Recipe, probe: str, dtype: str) -> Iterator[Row]:
    for layer in recipe.layers or (None,):
        name, label = recipe.name, recipe.label
        if layer is not None:
            name, label = f"{name} layer {layer:02d}", f"{label} layer {layer}"
        identity = ModelIdentity(name=name, label=label, version=recipe.version)

        def method(task: IndexedTask, config: Config, layer: int | None = layer) -> Probed:
            return Probed(probe, Entry.build(recipe, task, dtype), layer)

        yield Row(identity, method, recipe)
