"""The models of a run: aggregators to train, encoders to probe or to fine-tune, with their controls and baselines."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from probing.config import CONTROLS, DTYPES, Config
from probing.encoders import MIX, EncoderOptions, Recipe, VectorEntry, find_recipes, find_trainable, spell
from probing.errors import ProbingError, unknown
from probing.experiments.fitting import FineTuned, Layer, Method, Probed, Trained
from probing.experiments.options import DEFAULT_RESULTS, ModelOptions
from probing.probes import get_probe
from probing.registry import AGGREGATORS, COMPARED
from probing.results import FINE_TUNED, UNTRAINED, Measure, ModelIdentity
from probing.tasks import IndexedTask

BASELINES = ("length", "bag-of-words")
"""Encoders that `--baselines` adds; the majority baseline stands in every table."""


@dataclass(frozen=True, slots=True)
class TestedModel:
    """A model of a run, which becomes a row of the table."""

    identity: ModelIdentity
    method: Callable[[IndexedTask, Config, int], Method]
    """Function from a task, settings and a seed to the way in which the model is made."""
    recipe: Callable[[int], Recipe] | None = None
    """Function from a seed to the recipe of a frozen encoder."""
    seed: int | None = None
    """Seed of the model's cells; None if they have those of the run."""
    untrained: Callable[[], TestedModel] | None = None
    """Function that makes the control: the same architecture, untrained and frozen."""


def choose_measures(options: ModelOptions) -> list[Measure]:
    """Return the measures that are taken of every model."""
    for control in options.controls:
        if control not in CONTROLS:
            raise unknown("control", control, CONTROLS)
    measures: dict[Measure, bool] = {
        "accuracy": True,
        "random-labels": "random-labels" in options.controls,
        "word-labels": "word-labels" in options.controls,
        "description-length": options.mdl,
    }
    return [measure for measure, wanted in measures.items() if wanted]


def choose_models(options: ModelOptions, results: Path = DEFAULT_RESULTS) -> list[TestedModel]:
    """Return the models of a run: base, simple and em if none is named, with the controls and baselines asked for."""
    named = bool(options.encoders or options.recipes)
    models = find_aggregators(options.aggregators if options.aggregators or named else ["all"])
    if options.baselines and not named:  # then --probe and --dtype are the baselines'
        models += find_encoders(dataclasses.replace(options, dtype=None, probe=None), results)
    else:
        models += find_encoders(options, results)
    if "random-encoder" in options.controls:
        models += [model.untrained() for model in models if model.untrained is not None]
    if options.baselines:
        models += find_encoders(ModelOptions(encoders=BASELINES, dtype=options.dtype, probe=options.probe), results)
    return list({model.identity: model for model in models}.values())


def find_aggregators(aggregators: Sequence[str]) -> list[TestedModel]:
    """Return the models of the aggregators that are named; each is imported, so that a wrong name is known at once."""
    names = [part.strip() for spec in aggregators for part in spec.split(",")]
    specs = [spec for name in names for spec in (COMPARED if name.lower() == "all" else [name])]
    if not all(specs):
        raise ProbingError("no aggregator was named. Name one, or 'all': see `probe aggregators`")
    return [_trained(spec) for spec in dict.fromkeys(specs)]


def _trained(spec: str) -> TestedModel:
    found = AGGREGATORS.find(spec)
    identity = ModelIdentity(name=found.name, label=found.label, version=found.version)
    control = TestedModel(identity.variant(UNTRAINED), lambda task, config, seed: Trained(spec, config, untrained=True))
    return TestedModel(identity, lambda task, config, seed: Trained(spec, config), untrained=lambda: control)


def find_encoders(options: ModelOptions, results: Path) -> list[TestedModel]:
    """Return the models of the encoders that are named: one each, or one for each layer."""
    encoder_options = EncoderOptions(**options.encoder_options)
    frozen_only = {**encoder_options.given, "dtype": options.dtype, "probe": options.probe}
    given = [spell(option) for option, value in frozen_only.items() if value is not None]
    if not (options.encoders or options.recipes) and (given or options.fine_tune):
        option = "--fine-tune" if options.fine_tune else given[0]
        raise ProbingError(f"{option} goes with --encoder: see `probe encoders`")
    if options.fine_tune and given:
        raise ProbingError(f"{given[0]} is for frozen encoders and does not go with --fine-tune")
    if options.fine_tune:
        return [_fine_tuned(spec) for spec in dict.fromkeys(options.encoders)]
    recipes = find_recipes(options.encoders, encoder_options, results=results) if options.encoders else []
    if options.dtype is not None and options.dtype not in DTYPES:
        raise unknown("dtype", options.dtype, DTYPES)
    probe = get_probe(options.probe or "mlp").name
    made = [_probed(recipe, probe, options.dtype or "float32") for recipe in (*recipes, *options.recipes)]
    return [model for models in made for model in models]


def _fine_tuned(spec: str) -> TestedModel:
    found = find_trainable(spec)
    made = ModelIdentity(name=found.name, label=found.label, version=found.version)
    control = TestedModel(made.variant(UNTRAINED), lambda task, config, seed: FineTuned(spec, config, untrained=True))
    identity = made.variant(FINE_TUNED)
    return TestedModel(identity, lambda task, config, seed: FineTuned(spec, config), untrained=lambda: control)


def _probed(recipe: Recipe, probe: str, dtype: str) -> Iterator[TestedModel]:
    draw = cache(recipe.untrained)  # a seed's encoder serves all tasks and layers

    def make_model(identity: ModelIdentity, layer: Layer, find_recipe: Callable[[int], Recipe]) -> TestedModel:
        def method(task: IndexedTask, config: Config, seed: int) -> Probed:
            entry = VectorEntry.build(find_recipe(seed), task, dtype)
            return Probed(probe, entry, layer, config.training.sentences)

        return TestedModel(identity, method, find_recipe, seed=recipe.seed)

    def make_untrained(identity: ModelIdentity, layer: Layer) -> TestedModel:
        draw(0)  # an encoder without an untrained form is an error before anything is run
        return make_model(identity.variant(UNTRAINED), layer, draw)

    layers: Sequence[Layer] = (MIX,) if recipe.mixes else recipe.layers or (None,)
    for layer in layers:
        name, label = recipe.name, recipe.label
        if isinstance(layer, int):
            name, label = f"{name} layer {layer:02d}", f"{label} layer {layer}"
        elif layer is not None:
            name, label = f"{name} {layer}", f"{label} {layer}"
        identity = ModelIdentity(name=name, label=label, version=recipe.version)
        model = make_model(identity, layer, lambda seed: recipe)
        yield dataclasses.replace(model, untrained=partial(make_untrained, identity, layer))
