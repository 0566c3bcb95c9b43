"""The commands that would measure a table's models again, from what their records say."""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from probing.config import PRESETS
from probing.report.grouping import Group, Model
from probing.report.layers import without_layer
from probing.tasks.table import TASKS

FINE_TUNED = " fine-tuned"
UNTRAINED = " untrained"


def list_commands(group: Group, folder: str = "results") -> list[str]:
    """Return the `probe run` commands of a group's models, those that differ only in the model in one."""
    joined: dict[tuple[str, ...], dict[str, list[int]]] = {}
    measured = {model.name for model in group.models}
    for model in group.models:
        if model.name.endswith(UNTRAINED) and model.name.removesuffix(UNTRAINED) in measured:
            continue  # the model's own command measures its control, too
        name, options = _describe(model)
        options += _list_controls(model, measured)
        layer = model.results[0].identity.settings.get("encoder", {}).get("layer")
        layers = joined.setdefault((*_where(group, model), *options), {}).setdefault(name, [])
        layers += [layer] if isinstance(layer, int) else []
    commands = []
    for shared, names in joined.items():
        option = "--encoder" if "--probe" in shared or "--fine-tune" in shared else "--aggregator"
        for layer, chosen in _split_by_layer(names):
            models = [part for name in chosen for part in (option, name)]
            commands.append(shlex.join(["probe", "run", *models, *layer, *shared, "--results", folder]))
    return commands


def _where(group: Group, model: Model) -> Iterable[str]:
    """Return the options for the tasks, the data, the preset and the seeds."""
    first = group.results[0]
    tasks = [task for task in group.families if any(result.identity.task == task for result in model.results)]
    if first.identity.data.name == "own":
        files = {result.identity.task: result.identity.data.file for result in model.results}
        for task in tasks:
            yield from ("--task-file", files[task])
    else:
        all_ten = set(tasks) == {task.name for task in TASKS}
        yield from ("--task", "all" if all_ten else ",".join(tasks), "--data", first.identity.data.name)
    yield from ("--preset", first.identity.preset)
    yield from ("--seeds", _list_seeds(sorted({result.identity.seed for result in model.results})))


def _list_seeds(seeds: Sequence[int]) -> str:
    if seeds == list(range(len(seeds))):
        return str(len(seeds))
    return ",".join(map(str, seeds)) + "," * (len(seeds) == 1)  # one number alone would say how many


def _describe(model: Model) -> tuple[str, list[str]]:
    """Return what to call a model on the command line, and the options that go with it."""
    settings = model.results[0].identity.settings
    name = without_layer(model.name).removesuffix(UNTRAINED)
    if "probe" in settings:
        encoder = settings.get("encoder", {})
        usual = {"dtype": "float32", "pooling": "mean"}
        chosen = {key: encoder[key] for key, value in usual.items() if encoder.get(key, value) != value}
        options = [part for key, value in chosen.items() for part in (f"--{key}", str(value))]
        return name, [*options, "--probe", str(settings["probe"].get("probe", "mlp"))]
    options = [part for change in _list_changes(model) for part in ("--set", change)]
    return (name.removesuffix(FINE_TUNED), ["--fine-tune", *options]) if name.endswith(FINE_TUNED) else (name, options)


def _list_controls(model: Model, measured: Collection[str]) -> list[str]:
    """Return the options for what was measured beside a model's accuracy."""
    wanted = {
        ("--control", "random-labels"): any(result.identity.measure == "random-labels" for result in model.others),
        ("--control", "random-encoder"): model.name.endswith(UNTRAINED) or f"{model.name}{UNTRAINED}" in measured,
        ("--mdl",): any(result.identity.measure == "description-length" for result in model.others),
    }
    return [part for options, chosen in wanted.items() if chosen for part in options]


def _list_changes(model: Model) -> list[str]:
    """Return the settings that are not the preset's."""
    first = model.results[0]
    preset = PRESETS.get(first.identity.preset)
    usual: Mapping[str, Mapping[str, Any]] = json.loads(json.dumps(preset.as_dict())) if preset else first.identity.settings
    return [
        f"{section}.{key}={','.join(map(str, value)) if isinstance(value, list) else _spell(value)}"
        for section, values in first.identity.settings.items()
        for key, value in values.items()
        if usual.get(section, {}).get(key, value) != value
    ]


def _spell(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _split_by_layer(names: Mapping[str, list[int]]) -> Iterable[tuple[list[str], list[str]]]:
    """Yield the option for a layer and the models that it goes with; layers from 0 on are taken to be all there are."""
    plain = [name for name, layers in names.items() if not layers]
    if plain:
        yield [], plain
    for name, layers in names.items():
        every = len(layers) > 1 and sorted(layers) == list(range(len(layers)))
        for layer in ["all"] if every else map(str, layers):
            yield ["--layer", layer], [name]
