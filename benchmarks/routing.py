"""What routing costs: step time and peak memory of each aggregator, as multiples of the same model without routing.

The yardstick, `votes-only`, makes the votes and averages them over the heads: all matrix products, no routing. The
models take turns, one training step each, and a ratio compares two steps of one round: load on the machine that lasts
longer than a round changes both alike. A step is forward, backward and Adam on 64 sentences of 16 tokens. On a machine
that is busy with other work, `--clock cpu --threads 1` counts the seconds that the step itself was running.

    python benchmarks/routing.py --rounds 20 --output benchmarks/routing.json
"""

from __future__ import annotations

import argparse
import functools
import json
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.progress import track
from rich.table import Table
from torch import Tensor, nn
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile

from probing.aggregators.em import EMAggregator
from probing.aggregators.implementation import describe
from probing.aggregators.linear import LinearAggregator
from probing.aggregators.simple import SimpleAggregator
from probing.aggregators.votes import Votes
from probing.config import PRESETS
from probing.model.attention import Packing
from probing.model.classifier import build_classifier

SENTENCES, LENGTH = 64, 16
VOCABULARY, CLASSES = 1000, 6
YARDSTICK = "votes-only"
GOALS = {"paper": 1.15, "small": 1.35}
"""The most that em and simple may take, as a multiple of votes-only."""
MEMORY_GOAL = 1.3
CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}


class VotesOnly(nn.Module):
    """The votes, averaged over the heads."""

    def __init__(self, model_dim: int, num_heads: int, *, num_capsules: int) -> None:
        super().__init__()
        self.votes = Votes(model_dim, num_heads, num_capsules=num_capsules)

    def forward(self, heads: Tensor) -> Tensor:
        averages: Tensor = self.votes(heads).mean(1).flatten(1)
        return averages


AGGREGATORS: dict[str, Callable[..., nn.Module]] = {
    YARDSTICK: VotesOnly,
    "base": LinearAggregator,
    "simple": SimpleAggregator,
    "em": EMAggregator,
    "simple (reference)": functools.partial(SimpleAggregator, implementation="reference"),
    "em (reference)": functools.partial(EMAggregator, implementation="reference"),
}


@dataclass(frozen=True, slots=True)
class Trainer:
    """A model and its next training step."""

    model: nn.Module
    adam: torch.optim.Adam
    tokens: Tensor
    packing: Packing
    labels: Tensor

    @classmethod
    def build(cls, preset: str, aggregator: Callable[..., nn.Module]) -> Trainer:
        torch.manual_seed(0)
        sizes = PRESETS[preset].model
        model = build_classifier(
            aggregator,
            vocabulary_size=VOCABULARY,
            num_classes=CLASSES,
            num_layers=sizes.num_layers,
            model_dim=sizes.model_dim,
            num_heads=sizes.num_heads,
            feed_forward_dim=sizes.feed_forward_dim,
            head_dim=sizes.head_dim,
            dropout=sizes.dropout,
            num_capsules=sizes.num_capsules,
            iterations=sizes.iterations,
        )
        rows = torch.arange(SENTENCES).repeat_interleave(LENGTH)
        positions = torch.arange(LENGTH).repeat(SENTENCES)
        packing = Packing.build(rows, positions, torch.full((SENTENCES,), LENGTH), LENGTH)
        tokens = torch.randint(VOCABULARY, (SENTENCES * LENGTH,))
        labels = torch.randint(CLASSES, (SENTENCES,))
        return cls(model, torch.optim.Adam(model.parameters(), lr=1e-4, fused=True), tokens, packing, labels)

    def step(self) -> None:
        self.adam.zero_grad()
        functional.cross_entropy(self.model(self.tokens, self.packing), self.labels).backward()
        self.adam.step()

    def time_step(self, clock: Callable[[], float]) -> float:
        start = clock()
        self.step()
        return clock() - start

    def measure_memory(self) -> int:
        """Return the most bytes that forward and backward hold at once, above the parameters and their gradients."""
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
            for parameter in self.model.parameters():
                if parameter.grad is not None:
                    parameter.grad.zero_()
            functional.cross_entropy(self.model(self.tokens, self.packing), self.labels).backward()
        results = profiler.profiler.kineto_results.events()
        changes = sorted((event.start_ns(), event.nbytes()) for event in results if event.name() == "[memory]")
        held = peak = 0
        for _, change in changes:
            held += change
            peak = max(peak, held)
        return peak


def measure(preset: str, names: list[str], rounds: int, clock: Callable[[], float]) -> dict[str, Any]:
    """Return the medians of step times, of their ratios to the yardstick, and the peak memory of each model."""
    trainers = {name: Trainer.build(preset, AGGREGATORS[name]) for name in names}
    for trainer in trainers.values():
        trainer.step()
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for turn in track(range(rounds), description=preset, console=Console(stderr=True), transient=True):
        order = names if turn % 2 else names[::-1]
        for name in order:
            seconds[name].append(trainers[name].time_step(clock))
    memory = {name: trainer.measure_memory() for name, trainer in trainers.items()}
    return {
        name: {
            "milliseconds": 1000 * statistics.median(seconds[name]),
            "time_ratio": statistics.median(a / b for a, b in zip(seconds[name], seconds[YARDSTICK], strict=True)),
            "megabytes": memory[name] / 2**20,
            "memory_ratio": memory[name] / memory[YARDSTICK],
        }
        for name in names
    }


def render(results: dict[str, Any]) -> Table:
    """Return the results as a table, a row for each model."""
    table = Table("size", "aggregator", "ms a step", "time", "MB at the peak", "memory", title="Cost of routing")
    for preset, rows in results["sizes"].items():
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
    table.caption = (
        f"Multiples of {YARDSTICK}, medians of {results['rounds']} rounds, {results['clock']} clock, "
        f"{results['threads']} threads, "
        f"{results['machine']}, torch {results['torch']}. Goals: {GOALS['paper']}x at paper size, {GOALS['small']}x at "
        f"small size, {MEMORY_GOAL}x memory."
    )
    return table


def name_machine() -> str:
    """Return the processor's name and the number of its cores."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0]}, {len(names)} cores" if names else platform.machine()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", action="append", choices=GOALS, help="a preset's sizes; all of them by default")
    parser.add_argument("--aggregator", action="append", choices=AGGREGATORS, help="besides votes-only; all by default")
    parser.add_argument("--rounds", type=int, default=20, help="steps of each model (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), help="(default: %(default)s)")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="(default: %(default)s)")
    parser.add_argument("--output", type=Path, help="write the figures there as JSON")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    names = list(dict.fromkeys([YARDSTICK, *(options.aggregator or AGGREGATORS)]))
    results = {
        "machine": name_machine(),
        "torch": torch.__version__,
        "threads": options.threads,
        "clock": options.clock,
        "rounds": options.rounds,
        "implementation": describe("auto", "cpu"),
        "sizes": {
            preset: measure(preset, names, options.rounds, CLOCKS[options.clock]) for preset in options.size or GOALS
        },
    }
    Console().print(render(results))
    if options.output:
        options.output.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
