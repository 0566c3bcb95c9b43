"""The rows of a table: aggregators to be trained, encoders to be probed or fine-tuned, and how each is measured."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial

from probing.config import Config
from probing.dataset import IndexedTask
from probing.encoders.encoder import Recipe
from probing.encoders.specification import find_recipes, find_trainable
from probing.errors import ProbingError, unknown
from probing.methods import FineTuned, Probed, Trained
from probing.probes import get_probe
from probing.registry import AGGREGATORS, COMPARED
from probing.results import Measure, ModelIdentity
from probing.vector_files import DTYPES
from probing.vectors import Entry

BASELINES = ("length", "bag-of-words")
"""What `--baselines` adds; the majority stands in every table."""


CONTROLS = ("random-labels", "random-encoder")


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table: its identity, and how it is measured on a task with a seed."""

    identity: ModelIdentity
    method: Callable[[IndexedTask, Config, int], Trained | FineTuned | Probed]
    recipe: Callable[[int], Recipe] | None = None
    """Of a frozen encoder: what its vectors are made by, for a seed."""
    untrained: Callable[[], Row] | None = None
    """Makes the control: the same architecture, untrained and frozen."""


def choose_measures(controls: Sequence[str] = (), *, mdl: bool = False) -> list[Measure]:
    """Return what is measured of every row."""
    for control in controls:
        if control not in CONTROLS:
            raise unknown("control", control, CONTROLS)
    measures: dict[Measure, bool] = {
        "accuracy": True,
        "random-labels": "random-labels" in controls,
        "description-length": mdl,
    }
    return [measure for measure, wanted in measures.items() if wanted]


def choose_rows(
    aggregators: Sequence[str] | None,
    encoders: Sequence[str],
    *,
    layer: str | None = None,
    pooling: str | None = None,
    dtype: str | None = None,
    probe: str | None = None,
    fine_tune: bool = False,
    controls: Sequence[str] = (),
    baselines: bool = False,
) -> list[Row]:
    """Return the rows of a run: all aggregators if nothing is named, with controls and baselines if asked for."""
    rows = find_rows(["all"] if aggregators is None and not encoders else aggregators or ())
    probed = partial(find_encoders, dtype=dtype, probe=probe)
    find_named = find_encoders if baselines and not encoders else probed  # the baselines are probed, too
    rows += find_named(encoders, layer=layer, pooling=pooling, fine_tune=fine_tune)
    if not rows:
        raise ProbingError("no aggregator was named. Name one, or 'all': see `probe aggregators`")
    if "random-encoder" in controls:
        rows += [row.untrained() for row in rows if row.untrained is not None]
    if baselines:
        rows += probed(BASELINES)
    return list({row.identity: row for row in rows}.values())


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
    return Row(
        identity,
        lambda task, config, seed: Trained(spec, config),
        untrained=lambda: Row(_untrained(identity), lambda task, config, seed: Trained(spec, config, untrained=True)),
    )


def _untrained(identity: ModelIdentity) -> ModelIdentity:
    return dataclasses.replace(identity, name=f"{identity.name} untrained", label=f"{identity.label}, untrained")


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
    if fine_tune:
        return [_fine_tuned(spec) for spec in dict.fromkeys(encoders)]
    recipes = find_recipes(encoders, layer=layer, pooling=pooling)
    if dtype is not None and dtype not in DTYPES:
        raise unknown("dtype", dtype, DTYPES)
    probe_name = get_probe(probe or "mlp").name
    return [row for recipe in recipes for row in _probed(recipe, probe_name, dtype or "float32")]


def _fine_tuned(spec: str) -> Row:
    found = find_trainable(spec)
    made = ModelIdentity(name=found.name, label=found.label, version=found.version)
    identity = dataclasses.replace(made, name=f"{made.name} fine-tuned", label=f"{made.label}, fine-tuned")
    return Row(
        identity,
        lambda task, config, seed: FineTuned(spec, config),
        untrained=lambda: Row(_untrained(made), lambda task, config, seed: FineTuned(spec, config, untrained=True)),
    )


def _probed(recipe: Recipe, probe: str, dtype: str) -> Iterator[Row]:
    draw = cache(recipe.untrained)  # a seed's encoder serves all tasks and layers

    def make_row(identity: ModelIdentity, layer: int | None, find_recipe: Callable[[int], Recipe]) -> Row:
        def method(task: IndexedTask, config: Config, seed: int) -> Probed:
            return Probed(probe, Entry.build(find_recipe(seed), task, dtype), layer)

        return Row(identity, method, find_recipe)

    def make_untrained(identity: ModelIdentity, layer: int | None) -> Row:
        draw(0)  # an encoder without an untrained form says so before anything is run
        return make_row(_untrained(identity), layer, draw)

    for layer in recipe.layers or (None,):
        name, label = recipe.name, recipe.label
        if layer is not None:
            name, label = f"{name} layer {layer:02d}", f"{label} layer {layer}"
        identity = ModelIdentity(name=name, label=label, version=recipe.version)
        row = make_row(identity, layer, lambda seed: recipe)
        yield dataclasses.replace(row, untrained=partial(make_untrained, identity, layer))
