"""The commands that measure a table's models again, derived from their records."""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence

from probing.config import PRESETS
from probing.report.grouping import ModelResults, ResultGroup
from probing.report.layers import remove_layer
from probing.results import FINE_TUNED, UNTRAINED
from probing.tasks import TASKS


def list_commands(group: ResultGroup, folder: str = "results") -> list[str]:
    """Return the `probe run` commands of a group's models; models with the same options share a command."""
    joined: dict[tuple[str, ...], dict[str, list[int]]] = {}
    measured = {model.name for model in group.models}
    for model in group.models:
        if model.name.endswith(UNTRAINED) and model.name.removesuffix(UNTRAINED) in measured:
            continue  # the model's own command measures its control as well
        name, options = _list_model_options(model)
        options += _list_controls(model, measured)
        layer = model.records[0].identity.settings.get("encoder", {}).get("layer")
        layers = joined.setdefault((*_list_shared_options(group, model), *options), {}).setdefault(name, [])
        layers += [layer] if isinstance(layer, int) else []
    commands = []
    for shared, names in joined.items():
        option = "--encoder" if "--probe" in shared or "--fine-tune" in shared else "--aggregator"
        for layer, chosen in _split_by_layer(names):
            models = [part for name in chosen for part in (option, name)]
            commands.append(shlex.join(["probe", "run", *models, *layer, *shared, "--results", folder]))
    return commands


def _list_shared_options(group: ResultGroup, model: ModelResults) -> Iterable[str]:
    """Yield the options for the tasks, the data, the preset and the seeds."""
    first = group.identity
    files = {record.identity.task: record.identity.data.file for record in model.records}
    tasks = [task for task in group.families if task in files]
    if first.data.name == "own":
        for task in tasks:
            yield from ("--task-file", files[task])
    else:
        all_ten = set(tasks) == {task.name for task in TASKS}
        yield from ("--task", "all" if all_ten else ",".join(tasks), "--data", first.data.name)
    yield from ("--preset", first.preset)
    yield from ("--seeds", _spell_seeds(sorted({record.identity.seed for record in model.records})))


def _spell_seeds(seeds: Sequence[int]) -> str:
    """Return the value of --seeds: a number for seeds from 0 on, or else a list."""
    if seeds == list(range(len(seeds))):
        return str(len(seeds))
    return ",".join(map(str, seeds)) + "," * (len(seeds) == 1)  # a number without a comma is a number of seeds


def _list_model_options(model: ModelResults) -> tuple[str, list[str]]:
    """Return a model's name on the command line, and the options that it needs."""
    settings = model.records[0].identity.settings
    name = remove_layer(model.name).removesuffix(UNTRAINED)
    if "probe" in settings:
        encoder = settings.get("encoder", {})
        defaults = {"dtype": "float32", "pooling": "mean"}
        chosen = {key: encoder[key] for key, value in defaults.items() if encoder.get(key, value) != value}
        options = [part for key, value in chosen.items() for part in (f"--{key}", str(value))]
        return name, [*options, "--probe", str(settings["probe"].get("probe", "mlp"))]
    options = [part for change in _list_changes(model) for part in ("--set", change)]
    return (name.removesuffix(FINE_TUNED), ["--fine-tune", *options]) if name.endswith(FINE_TUNED) else (name, options)


def _list_controls(model: ModelResults, measured: Collection[str]) -> list[str]:
    """Return the options for the controls and the description length, if they were measured."""
    measures = {record.identity.measure for record in model.other_records}
    wanted = {
        ("--control", "random-labels"): "random-labels" in measures,
        ("--control", "random-encoder"): model.name.endswith(UNTRAINED) or f"{model.name}{UNTRAINED}" in measured,
        ("--mdl",): "description-length" in measures,
    }
    return [part for options, chosen in wanted.items() if chosen for part in options]


def _list_changes(model: ModelResults) -> list[str]:
    """Return the settings that differ from the preset's, as values of --set."""
    identity = model.records[0].identity
    preset = PRESETS.get(identity.preset)
    defaults = json.loads(json.dumps(preset.as_dict())) if preset else identity.settings
    return [
        f"{section}.{key}={','.join(map(str, value)) if isinstance(value, list) else _spell(value)}"
        for section, values in identity.settings.items()
        for key, value in values.items()
        if defaults.get(section, {}).get(key, value) != value
    ]


def _spell(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _split_by_layer(names: Mapping[str, list[int]]) -> Iterable[tuple[list[str], list[str]]]:
    """Yield each option for a layer with its models; layers 0, 1, … without a gap are taken to be all layers."""
    plain = [name for name, layers in names.items() if not layers]
    if plain:
        yield [], plain
    for name, layers in names.items():
        every = len(layers) > 1 and sorted(layers) == list(range(len(layers)))
        for layer in ["all"] if every else map(str, layers):
            yield ["--layer", layer], [name]
