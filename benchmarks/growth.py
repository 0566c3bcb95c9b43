"""How a step of em grows: time and peak memory over sentences, width d, capsules N and iterations T."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable
from typing import Any

from rich.table import Table

from benchmarks.measuring import median_ratio, take_turns
from benchmarks.steps import SENTENCES, Trainer
from probing.aggregators.em import EMAggregator
from probing.config import PRESETS

SIZES = PRESETS["small"].model
VALUES = {
    "sentences": (16, 32, 64, 128, 256),
    "d = N": (64, 128, 256, 512),
    "N": (16, 32, 64, 128),
    "T": (1, 2, 3, 4, 6),
}


def measure(*, rounds: int, clock: Callable[[], float]) -> dict[str, Any]:
    """Return, by what grows and its value, milliseconds and megabytes of a step, the rest being preset small."""
    figures: dict[str, Any] = {}
    for name, values in VALUES.items():
        trainers = {str(value): _build(name, value) for value in values}
        steps = {value: trainer.step for value, trainer in trainers.items()}
        seconds = take_turns(steps, rounds=max(1, rounds // 2), clock=clock, title=f"growth, {name}")
        smallest = str(values[0])
        figures[name] = {
            value: {
                "milliseconds": 1000 * statistics.median(seconds[value]),
                "time_ratio": median_ratio(seconds[value], seconds[smallest]),
                "megabytes": trainer.measure_memory() / 2**20,
            }
            for value, trainer in trainers.items()
        }
    return figures


def _build(name: str, value: int) -> Trainer:
    changes: dict[str, Any] = {
        "d = N": {"model_dim": value, "num_capsules": value, "feed_forward_dim": 4 * value, "head_dim": value},
        "N": {"num_capsules": value},
        "T": {"iterations": value},
    }.get(name, {})
    sizes = dataclasses.replace(SIZES, **changes)
    return Trainer.build(EMAggregator, sizes, sentences=value if name == "sentences" else SENTENCES)


def render(figures: dict[str, Any]) -> Table:
    """Return the figures as a table."""
    table = Table("what grows", "to", "ms a step", "times the first", "MB at the peak", title="Growth of a step of em")
    for name, rows in figures.items():
        for value, row in rows.items():
            table.add_row(
                name, value, f"{row['milliseconds']:.1f}", f"{row['time_ratio']:.2f}x", f"{row['megabytes']:.1f}"
            )
        table.add_section()
    table.caption = "Preset small, 64 sentences of 16 tokens, except for what grows"
    return table
