"""How long `probe report` takes for many records: as many as ten tasks, five models and 200 seeds leave."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from probing.registry import AGGREGATORS
from probing.results import CellIdentity, Counts, DataIdentity, ModelIdentity, Record, Scores, Store, Timing
from probing.tasks import TASKS, Task

SENTENCES = 2000
SEEDS = (2, 20, 200)
GOAL = 3.0
"""The most seconds for 10,000 records."""

REPORT = "import sys; from probing.commands import main; main(['report', '--results', sys.argv[1]])"


def measure(*, rounds: int, **_: Any) -> dict[str, Any]:
    """Return seconds and processor seconds of a report, by the number of records."""
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        store = Store(Path(name))
        written = 0
        for seeds in SEEDS:
            models = list(AGGREGATORS.builtins)[:5]
            for task in TASKS:
                for model in models:
                    for seed in range(written, seeds):
                        store.save(make_record(task, model, seed))
            written = seeds
            measured = [_time(store.folder) for _ in range(max(1, rounds // 5))]
            number = len(TASKS) * len(models) * seeds
            figures[str(number)] = {
                "seconds": statistics.median(wall for wall, _ in measured),
                "processor_seconds": statistics.median(cpu for _, cpu in measured),
            }
    return figures


def make_record(task: Task, model: str, seed: int) -> Record:
    """Return a record whose predictions are right for three of four sentences, some of which are hard for all."""
    place = [known.name for known in TASKS].index(task.name)
    fixed = np.random.default_rng(place)
    gold, hardness = fixed.integers(task.classes, size=SENTENCES), fixed.random(SENTENCES)
    rng = np.random.default_rng([place, list(AGGREGATORS.builtins).index(model), seed])
    right = np.argsort(np.argsort(hardness + rng.random(SENTENCES))) < 0.75 * SENTENCES + rng.normal(0, 10)
    predictions = np.where(right, gold, (gold + rng.integers(1, task.classes, SENTENCES)) % task.classes)
    tests, hits = (np.bincount(some, minlength=task.classes).tolist() for some in (gold, gold[right]))
    accuracy = 100 * float(right.mean())
    scores = Scores(
        dev_accuracy=accuracy,
        test_accuracy=accuracy,
        majority_accuracy=100 * max(tests) / SENTENCES,
        best_epoch=8,
        parameters=1_000_000,
        vocabulary_size=30_000,
        curve=[{"epoch": n, "loss": float(rng.random()), "dev_accuracy": float(100 * rng.random())} for n in range(9)],
        classes={
            f"label {n}": Counts(train=10, dev=1, test=test, right=hit)
            for n, (test, hit) in enumerate(zip(tests, hits, strict=True))
        },
        gold=gold.tolist(),
        predictions=predictions.tolist(),
    )
    identity = CellIdentity(
        task=task.name,
        family=task.family,
        seed=seed,
        preset="small",
        data=DataIdentity(name="random", file=f"{task.file}.txt", sha256=f"{place}" * 64),
        model=ModelIdentity(name=model, label=AGGREGATORS.builtins[model].label, version="built-in"),
        settings={"training": {f"setting {n}": n / 7 for n in range(20)}},
    )
    return Record(
        identity=identity,
        outcome=scores,
        timing=Timing(seconds=1.0, tokens_per_second=1.0, finished_at="2026-01-01T00:00:00+00:00"),
        where={"probing": "0", "torch": "0", "python": "0", "device": "cpu", "threads": 1},
        key=f"{place}{list(AGGREGATORS.builtins).index(model)}{seed:010}" + "0" * 52,
    )


def _time(folder: Path) -> tuple[float, float]:
    """Return how long a report takes, and how long the processor was at it."""
    before, start = os.times(), os.times().elapsed
    subprocess.run([sys.executable, "-c", REPORT, str(folder)], stdout=subprocess.DEVNULL, check=True)
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return after.elapsed - start, used


def render(figures: dict[str, Any]) -> Table:
    """Return the figures as a table."""
    table = Table("records", "s", "s of the processor", title="`probe report`")
    for number, row in figures.items():
        table.add_row(f"{int(number):,}", f"{row['seconds']:.2f}", f"{row['processor_seconds']:.2f}")
    table.caption = f"{SENTENCES:,} test sentences each; the goal for 10,000 records is {GOAL:.0f} s"
    return table
