"""A whole epoch against a straightforward PyTorch loop: padded batches, attention and routing written out, plain Adam.

Both see the same sentences in random batches and score a dev split at the end. The second figure is what padding still
costs: a step on SentEval's lengths against one on as many sentences and tokens of equal length.
"""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from rich.table import Table
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from benchmarks.measuring import CLASSES, VOCABULARY, draw_sentences, make_split, median_ratio, take_turns
from benchmarks.steps import CPU, SENTENCES, Trainer, build_model
from probing.aggregators.em import EMAggregator
from probing.aggregators.linear import LinearAggregator
from probing.aggregators.simple import SimpleAggregator
from probing.config import PRESETS, ModelConfig, TrainingConfig
from probing.tasks.batches import PackedSplit
from probing.training.loop import train
from probing.training.objectives import Classification

AGGREGATORS: dict[str, Callable[..., nn.Module]] = {
    "base": LinearAggregator,
    "simple": SimpleAggregator,
    "em": EMAggregator,
}
SETTINGS = TrainingConfig(max_epochs=1, patience=1, batch_size=SENTENCES, learning_rate=1e-4, clip_norm=1.0)
SIZES = {"small": 1024, "paper": 192}
"""The sentences of an epoch."""
GOAL = 3.0
"""How many times as fast as the straightforward loop em should be."""
PADDING_GOAL = 0.05
PADDING_ROUNDS = 6
"""So many times the rounds of the rest: it takes patience to tell a few percent from the machine's own unrest."""


