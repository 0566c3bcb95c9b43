"""The commands that measure a table's models again, derived from their records."""

from __future__ import annotations

import json
import shlex
import urllib.parse
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from probing.config import PRESETS
from probing.registry import ENCODERS
from probing.report.grouping import ModelResults, ResultGroup
from probing.report.layers import remove_layer
from probing.results import FINE_TUNED, UNTRAINED
from probing.tasks import TASKS

MIX = "mix"
"""Layer that is a learned mix of all."""
VALUES = {"dtype": "float32", "pooling": "mean", "model_dtype": None, "prompt": None}
"""Options of encoders that have a value, and their defaults."""


def list_commands(group: ResultGroup, folder: str = "results") -> list[str]:
    """Return the `probe run` commands of a group's models; models with the same options share a command."""
    joined: dict[tuple[str, ...], dict[str, list[int]]] = {}
    parts = [(model, *_list_model_options(model)) for model in group.models]
    described = [(model.name, *_list_shared_options(group, model), *options) for model, _, options in parts]
    measured = set(described)
    for (model, name, _), (row, *rest) in zip(parts, described, strict=True):
        if row.endswith(UNTRAINED) and (row.removesuffix(UNTRAINED), *rest) in measured:
            continue  # the model's own command measures its control as well
        untrained = row.endswith(UNTRAINED) or (f"{row}{UNTRAINED}", *rest) in measured
        runs = _list_runs(model) or [name]
        layer = model.records[0].identity.settings.get("encoder", {}).get("layer")
        names = joined.setdefault((*rest, *_list_controls(model, untrained=untrained)), {})
        for name in runs:
            names.setdefault(name, []).extend([layer] if isinstance(layer, int) else [])
    commands = []
    for shared, names in joined.items():
        option = "--encoder" if "--probe" in shared or "--fine-tune" in shared else "--aggregator"
        for layer, chosen in _split_by_layer(names):
            models = [part for name in chosen for part in (option, name)]
            commands.append(shlex.join(["probe", "run", *models, *layer, *shared, "--results", folder]))
    return commands


def _list_runs(model: ModelResults) -> list[str]:
    """Return the specifications of the translation runs that are a model's seeds, with NAME= if the user named it."""
    label = remove_layer(model.records[0].identity.model.label).removesuffix(f",{UNTRAINED}").removesuffix(f" {MIX}")
    found = {record.identity.seed: record.identity.translator for record in model.records}
    runs = [one for _, one in sorted(found.items()) if one]
    return [f"{'' if one.label == label else f'{label}='}translation:{one.run}" for one in runs]


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
    if model.records[0].identity.translator:
        return  # a translation run has its own seed
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
        if encoder.get("layer") == MIX:
            name = name.removesuffix(f" {MIX}")
        options = [*_list_encoder_options(encoder), "--probe", str(settings["probe"].get("probe", "mlp"))]
        for key, value in settings.get("training", {}).items():  # only what differs from the rule
            options += ["--set", f"training.{key}={_spell(value)}"]
        return _spell_encoder(name, model, encoder), options
    options = [part for change in _list_changes(model) for part in ("--set", change)]
    return (name.removesuffix(FINE_TUNED), ["--fine-tune", *options]) if name.endswith(FINE_TUNED) else (name, options)


def _list_encoder_options(encoder: Mapping[str, Any]) -> Iterable[str]:
    """Yield the options of an encoder that are not the default."""
    for key, default in VALUES.items():
        if encoder.get(key, default) != default:
            yield from (f"--{key.replace('_', '-')}", str(encoder[key]))
    if encoder.get("layer") == MIX:
        yield from ("--layer", MIX)
    if encoder.get("special_tokens") is False:
        yield "--no-special-tokens"
    if encoder.get("detokenise"):
        yield "--detokenise"


def _spell_encoder(name: str, model: ModelResults, encoder: Mapping[str, Any]) -> str:
    """Return the specification of an encoder: its name with its arguments, and NAME= if the user named the row."""
    known = {*VALUES, "layer", "special_tokens", "detokenise"}
    arguments = {key: _spell(value) for key, value in encoder.items() if key not in known}
    spec = f"{name}?{urllib.parse.urlencode(arguments, safe='/', quote_via=urllib.parse.quote)}" if arguments else name
    label = remove_layer(model.records[0].identity.model.label).removesuffix(UNTRAINED).removesuffix(f" {MIX}")
    target = name.rpartition(":")[2]
    usual = {name, target, PurePath(target).name, PurePath(target).stem, name.partition(":")[2]}
    if builtin := ENCODERS.builtins.get(name):
        usual.add(builtin.label)
    is_usual = label in usual or ":" in label or "=" in label or "/" in label
    return spec if is_usual else f"{label}={spec}"


def _list_controls(model: ModelResults, *, untrained: bool) -> list[str]:
    """Return the options for the controls and the description length, if they were measured."""
    measures = {record.identity.measure for record in model.other_records}
    wanted = {
        ("--control", "random-labels"): "random-labels" in measures,
        ("--control", "word-labels"): "word-labels" in measures,
        ("--control", "random-encoder"): untrained,
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
