"""What routing costs: step time and peak memory of each aggregator, as multiples of the same model without routing.

The yardstick, `votes-only`, makes the votes and averages them over the heads: all matrix products, no routing, in plain
torch operations that keep for the backward pass what they usually do.
A step is forward, backward and Adam on 64 sentences of 16 tokens.
"""

from __future__ import annotations

import functools
import statistics
from collections.abc import Callable
from typing import Any

from rich.table import Table
from torch import Tensor, nn

from benchmarks.measuring import median_ratio, take_turns
from benchmarks.steps import Trainer
from probing.aggregators.em import EMAggregator
from probing.aggregators.linear import LinearAggregator
from probing.aggregators.simple import SimpleAggregator
from probing.aggregators.votes import Votes
from probing.config import PRESETS

YARDSTICK = "votes-only"
GOALS = {"paper": 1.15, "small": 1.35}
"""The most that em and simple may take, as a multiple of votes-only."""
MEMORY_GOAL = 1.3


class VotesOnly(nn.Module):
    """The votes, averaged over the heads."""

    def __init__(self, model_dim: int, num_heads: int, *, num_capsules: int) -> None:
        super().__init__()
        self.votes = Votes(model_dim, num_heads, num_capsules=num_capsules)

    def forward(self, heads: Tensor) -> Tensor:
        votes: Tensor = self.votes.vote(self.votes.make_capsules(heads)).view(*heads.shape[:2], -1)
        return votes.mean(1)


AGGREGATORS: dict[str, Callable[..., nn.Module]] = {
    YARDSTICK: VotesOnly,
    "base": LinearAggregator,
    "simple": SimpleAggregator,
    "em": EMAggregator,
    "simple (reference)": functools.partial(SimpleAggregator, implementation="reference"),
    "em (reference)": functools.partial(EMAggregator, implementation="reference"),
}


def measure(*, rounds: int, clock: Callable[[], float]) -> dict[str, Any]:
    """Return, by preset and aggregator, the medians of step times and of their ratios, and the peak memory."""
    return {
        preset: _measure_size(preset, max(1, rounds // 3) if preset == "paper" else rounds, clock) for preset in GOALS
    }


def _measure_size(preset: str, rounds: int, clock: Callable[[], float]) -> dict[str, Any]:
    trainers = {name: Trainer.build(factory, PRESETS[preset].model) for name, factory in AGGREGATORS.items()}
    steps = {name: trainer.step for name, trainer in trainers.items()}
    seconds = take_turns(steps, rounds=rounds, clock=clock, title=f"routing, {preset}")
    memory = {name: trainer.measure_memory() for name, trainer in trainers.items()}
    return {
        name: {
            "milliseconds": 1000 * statistics.median(seconds[name]),
            "time_ratio": median_ratio(seconds[name], seconds[YARDSTICK]),
            "megabytes": memory[name] / 2**20,
            "memory_ratio": memory[name] / memory[YARDSTICK],
        }
        for name in trainers
    }


def render(figures: dict[str, Any]) -> Table:
    """Return the figures as a table, a row for each size and aggregator."""
    table = Table("size", "aggregator", "ms a step", "time", "MB at the peak", "memory", title="Cost of routing")
    for preset, rows in figures.items():
        for name, row in rows.items():
            table.add_row(
                preset,
                name,
                f"{row['milliseconds']:.1f}",
                f"{row['time_ratio']:.2f}x",
                f"{row['megabytes']:.0f}",
                f"{row['memory_ratio']:.2f}x",
            )
        table.add_section()
    goals = ", ".join(f"{goal}x at {preset} size" for preset, goal in GOALS.items())
    table.caption = f"Multiples of {YARDSTICK}. Goals for simple and em: {goals}; memory {MEMORY_GOAL}x"
    return table