class PlainLayer(nn.Module):
    """A pre-norm block on padded sentences (B, L, d)."""

    def __init__(self, aggregator: nn.Module, sizes: ModelConfig) -> None:
        super().__init__()
        width = sizes.model_dim
        self.num_heads = sizes.num_heads
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.aggregator = aggregator
        self.feed_forward = nn.Sequential(
            nn.Linear(width, sizes.feed_forward_dim), nn.ReLU(), nn.Linear(sizes.feed_forward_dim, width)
        )
        self.dropout = nn.Dropout(sizes.dropout)

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        batch, length, width = hidden.shape
        normed = self.norms[0](hidden)
        query, key, value = (
            layer(normed).view(batch, length, self.num_heads, -1).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        energies = query @ key.transpose(2, 3) / math.sqrt(width // self.num_heads)
        weights = energies.masked_fill(~mask[:, None, None, :], -math.inf).softmax(-1)
        heads = (weights @ value).transpose(1, 2).reshape(batch * length, self.num_heads, -1)
        hidden = hidden + self.dropout(self.aggregator(heads).view(batch, length, width))
        added: Tensor = self.dropout(self.feed_forward(self.norms[1](hidden)))
        return hidden + added


class PlainModel(nn.Module):
    """The same encoder and head, the obvious way."""

    def __init__(self, aggregator: Callable[..., nn.Module], sizes: ModelConfig) -> None:
        super().__init__()
        width, options = sizes.model_dim, {}
        if aggregator is not LinearAggregator:
            options = {
                "num_capsules": sizes.num_capsules,
                "iterations": sizes.iterations,
                "implementation": "reference",
            }
        self.embedding = nn.Embedding(VOCABULARY, width)
        self.layers = nn.ModuleList(
            PlainLayer(aggregator(width, sizes.num_heads, **options), sizes) for _ in range(sizes.num_layers)
        )
        self.norm = nn.LayerNorm(width)
        self.head = nn.Sequential(
            nn.Linear(width, sizes.head_dim), nn.ReLU(), nn.Dropout(sizes.dropout), nn.Linear(sizes.head_dim, CLASSES)
        )
        self.dropout = nn.Dropout(sizes.dropout)

    def forward(self, tokens: Tensor) -> Tensor:
        mask = tokens > 0
        hidden = self.embedding(tokens)
        places = torch.arange(tokens.shape[1]).unsqueeze(1) * torch.exp(
            torch.arange(0, hidden.shape[2], 2) * (-math.log(10_000) / hidden.shape[2])
        )
        hidden = self.dropout(hidden + torch.cat([places.sin(), places.cos()], 1))
        for layer in self.layers:
            hidden = layer(hidden, mask)
        means = (self.norm(hidden) * mask.unsqueeze(2)).sum(1) / mask.sum(1, keepdim=True)
        scores: Tensor = self.head(means)
        return scores


def train_plainly(model: PlainModel, split: PackedSplit, dev: PackedSplit) -> float:
    """Train one epoch and return the dev accuracy."""
    adam = torch.optim.Adam(model.parameters(), lr=1e-4)
    for tokens, labels in _pad(split, torch.randperm(len(split))):
        loss = functional.cross_entropy(model.train()(tokens), labels)
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
    with torch.no_grad():
        model.eval()
        right = sum(int((model(tokens).argmax(1) == labels).sum()) for tokens, labels in _pad(dev))
    return right / len(dev)


def _pad(split: PackedSplit, order: Tensor | None = None) -> list[tuple[Tensor, Tensor]]:
    sentences = torch.from_numpy(split.tokens).split(np.diff(split.offsets).tolist())
    labels = torch.from_numpy(split.labels)
    chosen = torch.arange(len(split)) if order is None else order
    return [
        (pad_sequence([sentences[i] for i in part.tolist()], batch_first=True), labels[part])
        for part in chosen.split(SENTENCES)
    ]


def measure(*, rounds: int, clock: Callable[[], float]) -> dict[str, Any]:
    """Return, by preset and aggregator, seconds of an epoch and how many times as fast it is as the plain loop."""
    figures: dict[str, Any] = {}
    for preset, count in SIZES.items():
        split, dev = draw_sentences(count), draw_sentences(SENTENCES, seed=1)
        candidates: dict[str, Callable[[], object]] = {}
        for name, factory in AGGREGATORS.items():
            model = build_model(factory, PRESETS[preset].model)
            objective = Classification(model, split, dev, CPU, SETTINGS.batch_size)
            candidates[name] = functools.partial(train, model, objective, SETTINGS, seed=0, device=CPU)
            plain = PlainModel(factory, PRESETS[preset].model)
            candidates[f"{name}, plain"] = functools.partial(train_plainly, plain, split, dev)
        seconds = take_turns(candidates, rounds=max(1, rounds // 5), clock=clock, title=f"epochs, {preset}")
        figures[preset] = {
            name: {
                "sentences": count,
                "seconds": statistics.median(seconds[name]),
                "plain_seconds": statistics.median(seconds[f"{name}, plain"]),
                "speedup": median_ratio(seconds[f"{name}, plain"], seconds[name]),
                "tokens_per_second": len(split.tokens) / statistics.median(seconds[name]),
            }
            for name in AGGREGATORS
        }
        figures[preset]["em"]["padding"] = measure_padding(preset, rounds=rounds, clock=clock)
    return figures


def measure_padding(preset: str, *, rounds: int, clock: Callable[[], float]) -> float:
    """Return the share of a step of em that goes into padding."""
    varied = draw_sentences(SENTENCES)
    equal = np.full(SENTENCES, len(varied.tokens) // SENTENCES)
    equal[: len(varied.tokens) % SENTENCES] += 1
    sizes = PRESETS[preset].model
    steps = {
        "varied": Trainer.build(EMAggregator, sizes, split=varied).step,
        "equal": Trainer.build(EMAggregator, sizes, split=make_split(equal)).step,
    }
    seconds = take_turns(steps, rounds=PADDING_ROUNDS * rounds, clock=clock, title=f"padding, {preset}")
    return 1 - median_ratio(seconds["equal"], seconds["varied"])


def render(figures: dict[str, Any]) -> Table:
    """Return the figures as a table."""
    table = Table(
        "size", "aggregator", "tokens/s", "s an epoch", "plain loop", "times as fast", "padding", title="Epochs"
    )
    for preset, rows in figures.items():
        for name, row in rows.items():
            table.add_row(
                preset,
                name,
                f"{row['tokens_per_second']:,.0f}",
                f"{row['seconds']:.2f}",
                f"{row['plain_seconds']:.2f}",
                f"{row['speedup']:.1f}",
                f"{100 * row['padding']:.1f} %" if "padding" in row else "",
            )
        table.add_section()
    table.caption = (
        f"5 to 28 tokens a sentence, 12 on average. Goals: em {GOAL:.0f} times as fast, "
        f"padding below {100 * PADDING_GOAL:.0f} % of a step"
    )
    return table
