"""The optimisation loop of torch modules: Adam with warm-up, clipping, random batches, early stopping on a dev score.

An objective defines the loss of a batch, the score on dev, and which score is better. A training can be stopped at any
time, and goes on from its checkpoint as if it had never been stopped.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from probing.config import TrainingConfig
from probing.signals import Hold
from probing.tasks import Integers
from probing.training.checkpoints import Checkpoint, check_fit
from probing.training.devices import pick_precision
from probing.training.objectives import REMEDY, NonFiniteLossError, Objective
from probing.training.optimizer import Optimizer

STEPS_BETWEEN_REPORTS = 20
"""Number of steps between two readings of the loss: on a GPU each reading waits for the device."""
SECONDS_BETWEEN_REPORTS = 2.0
"""Longest time between two readings of the loss, for slow steps."""
ENCODING = 0.9
"""Approximate share of the time that a frozen encoder takes to encode all sentences before the head is trained."""

AnyBatch = TypeVar("AnyBatch")


@dataclass(frozen=True, slots=True)
class Epoch:
    """Outcome of one pass over the training examples."""

    epoch: int
    loss: float
    """Mean training loss per example."""
    score: float
    """The objective's score on dev, such as an accuracy in percent."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a training."""

    epoch: int
    """Number of the epoch that is under way; 0 while a frozen encoder encodes the sentences."""
    max_epochs: int
    fraction: float
    """Share of this epoch that is done."""
    loss: float
    score: float | None
    """Score of the last whole epoch."""
    tokens: int
    """Number of tokens trained on since the beginning."""
    epoch_ended: bool = False
    frozen: bool = False
    """Whether the encoder is frozen: then it encodes all sentences, in epoch 0, before the head is trained."""

    @property
    def done(self) -> float:
        """Share of the whole training that is done, if early stopping saves no epoch."""
        if self.epoch == 0:
            return ENCODING * self.fraction
        epochs = (self.epoch - 1 + self.fraction) / self.max_epochs
        return ENCODING + (1 - ENCODING) * epochs if self.frozen else epochs


@dataclass(frozen=True, slots=True)
class TrainingOutcome:
    """Record of a training; the model holds the weights of the best epoch."""

    best_epoch: int
    score: float
    """Score of the best epoch on dev."""
    curve: tuple[Epoch, ...]
    tokens: int


def train(
    model: nn.Module,
    objective: Objective[AnyBatch],
    settings: TrainingConfig,
    *,
    seed: int,
    device: torch.device,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    checkpoint: Checkpoint | None = None,
) -> TrainingOutcome:
    """Train the model until its score stops improving, and leave it with the weights of its best epoch."""
    state = State.begin(model, settings, device, seed=seed)
    precision = pick_precision(settings.precision, device)
    checkpoint = checkpoint or Checkpoint(None, key="", device=device)
    reported = 0.0
    with Hold() as hold:
        try:
            with hold.moment():  # otherwise a signal could be mistaken for a damaged file
                checkpoint.resume(state)
            while not state.is_over(objective, settings):
                model.train()
                order, shuffling = state.draw_order(len(objective))
                for step, batch in enumerate(objective.batches(order[state.seen :])):
                    with hold.step():
                        state.step(objective, batch, precision)
                    if step % STEPS_BETWEEN_REPORTS == 0 or time.monotonic() - reported > SECONDS_BETWEEN_REPORTS:
                        on_progress(state.progress(settings.max_epochs, len(objective)))
                        reported = time.monotonic()
                    if checkpoint.is_due:
                        checkpoint.save(state)
                ended = Epoch(state.epoch, state.mean_loss, objective.score())
                with hold.moment():
                    state.end_epoch(ended, shuffling, objective)
                checkpoint.save(state)
                reached = Progress(ended.epoch, settings.max_epochs, 1.0, ended.loss, ended.score, state.tokens)
                on_progress(dataclasses.replace(reached, epoch_ended=True))
        except KeyboardInterrupt:
            if not hold.torn:
                checkpoint.save_if_quick(state)
            raise
    assert state.best is not None
    model.load_state_dict(state.best_weights)
    return TrainingOutcome(state.best.epoch, state.best.score, tuple(state.curve), state.tokens)


