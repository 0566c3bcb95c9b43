"""Splits and models that trainings of tests are made of, and the training of a classifier with few words."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from probing.config import TrainingConfig
from probing.model.attention import Packing
from probing.model.classifier import Classifier, build_classifier
from probing.registry import AGGREGATORS
from probing.tasks.batches import PackedSplit
from probing.training import loop
from probing.training.objectives import Classification

CPU = torch.device("cpu")
SETTINGS = TrainingConfig(max_epochs=4, patience=2, batch_size=16, learning_rate=3e-3, clip_norm=1.0, precision="auto")
WARM = loop.Schedule(warmup_steps=10)


def make_split(size: int, seed: int) -> PackedSplit:
    """Sentences of 3 to 7 words out of 20; the class says whether word 1 occurs."""
    random = np.random.default_rng(seed)
    lengths = random.integers(3, 8, size)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    tokens = random.integers(2, 20, offsets[-1])
    labels = random.integers(0, 2, size)
    tokens[offsets[:-1][labels == 1]] = 1
    return PackedSplit(tokens, offsets, labels)


def make_model(aggregator: str = "em", dropout: float = 0.1) -> Classifier:
    torch.manual_seed(0)
    return build_classifier(
        AGGREGATORS.find(aggregator).object,
        vocabulary_size=20,
        num_classes=2,
        num_layers=2,
        model_dim=16,
        num_heads=4,
        feed_forward_dim=32,
        head_dim=16,
        dropout=dropout,
        num_capsules=8,
        iterations=2,
    )


class Scripted(nn.Module):
    """Scores from a bias alone, whose dev accuracy follows a script: a pass over dev reads the next entry."""

    def __init__(self, right: list[int]) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(2))
        self.right = right
        self.passes = 0

    def forward(self, tokens_T: Tensor, packing: Packing) -> Tensor:
        batch = len(packing.lengths)
        scores = self.bias.expand(batch, 2)
        if self.training:
            return scores
        wanted = torch.zeros(batch, 2)
        wanted[torch.arange(batch) >= self.right[self.passes], 1] = 1.0
        self.passes += 1
        return wanted


def zeros(size: int) -> PackedSplit:
    return PackedSplit(np.ones(size, np.int64), np.arange(size + 1), np.zeros(size, np.int64))


def classify(
    model: nn.Module, splits: tuple[PackedSplit, PackedSplit], settings: TrainingConfig = SETTINGS, **options: Any
) -> loop.TrainingOutcome:
    """Train a classifier on the first split, judged on the second."""
    objective = Classification(
        model,
        *splits,
        CPU,
        settings.batch_size,
        word_dropout=settings.word_dropout,
        label_smoothing=settings.label_smoothing,
    )
    return loop.train(model, objective, settings, **{"seed": 0, "device": CPU, "schedule": WARM} | options)
