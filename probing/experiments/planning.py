"""The cells of a run: every task x model x seed x measure, from files that were read and checked."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from msgspec import UNSET

from probing.config import resolve_config
from probing.corpus.source import Source, choose_source, own_files
from probing.display import Display
from probing.encoders import Recipe
from probing.execution import AnyWork
from probing.experiments.cells import Cell
from probing.experiments.fitting import Probed
from probing.experiments.models import TestedModel, choose_measures, choose_models
from probing.experiments.options import DEFAULT_RESULTS, DataOptions, Experiment
from probing.results import CellIdentity, DataIdentity
from probing.tasks import IndexedTask, Task, draw_sentences, load_task
from probing.training import pick_device, settle_precision


@dataclass(frozen=True, slots=True)
class PlannedCells:
    """The cells of a run, or of a shard of it, and the recipes of their frozen vectors."""

    cells: list[Cell]
    recipes: dict[Path, Recipe]
    """Recipe of each entry in the cache of vectors, by the entry's folder."""
    device: torch.device


def take_shard(cells: list[AnyWork], shard: tuple[int, int] | None) -> list[AnyWork]:
    """Return one of several shards of cells: always the same ones, of equal numbers, some of every kind."""
    if shard is None:
        return cells
    number, count = shard
    keys = sorted(cell.key for cell in cells)[number - 1 :: count]
    return [cell for cell in cells if cell.key in keys]


def plan_cells(
    experiment: Experiment, device: str, display: Display, *, results: Path = DEFAULT_RESULTS
) -> PlannedCells:
    """Return a cell for each task, model, seed and measure; every file is read and checked on the way.

    The cells are ordered seed by seed: a run that is stopped leaves whole tables of the seeds that it finished.
    """
    chosen_device = pick_device(device)
    settings, seeds = experiment.settings, experiment.settings.seeds
    models, measures = choose_models(experiment.models, results), choose_measures(experiment.models)
    _explain_seeds(models, seeds, display)
    cells: list[Cell] = []
    recipes: dict[Path, Recipe] = {}
    for source in _choose_sources(experiment.data):
        preset = settings.preset or source.preset
        configs = [
            (resolve_config(preset, config_file=settings.config_file, settings=(*settings.settings, *changes)), changes)
            for changes in settings.variants
        ]
        loaded = {task: _load(path, display) for task, path in source.files.items()}
        configs = [(settle_precision(config, chosen_device), changes) for config, changes in configs]
        for data, (config, _) in itertools.product(loaded.values(), configs):
            draw_sentences(data, config.training.sentences)  # too many are an error before anything is run
        display.say(f"data: {source.name} ({source.reason}); preset: {preset}; device: {chosen_device}")
        covered = _choose_covered(models, list(loaded), experiment.data, display)
        for task, data in loaded.items():
            data_identity = _identify_data(source, task, data, display)
            kinds = (
                (*kind, seed)
                for kind in itertools.product(configs, measures, models)
                for seed in _list_seeds(kind[-1], seeds)
            )
            for (config, changes), measure, model, seed in kinds:
                if task.name not in covered[model.identity.name]:
                    continue
                method = model.method(data, config, seed)
                translator = None if model.recipe is None else model.recipe(seed).translator
                identity = CellIdentity(
                    task=task.name,
                    family=task.family,
                    seed=seed,
                    preset=preset,
                    data=data_identity,
                    model=model.identity,
                    settings=method.settings,
                    measure=measure,
                    translator=UNSET if translator is None else translator(data),
                )
                variant = _describe_variant(changes, method.settings)
                path = source.files[task]
                cells.append(Cell(identity=identity, task=task, path=path, method=method, variant=variant))
                if model.recipe is not None and isinstance(method, Probed):
                    recipes[method.vectors.folder] = model.recipe(seed)
    # A setting that does not concern a model makes the same cell several times.
    distinct = list({(cell.path, cell.key): cell for cell in reversed(cells)}.values())[::-1]
    order = list(dict.fromkeys([*seeds, *(cell.identity.seed for cell in distinct)]))
    distinct.sort(key=lambda cell: order.index(cell.identity.seed))
    return PlannedCells(distinct, recipes, chosen_device)


def _list_seeds(model: TestedModel, seeds: Sequence[int]) -> list[int]:
    """Return the seeds of a model's cells, each once."""
    return list(dict.fromkeys(seeds)) if model.seed is None else [model.seed]


def _explain_seeds(models: Sequence[TestedModel], seeds: Sequence[int], display: Display) -> None:
    """Say that models with a seed of their own do not have all the seeds that were asked for."""
    own: dict[str, set[int]] = {}
    for model in models:
        if model.seed is not None:
            own.setdefault(model.identity.label, set()).add(model.seed)
    for label, found in own.items():
        if len(seeds) > 1 and found != set(seeds):
            numbers = f"seed{'s' * (len(found) > 1)} {', '.join(map(str, sorted(found)))}"
            display.say(f"{label}: {numbers}, with which it was trained; --seeds is for other models")


def _describe_variant(changes: Sequence[str], settings: Mapping[str, Mapping[str, Any]]) -> str:
    """Return those of a sweep's settings that concern a model, without their sections."""
    parts = []
    for change in changes:
        name, _, value = change.partition("=")
        section, _, key = name.partition(".")
        if key in settings.get(section, {}):
            parts.append(f"{key}={value}")
    return ", ".join(parts)


def _choose_covered(
    models: Sequence[TestedModel], tasks: Sequence[Task], options: DataOptions, display: Display
) -> dict[str, list[str]]:
    """Return the tasks of each model: all that were named, or of all tasks those that it has vectors of."""
    everything = "all" in (options.tasks or ["all"])
    chosen = {}
    for model in models:
        names = [task.name for task in tasks]
        covers = None if model.recipe is None or not everything else model.recipe(0).covers
        found = [task.name for task in tasks if covers is None or covers(task)]
        if found and len(found) < len(names):
            display.say(f"{model.identity.label} has vectors of {', '.join(found)}; other tasks are left out")
        chosen[model.identity.name] = found or names
    return chosen


def _choose_sources(options: DataOptions) -> list[Source]:
    sources = []
    if options.tasks or not options.task_files:
        sources.append(choose_source(options.tasks or ["all"], data=options.data, data_dir=options.data_dir))
    if options.task_files:
        sources.append(own_files(options.task_files))
    return sources


def _load(path: Path, display: Display) -> IndexedTask:
    with display.measuring(f"reading {path.name}, percent") as on_share:
        return load_task(path, on_share)


def _identify_data(source: Source, task: Task, loaded: IndexedTask, display: Display) -> DataIdentity:
    verified = None
    if source.name == "senteval" and task.blob:
        verified = loaded.blob == task.blob
        if not verified:
            display.warn(f"warning: {loaded.path} is not SentEval's published file (git blob {loaded.blob[:12]})")
    return DataIdentity(
        name=source.name,
        file=loaded.path.name,
        sha256=loaded.sha256,
        verified=verified,
        datasheet=source.datasheet,
    )
