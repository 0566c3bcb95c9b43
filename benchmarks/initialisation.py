"""How large attention's output is before training, by aggregator, and whether its size matters.

    python -m benchmarks.initialisation                     the table of standard deviations, in a few seconds
    python -m benchmarks.initialisation --trial TrDep       trains with and without gains as well: 18 cells, 5 minutes

The deviation is that of the aggregator's output over tokens and dimensions, in untrained models on 64 sentences of the
embedded data. Votes are averaged over the heads, and EM's activation halves the means, so routings begin smaller.
The gains of the trial: the output of EM routing times 4, and the votes of both routings times 2 sqrt(H).
Shapes: T tokens, H heads, d model_dim.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import tempfile
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

import probing
from probing.aggregators.em import EMAggregator
from probing.aggregators.simple import SimpleAggregator
from probing.config import PRESETS
from probing.corpus.source import choose_source
from probing.model import Packing, attentions, build_classifier
from probing.registry import AGGREGATORS
from probing.tasks import get_task, load_task

SENTENCES, SEEDS = 64, (0, 1, 2)
COMPARED = ("base", "simple", "em")
GAIN = 4.0
"""Gain on the output of EM routing that makes it about as large as Base's."""


class EMWithLargerOutput(EMAggregator):
    """EM routing whose output begins as large as Base's."""

    def forward(self, heads: Tensor) -> Tensor:
        """Return (T, d) from the heads' outputs (T, H, d/H)."""
        return GAIN * super().forward(heads)


class EMWithLargerVotes(EMAggregator):
    """EM routing whose votes begin larger by 2 sqrt(H)."""

    def __init__(self, model_dim: int, num_heads: int, *, num_capsules: int, iterations: int) -> None:
        super().__init__(model_dim, num_heads, num_capsules=num_capsules, iterations=iterations)
        enlarge(self.votes.vote_weight, num_heads)


class SimpleWithLargerVotes(SimpleAggregator):
    """Simple routing whose votes begin larger by 2 sqrt(H)."""

    def __init__(self, model_dim: int, num_heads: int, *, num_capsules: int, iterations: int) -> None:
        super().__init__(model_dim, num_heads, num_capsules=num_capsules, iterations=iterations)
        enlarge(self.votes.vote_weight, num_heads)


TRIAL = (
    "base",
    "em",
    "simple",
    *(
        f"benchmarks.initialisation:{each.__name__}"
        for each in (EMWithLargerOutput, EMWithLargerVotes, SimpleWithLargerVotes)
    ),
)


@torch.no_grad()
def enlarge(weight: Tensor, num_heads: int) -> None:
    """Multiply the vote weights by 2 sqrt(H)."""
    weight.mul_(2 * math.sqrt(num_heads))


def measure_deviations(preset: str, aggregator: str) -> list[float]:
    """Return the standard deviation of attention's output in each layer before training, the mean over seeds."""
    task = load_task(choose_source(["Tense"], data="mini", data_dir=None).files[get_task("Tense")])
    return torch.tensor([_measure(preset, aggregator, task, seed) for seed in SEEDS]).mean(0).tolist()


def _measure(preset: str, aggregator: str, task: Any, seed: int) -> list[float]:
    config, batch = PRESETS[preset], task.splits["te"].batch(np.arange(SENTENCES))
    torch.manual_seed(seed)
    model = build_classifier(
        AGGREGATORS.find(aggregator).object,
        vocabulary_size=len(task.words) + 1,
        num_classes=len(task.labels),
        **dataclasses.asdict(config.model),
    ).eval()
    found: list[float] = []
    for attention in attentions(model):
        attention.aggregator.register_forward_hook(lambda module, given, made: found.append(float(made.std())))
    arrays = (batch.rows, batch.positions, batch.lengths, batch.tokens)
    rows, positions, lengths, tokens = map(torch.from_numpy, arrays)
    with torch.inference_mode():
        model(tokens, Packing.build(rows, positions, lengths, int(batch.lengths.max())))
    return found


def main() -> None:
    """Print the table, and train the models of the trial if a task is named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trial", metavar="TASK", help="Task to train on, with and without gains.")
    parser.add_argument("--data", default="mini", help="Data of the trial. (default: %(default)s)")
    options = parser.parse_args()
    table = Table("preset", *COMPARED, title="Standard deviation of attention's output before training, by layer")
    for preset in PRESETS:
        table.add_row(
            preset, *(" ".join(f"{one:.2f}" for one in measure_deviations(preset, name)) for name in COMPARED)
        )
    Console().print(table)
    if options.trial:
        with tempfile.TemporaryDirectory() as folder:
            results = probing.train(TRIAL, tasks=options.trial, data=options.data, seeds=3, jobs=1, results=folder)
            found = results.to_dataframe().groupby("label", sort=False)["test_accuracy"]
            print(found.agg(["mean", "min", "max"]).round(1).to_markdown())


if __name__ == "__main__":
    main()
