"""The state of a training: everything that its rest depends on, and when dev is looked at."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from probing.native import products_in
from probing.tasks import Integers
from probing.training.checkpoints import check_fit
from probing.training.objectives import REMEDY, NonFiniteLossError, Objective
from probing.training.optimizer import Optimizer
from probing.training.ranks import ALONE, Ranks

ENCODING = 0.9
"""Approximate share of the time that a frozen encoder takes to encode all sentences before the head is trained."""
COUNTED = ("weight", "seen", "passes", "tokens")
"""Whole numbers of a training's state."""

AnyBatch = TypeVar("AnyBatch")


class LoopSettings(Protocol):
    """Settings that every training has; probing's and translation's configurations are such."""

    @property
    def max_epochs(self) -> int:
        """Number of passes over the training examples after which a training ends."""

    @property
    def patience(self) -> int:
        """Number of looks at dev without a better score after which a training ends."""

    @property
    def learning_rate(self) -> float:
        """Peak of the learning rate."""

    @property
    def clip_norm(self) -> float:
        """Largest gradient norm, or 0."""

    @property
    def precision(self) -> str:
        """Type of numbers in training, or `auto`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When dev is looked at, and which weights are taken in the end; by default once an epoch, and the best."""

    warmup_steps: int = 1
    """Number of steps in which the learning rate rises to its peak."""
    passes: int = 1
    """Number of passes over the training examples that make an epoch."""
    max_steps: int | None = None
    """Number of steps after which a training ends, whatever the epoch."""
    validate_every: int = 0
    """Number of steps between two looks at dev; 0 means once an epoch."""
    average: int = 1
    """Number of last looks whose weights are averaged, if that is no worse on dev than the best weights."""
    epsilon: float = 1e-8
    """Adam's epsilon."""
    weight_decay: float = 0.0
    """Share of the weights, times the learning rate, that each step takes from matrices."""


EVERY_EPOCH = Schedule()


@dataclass(frozen=True, slots=True)
class Epoch:
    """Outcome of one look at dev, ordinarily after each pass over the training examples."""

    epoch: int
    """Number of the look, counted from 1."""
    loss: float
    """Mean training loss since the last look."""
    score: float
    """The objective's score on dev, such as an accuracy in percent."""
    steps: int = 0
    """Number of steps so far."""
    passes: int = 0
    """Number of whole passes over the training examples so far."""
    details: Mapping[str, float] = field(default_factory=dict)
    """What else was measured on dev."""


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
    """Score of the last look at dev."""
    tokens: int
    """Number of tokens trained on since the beginning."""
    epoch_ended: bool = False
    frozen: bool = False
    """Whether the encoder is frozen: then it encodes all sentences, in epoch 0, before the head is trained."""
    share_of_steps: float = 0.0
    """Share of the largest number of steps that is done, if there is such a number."""

    @property
    def done(self) -> float:
        """Share of the whole training that is done, if early stopping saves no epoch."""
        if self.epoch == 0:
            return ENCODING * self.fraction
        epochs = max((self.epoch - 1 + self.fraction) / self.max_epochs, self.share_of_steps)
        return ENCODING + (1 - ENCODING) * epochs if self.frozen else epochs


