"""Training steps of one model on one batch: the unit that most figures are made of."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile

from benchmarks.measuring import CLASSES, VOCABULARY, make_split
from probing.config import ModelConfig
from probing.model.classifier import build_classifier
from probing.native import products_in
from probing.tasks.batches import Batch, PackedSplit
from probing.training.objectives import compute_scores
from probing.training.optimizer import Optimizer

CPU = torch.device("cpu")
SENTENCES, LENGTH = 64, 16


def build_model(aggregator: Callable[..., nn.Module], sizes: ModelConfig) -> nn.Module:
    """Return the project's model, always with the same weights."""
    torch.manual_seed(0)
    return build_classifier(
        aggregator, vocabulary_size=VOCABULARY, num_classes=CLASSES, **dataclasses.asdict(sizes)
    ).train()


@dataclass(frozen=True, slots=True)
class Trainer:
    """A model, its optimizer and a batch: forward, backward, clipping and Adam, as `probe run` does them."""

    model: nn.Module
    optimizer: Optimizer
    batch: Batch

    @classmethod
    def build(
        cls,
        aggregator: Callable[..., nn.Module],
        sizes: ModelConfig,
        *,
        sentences: int = SENTENCES,
        split: PackedSplit | None = None,
    ) -> Trainer:
        """Make a trainer on the split's first sentences; without a split, on sentences of 16 tokens."""
        model = build_model(aggregator, sizes)
        split = split or make_split(np.full(sentences, LENGTH))
        optimizer = Optimizer(model, learning_rate=1e-4, warmup_steps=100, clip_norm=1.0)
        return cls(model, optimizer, split.batch(np.arange(sentences)))

    def loss(self) -> Tensor:
        return functional.cross_entropy(
            compute_scores(self.model, self.batch, CPU), torch.from_numpy(self.batch.labels)
        )

    def step(self) -> None:
        with products_in(torch.float32, CPU):
            self.optimizer.step([self.loss()])

    def measure_memory(self) -> int:
        """Return the most bytes that forward and backward hold at once, above the parameters and their gradients."""
        self.step()
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
            self.loss().backward()
        events = profiler.profiler.kineto_results.events()
        changes = sorted((event.start_ns(), event.nbytes()) for event in events if event.name() == "[memory]")
        held = peak = 0
        for _, change in changes:
            held += change
            peak = max(peak, held)
        return peak
