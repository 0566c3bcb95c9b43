"""Small trainings that tests start: a task of a few words, models of a few numbers, a run that says nothing."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path
from typing import Any

import pytest

from probing.display import Display
from probing.experiments import planning, running
from probing.experiments.estimates import RunPlan
from probing.experiments.options import DataOptions, Experiment, ModelOptions, Place, SettingOptions
from probing.experiments.planning import PlannedCells
from probing.results import Record, Store


def write_answers(folder: Path, sizes: tuple[int, int, int] = (60, 20, 20), *, longest: int = 6) -> Path:
    """Write a task whose label is the sentence's first word; of each label, so many sentences a split."""
    draw = random.Random(0)
    path = folder / "answers.tsv"
    lines = [
        f"{split}\t{label}\t{label} {' '.join(draw.choices('abcdefgh', k=draw.randint(1, longest)))}\n"
        for split, size in zip(("tr", "va", "te"), sizes, strict=True)
        for label in ("YES", "NO")
        for _ in range(size)
    ]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def make_settings(*, num_layers: int = 1, max_epochs: int = 2) -> tuple[str, ...]:
    """Return settings with which a training takes a second."""
    sizes = {"model_dim": 16, "num_heads": 2, "num_capsules": 8, "feed_forward_dim": 16, "head_dim": 16}
    model = {**sizes, "num_layers": num_layers}
    training = {"max_epochs": max_epochs, "min_epoch_steps": 1, "min_frequency": 1}
    return (
        *(f"model.{key}={value}" for key, value in model.items()),
        *(f"training.{k}={v}" for k, v in training.items()),
    )


def make_experiment(**options: Any) -> tuple[Experiment, Place]:
    """Return the options of a run from the names that they have on the command line."""
    kinds = (ModelOptions, DataOptions, SettingOptions, Place)
    fields = {field.name: kind for kind in kinds for field in dataclasses.fields(kind)}
    chosen: dict[Any, dict[str, Any]] = {kind: {} for kind in kinds}
    for name, value in options.items():
        chosen[fields[name]][name] = value
    models, data, settings, place = (kind(**chosen[kind]) for kind in kinds)
    return Experiment(models=models, data=data, settings=settings), place


def run(*, display: Display | None = None, **options: Any) -> running.Summary:
    """Run an experiment, quietly unless a display is given."""
    return running.run(*make_experiment(**options), display or Display(verbosity=-1))


def plan(*, display: Display | None = None, **options: Any) -> RunPlan:
    """Plan an experiment, quietly unless a display is given."""
    return running.plan(*make_experiment(**options), display or Display(verbosity=-1))


def plan_cells(**options: Any) -> PlannedCells:
    """Return the cells of an experiment."""
    experiment, place = make_experiment(**options)
    return planning.plan_cells(experiment, place.device, Display(verbosity=-1))


def start(task_file: Path, results: Path, **options: Any) -> running.Summary:
    """Run small models on a task file, one after the other."""
    defaults: dict[str, Any] = {
        "task_files": [task_file],
        "settings": make_settings(),
        "preset": "mini",
        "device": "cpu",
        "jobs": 1,
    }
    return run(results=results, **defaults | options)


def load(results: Path) -> list[Record]:
    """Return the records of a folder, all of which must be whole."""
    return Store(results).load(pytest.fail)