@dataclass(slots=True)
class State:
    """Everything that the rest of a training depends on."""

    model: nn.Module
    optimizer: Optimizer
    device: torch.device
    shuffling: dict[str, Any]
    """State of the shuffler before it draws this epoch's order."""
    total: Tensor
    """Loss of this epoch so far, summed over its examples."""
    seen: int = 0
    """Number of this epoch's examples that were trained on."""
    tokens: int = 0
    curve: list[Epoch] = field(default_factory=list)
    best: Epoch | None = None
    best_weights: dict[str, Tensor] = field(default_factory=dict)

    @classmethod
    def begin(cls, model: nn.Module, settings: TrainingConfig, device: torch.device, *, seed: int) -> State:
        """Return the state before the first step."""
        optimizer = Optimizer(
            model,
            learning_rate=settings.learning_rate,
            warmup_steps=settings.warmup_steps,
            clip_norm=settings.clip_norm,
        )
        shuffling = dict(np.random.default_rng(seed).bit_generator.state)
        return cls(model, optimizer, device, shuffling, torch.zeros((), device=device))

    @property
    def epoch(self) -> int:
        """Number of the epoch that is under way."""
        return len(self.curve) + 1

    @property
    def mean_loss(self) -> float:
        loss = self.total.item() / self.seen
        if not math.isfinite(loss):
            raise NonFiniteLossError(f"the loss became {loss} in epoch {self.epoch}. {REMEDY}")
        return loss

    def is_over(self, objective: Objective[Any], settings: TrainingConfig) -> bool:
        """Return whether no better score is to be expected."""
        if self.best is None:
            return False
        ended = len(self.curve)
        waited = ended - self.best.epoch
        return ended >= settings.max_epochs or waited >= settings.patience or objective.is_perfect(self.best.score)

    def draw_order(self, size: int) -> tuple[Integers, dict[str, Any]]:
        """Return the order of this epoch's examples, and the shuffler's state after drawing it."""
        shuffler = np.random.default_rng()
        shuffler.bit_generator.state = self.shuffling
        return shuffler.permutation(size), dict(shuffler.bit_generator.state)

    def progress(self, max_epochs: int, size: int) -> Progress:
        """Return how far the training has come."""
        last = self.curve[-1].score if self.curve else None
        return Progress(self.epoch, max_epochs, self.seen / size, self.mean_loss, last, self.tokens)

    def step(self, objective: Objective[AnyBatch], batch: AnyBatch, precision: torch.dtype) -> None:
        """Train on a batch. On a GPU the work is only queued here: the next batch is made while it runs."""
        narrow = precision != torch.float32
        with torch.autocast(self.device.type, precision) if narrow else contextlib.nullcontext():
            loss = objective.loss(batch)
        self.optimizer.step(loss)
        examples, tokens = objective.size(batch)
        self.total += loss.detach() * examples
        self.seen += examples
        self.tokens += tokens

    def end_epoch(self, ended: Epoch, shuffling: dict[str, Any], objective: Objective[Any]) -> None:
        """Record the epoch's outcome, and keep the weights if they are the best so far."""
        self.curve.append(ended)
        if self.best is None or objective.is_better(ended.score, self.best.score):
            self.best = ended
            self.best_weights = {name: value.detach().clone() for name, value in self.model.state_dict().items()}
        self.shuffling, self.seen = shuffling, 0
        self.total.zero_()

    def tensors(self) -> dict[str, Tensor]:
        """Return all tensors, those of the random generators included."""
        tensors = {f"weights.{name}": value for name, value in self.model.state_dict().items()}
        tensors |= {f"best.{name}": value for name, value in self.best_weights.items()}
        tensors |= self.optimizer.tensors() | {"total": self.total, "random.cpu": torch.get_rng_state()}
        if self.device.type in ("cuda", "mps"):
            tensors[f"random.{self.device.type}"] = getattr(torch, self.device.type).get_rng_state()
        return tensors

    def facts(self) -> dict[str, Any]:
        """Return the part of the state that is not a tensor."""
        names = ("shuffling", "seen", "tokens")
        facts = {name: getattr(self, name) for name in names} | {"steps": self.optimizer.steps}
        best = self.best.epoch if self.best else 0
        return facts | {"curve": [dataclasses.asdict(epoch) for epoch in self.curve], "best": best}

    def restore(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        """Take over the tensors and facts of a checkpoint, if they are those of such a training."""
        curve = [Epoch(**epoch) for epoch in facts["curve"]]
        if any(type(value) is not float for epoch in curve for value in (epoch.loss, epoch.score)):
            raise ValueError("its curve has no such numbers")
        for name in ("seen", "tokens", "steps", "best"):
            if type(facts[name]) is not int or facts[name] < 0:
                raise ValueError(f"{name} is not a number of {name}")
        if facts["best"] > len(curve) or bool(facts["best"]) != bool(curve):
            raise ValueError("its best epoch is not in its curve")
        np.random.default_rng().bit_generator.state = facts["shuffling"]
        best = curve[facts["best"] - 1] if curve else None
        expected = self.tensors()
        if best is not None:
            expected |= {f"best.{name}": value for name, value in self.model.state_dict().items()}
        check_fit(tensors, expected)
        torch.set_rng_state(tensors["random.cpu"])
        if self.device.type in ("cuda", "mps"):
            getattr(torch, self.device.type).set_rng_state(tensors[f"random.{self.device.type}"])
        weights = {name: tensors[f"weights.{name}"] for name in self.model.state_dict()}
        self.model.load_state_dict(weights)
        self.optimizer.restore(tensors, facts["steps"])
        self.total.copy_(tensors["total"])
        self.shuffling, self.seen, self.tokens = facts["shuffling"], facts["seen"], facts["tokens"]
        self.curve, self.best = curve, best
        self.best_weights = (
            {name: tensors[f"best.{name}"].to(self.device, copy=True) for name in weights} if best else {}
        )