@dataclass(slots=True)
class State:
    """Everything that the rest of a training depends on."""

    model: nn.Module
    optimizer: Optimizer
    device: torch.device
    shuffling: dict[str, Any]
    """State of the shuffler before it draws this epoch's order."""
    total: Tensor
    """Loss since the last look at dev, summed over what it is the mean of."""
    weight: int = 0
    """Number of what the loss is summed over."""
    seen: int = 0
    """Number of this pass's examples that were trained on."""
    passes: int = 0
    """Number of whole passes over the training examples."""
    tokens: int = 0
    seconds: float = 0.0
    """Time of all steps."""
    curve: list[Epoch] = field(default_factory=list)
    best: Epoch | None = None
    best_weights: dict[str, Tensor] = field(default_factory=dict)
    recent: list[dict[str, Tensor]] = field(default_factory=list)
    """Weights of the last looks, if they are to be averaged."""

    @classmethod
    def begin(
        cls,
        model: nn.Module,
        settings: LoopSettings,
        device: torch.device,
        *,
        seed: int,
        schedule: Schedule = EVERY_EPOCH,
    ) -> State:
        """Return the state before the first step."""
        optimizer = Optimizer(
            model,
            learning_rate=settings.learning_rate,
            warmup_steps=schedule.warmup_steps,
            clip_norm=settings.clip_norm,
            epsilon=schedule.epsilon,
            weight_decay=schedule.weight_decay,
        )
        shuffling = dict(np.random.default_rng(seed).bit_generator.state)
        return cls(model, optimizer, device, shuffling, torch.zeros((), device=device))

    def count_epochs(self, schedule: Schedule) -> int:
        """Return the number of the epoch that is under way."""
        return self.passes // schedule.passes + 1

    @property
    def mean_loss(self) -> float:
        loss = self.total.item() / max(1, self.weight)
        if not math.isfinite(loss):
            epoch = self.passes + bool(self.seen)
            raise NonFiniteLossError(f"the loss became {loss} in epoch {epoch}. {REMEDY}")
        return loss

    def has_spent(self, settings: LoopSettings, schedule: Schedule) -> bool:
        """Return whether all steps or all epochs are done."""
        passes, steps = settings.max_epochs * schedule.passes, self.optimizer.steps
        return self.passes >= passes or (schedule.max_steps is not None and steps >= schedule.max_steps)

    def is_look_due(self, settings: LoopSettings, schedule: Schedule) -> bool:
        """Return whether dev is to be looked at before the next step."""
        last = self.curve[-1] if self.curve else Epoch(0, 0.0, 0.0)
        if self.optimizer.steps == last.steps:
            return False
        if self.has_spent(settings, schedule):
            return True
        if schedule.validate_every:
            return self.optimizer.steps % schedule.validate_every == 0
        return self.passes - last.passes >= schedule.passes

    def is_over(self, objective: Objective[Any], settings: LoopSettings, schedule: Schedule) -> bool:
        """Return whether no better score is to be expected."""
        if self.best is None or self.is_look_due(settings, schedule):
            return False
        waited = len(self.curve) - self.best.epoch
        spent = self.has_spent(settings, schedule)
        return spent or waited >= settings.patience or objective.is_perfect(self.best.score)

    def draw_order(self, size: int) -> tuple[Integers, dict[str, Any]]:
        """Return the order of this pass's examples, and the shuffler's state after drawing it."""
        shuffler = np.random.default_rng()
        shuffler.bit_generator.state = self.shuffling
        return shuffler.permutation(size), dict(shuffler.bit_generator.state)

    def progress(self, max_epochs: int, size: int, schedule: Schedule = EVERY_EPOCH) -> Progress:
        """Return how far the training has come."""
        last = self.curve[-1].score if self.curve else None
        loss = self.mean_loss if self.weight else math.nan
        share = self.optimizer.steps / schedule.max_steps if schedule.max_steps else 0.0
        fraction = (self.passes % schedule.passes + self.seen / size) / schedule.passes
        epoch = self.count_epochs(schedule)
        return Progress(epoch, max_epochs, fraction, loss, last, self.tokens, share_of_steps=share)

    def step(
        self, objective: Objective[AnyBatch], batch: AnyBatch, precision: torch.dtype, ranks: Ranks = ALONE
    ) -> None:
        """Train on a batch. On a GPU the work is only queued here: the next batch is made while it runs."""
        with products_in(precision, self.device):
            losses = iter(objective.losses(batch))
            loss = self.optimizer.step(losses)
        size = objective.size(batch)
        self.total += ranks.add(loss) * size.weight
        self.weight += size.weight
        self.seen += size.examples
        self.tokens += size.tokens

    def end_pass(self, shuffling: dict[str, Any]) -> None:
        """Begin another pass over the training examples."""
        self.shuffling, self.seen = shuffling, 0
        self.passes += 1

    def end_look(self, looked: Epoch, objective: Objective[Any], *, average: int = 1) -> None:
        """Record the outcome of a look at dev, and keep the weights if they are the best so far."""
        self.curve.append(looked)
        is_best = self.best is None or objective.is_better(looked.score, self.best.score)
        if is_best or average > 1:
            weights = {name: value.detach().clone() for name, value in self.model.state_dict().items()}
            if is_best:
                self.best, self.best_weights = looked, weights
            if average > 1:
                self.recent = [*self.recent, weights][-average:]
        self.weight = 0
        self.total.zero_()

    def tensors(self) -> dict[str, Tensor]:
        """Return all tensors, those of the random generators included."""
        tensors = {f"weights.{name}": value for name, value in self.model.state_dict().items()}
        tensors |= {f"best.{name}": value for name, value in self.best_weights.items()}
        for place, weights in enumerate(self.recent):
            tensors |= {f"recent.{place}.{name}": value for name, value in weights.items()}
        tensors |= self.optimizer.tensors() | {"total": self.total, "random.cpu": torch.get_rng_state()}
        if self.device.type in ("cuda", "mps"):
            tensors[f"random.{self.device.type}"] = getattr(torch, self.device.type).get_rng_state()
        return tensors

    def facts(self) -> dict[str, Any]:
        """Return the part of the state that is not a tensor."""
        facts = {name: getattr(self, name) for name in ("shuffling", "seconds", *COUNTED)}
        best = self.best.epoch if self.best else 0
        curve = [dataclasses.asdict(epoch) for epoch in self.curve]
        return facts | {
            "steps": self.optimizer.steps,
            "curve": curve,
            "best": best,
            "recent": len(self.recent),
        }

    def restore(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        """Take over the tensors and facts of a checkpoint, if they are those of such a training."""
        curve = [Epoch(**epoch) for epoch in facts["curve"]]
        if any(type(value) is not float for epoch in curve for value in (epoch.loss, epoch.score)):
            raise ValueError("its curve has no such numbers")
        for name in (*COUNTED, "steps", "best", "recent"):
            if type(facts[name]) is not int or facts[name] < 0:
                raise ValueError(f"{name} is not a number of {name}")
        if type(facts["seconds"]) is not float:
            raise ValueError("seconds is not a duration")
        if facts["best"] > len(curve) or bool(facts["best"]) != bool(curve) or facts["recent"] > len(curve):
            raise ValueError("its best epoch is not in its curve")
        np.random.default_rng().bit_generator.state = facts["shuffling"]
        best = curve[facts["best"] - 1] if curve else None
        names = list(self.model.state_dict())
        kept = [*(["best"] if best else []), *(f"recent.{place}" for place in range(facts["recent"]))]
        expected = self.tensors()
        for prefix in kept:
            expected |= {f"{prefix}.{name}": value for name, value in self.model.state_dict().items()}
        check_fit(tensors, expected)
        torch.set_rng_state(tensors["random.cpu"])
        if self.device.type in ("cuda", "mps"):
            getattr(torch, self.device.type).set_rng_state(tensors[f"random.{self.device.type}"])
        self.model.load_state_dict({name: tensors[f"weights.{name}"] for name in names})
        self.optimizer.restore(tensors, facts["steps"])
        self.total.copy_(tensors["total"])
        self.shuffling, self.seconds, self.curve, self.best = facts["shuffling"], facts["seconds"], curve, best
        for name in COUNTED:
            setattr(self, name, facts[name])
        weights = [{name: tensors[f"{prefix}.{name}"].to(self.device, copy=True) for name in names} for prefix in kept]
        self.best_weights, self.recent = (weights[0], weights[1:]) if best else ({}, [])
