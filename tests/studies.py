"""Small trainings that tests start: a task of a few words, models of a few numbers, a run that says nothing."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from probing import runner
from probing.display import Display
from probing.results import Result, Store


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
    training = {"max_epochs": max_epochs, "min_frequency": 1}
    return (
        *(f"model.{key}={value}" for key, value in model.items()),
        *(f"training.{k}={v}" for k, v in training.items()),
    )


def start(task_file: Path, results: Path, **options: Any) -> runner.Summary:
    """Run small models on a task file, one after the other."""
    defaults: dict[str, Any] = {
        "task_files": [task_file],
        "settings": make_settings(),
        "preset": "mini",
        "device": "cpu",
        "jobs": 1,
        "display": Display(verbosity=-1),
    }
    return runner.run(results=results, **defaults | options)


def load(results: Path) -> list[Result]:
    """Return the records of a folder, all of which must be whole."""
    return Store(results).load(pytest.fail)
