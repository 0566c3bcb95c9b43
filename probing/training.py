"""The one optimisation loop: Adam with warm-up, clipping, random packed batches, early stopping on dev accuracy.

It can be stopped at any time, and goes on from its checkpoint as if it never had been.
Shapes: B sentences of a batch, C classes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from probing.checkpoints import Checkpoint, check_fit
from probing.dataset import Batch, Integers, PackedSplit
from probing.errors import ProbingError
from probing.interruption import Hold
from probing.model.attention import Packing
from probing.optimizer import Optimizer

EVALUATION_BATCH = 256
STEPS_BETWEEN_REPORTS = 20
"""How often the loss is read: on a GPU each reading waits for the device."""
SECONDS_BETWEEN_REPORTS = 2.0
"""Where steps are slow, it is read more often."""
ENCODING = 0.9
"""About the share of the time that an encoder takes which sees each sentence once, before the head learns."""


REMEDY = "Try a lower training.learning_rate or training.clip_norm"


class NonFiniteLossError(Exception):
    """The loss, or what the model answers, became infinite or not a number: this training cannot go on."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """What one pass over the training split gave."""

    epoch: int
    loss: float
    """The mean training loss per sentence."""
    dev_accuracy: float
    """In percent."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a training has come."""

    epoch: int
    max_epochs: int
    fraction: float
    """Of this epoch."""
    loss: float
    dev_accuracy: float | None
    """Of the last whole epoch."""
    tokens: int
    """Trained on since the beginning."""
    epoch_ended: bool = False
    frozen: bool = False
    """Whether the encoder stays as it is: it sees all sentences before the head learns, in epoch 0."""

    @property
    def done(self) -> float:
        """Of the whole training, as if no epoch were saved by early stopping."""
        if self.epoch == 0:
            return ENCODING * self.fraction
        epochs = (self.epoch - 1 + self.fraction) / self.max_epochs
        return ENCODING + (1 - ENCODING) * epochs if self.frozen else epochs


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a training gave; the model holds the weights of the best epoch."""

    best_epoch: int
    dev_accuracy: float
    curve: tuple[Epoch, ...]
    tokens: int


def pick_device(name: str) -> torch.device:
    """Return the device asked for; `auto` takes a GPU where there is one."""
    available = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if name == "auto":
        return torch.device("cuda" if available["cuda"] else "mps" if available["mps"] else "cpu")
    if name not in available:
        raise ProbingError(f"unknown device {name!r}. Known: auto, {', '.join(available)}")
    if not available[name]:
        here = ", ".join(device for device, there in available.items() if there)
        raise ProbingError(f"--device {name}: there is no such device on this machine. Available: {here}")
    return torch.device(name)


def pick_precision(name: str, device: torch.device) -> torch.dtype:
    """Return the type that training computes in; `auto` is bfloat16 on a GPU that has it."""
    narrow = device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    return torch.bfloat16 if name == "bfloat16" or (name == "auto" and narrow) else torch.float32


def move(tensor: Tensor, device: torch.device) -> Tensor:
    """Copy to the device; to a GPU from pinned memory, so that the copy waits for nothing and nothing waits for it."""
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


def score(model: nn.Module, batch: Batch, device: torch.device) -> Tensor:
    """Return the model's scores (B, C) for a packed batch."""
    rows, positions, lengths, tokens = map(torch.from_numpy, (batch.rows, batch.positions, batch.lengths, batch.tokens))
    packing = Packing.build(rows, positions, lengths, int(batch.lengths.max()))
    scores: Tensor = model(move(tokens, device), packing.map(lambda tensor: move(tensor, device)))
    return scores


def score_batches(model: nn.Module, split: PackedSplit, device: torch.device) -> Iterator[Tensor]:
    """Yield the scores (B, C) of a split's sentences, in order; nothing is learned from them."""
    model.eval()
    for batch in split.batches(EVALUATION_BATCH):
        with torch.inference_mode():
            scores = score(model, batch, device)
        yield scores


def predict(model: nn.Module, split: PackedSplit, device: torch.device) -> Integers:
    """Return the predicted class of every sentence of a split, in order; scores that are no numbers are an error."""
    classes, finite = [], torch.ones((), dtype=torch.bool, device=device)
    for scores in score_batches(model, split, device):
        classes.append(scores.argmax(1))
        finite &= scores.isfinite().all()
    if not finite:  # the last step can do it, with a loss that was finite before
        raise NonFiniteLossError(f"the model's scores became infinite or not a number. {REMEDY}")
    return torch.cat(classes).cpu().numpy()


def accuracy(predictions: Integers, split: PackedSplit) -> float:
    """Return the percentage of right predictions."""
    return 100.0 * float(np.mean(predictions == split.labels))


def train(
    model: nn.Module,
    train_split: PackedSplit,
    dev_split: PackedSplit,
    *,
    seed: int,
    device: torch.device,
    max_epochs: int,
    patience: int,
    batch_size: int,
    learning_rate: float,
    warmup_steps: int,
    clip_norm: float,
    precision: str = "auto",
    on_progress: Callable[[Progress], None] = lambda progress: None,
    checkpoint: Checkpoint | None = None,
) -> Outcome:
    """Train the model until dev accuracy stops rising, and leave it with the weights of its best epoch."""
    optimizer = Optimizer(model, learning_rate=learning_rate, warmup_steps=warmup_steps, clip_norm=clip_norm)
    state = State.begin(model, optimizer, device, seed=seed)
    narrow = pick_precision(precision, device) == torch.bfloat16
    checkpoint = checkpoint or Checkpoint(None, key="", device=device)
    reported = 0.0
    with Hold() as hold:
        try:
            with hold.moment():  # else a signal could pass for a damaged file
                checkpoint.resume(state)
            while not state.is_over(max_epochs, patience):
                model.train()
                order, shuffling = state.draw_order(len(train_split))
                steps = train_split.batches(batch_size, order[state.seen :])
                for step, batch in enumerate(steps, start=state.seen // batch_size):
                    with hold.step():
                        state.step(batch, narrow=narrow)
                    if step % STEPS_BETWEEN_REPORTS == 0 or time.monotonic() - reported > SECONDS_BETWEEN_REPORTS:
                        on_progress(state.progress(max_epochs, len(train_split)))
                        reported = time.monotonic()
                    if checkpoint.is_due:
                        checkpoint.save(state)
                ended = Epoch(state.epoch, state.mean_loss, accuracy(predict(model, dev_split, device), dev_split))
                with hold.moment():
                    state.end_epoch(ended, shuffling)
                checkpoint.save(state)
                tokens, scores = state.tokens, (ended.loss, ended.dev_accuracy)
                on_progress(Progress(ended.epoch, max_epochs, 1.0, *scores, tokens, epoch_ended=True))
        except KeyboardInterrupt:
            if not hold.torn:
                checkpoint.save_if_quick(state)
            raise
    assert state.best is not None
    model.load_state_dict(state.best_weights)
    return Outcome(state.best.epoch, state.best.dev_accuracy, tuple(state.curve), state.tokens)


@dataclass(slots=True)
class State:
    """All that the rest of a training depends on."""

    model: nn.Module
    optimizer: Optimizer
    device: torch.device
    shuffling: dict[str, Any]
    """The shuffler's state before it draws this epoch's order."""
    total: Tensor
    """The loss of this epoch, summed over its sentences."""
    seen: int = 0
    """Sentences of this epoch."""
    tokens: int = 0
    curve: list[Epoch] = field(default_factory=list)
    best: Epoch | None = None
    best_weights: dict[str, Tensor] = field(default_factory=dict)

    @classmethod
    def begin(cls, model: nn.Module, optimizer: Optimizer, device: torch.device, *, seed: int) -> State:
        shuffling = dict(np.random.default_rng(seed).bit_generator.state)
        return cls(model, optimizer, device, shuffling, torch.zeros((), device=device))

    @property
    def epoch(self) -> int:
        """The one that is under way."""
        return len(self.curve) + 1

    @property
    def mean_loss(self) -> float:
        loss = self.total.item() / self.seen
        if not math.isfinite(loss):
            raise NonFiniteLossError(f"the loss became {loss} in epoch {self.epoch}. {REMEDY}")
        return loss

    def is_over(self, max_epochs: int, patience: int) -> bool:
        """Return whether nothing better is to be expected."""
        if self.best is None:
            return False
        ended = len(self.curve)
        # Nothing is better than all right.
        return ended >= max_epochs or ended - self.best.epoch >= patience or self.best.dev_accuracy == 100.0

    def draw_order(self, size: int) -> tuple[Integers, dict[str, Any]]:
        """Return the order of this epoch's sentences, and the shuffler's state after it."""
        shuffler = np.random.default_rng()
        shuffler.bit_generator.state = self.shuffling
        return shuffler.permutation(size), dict(shuffler.bit_generator.state)

    def progress(self, max_epochs: int, size: int) -> Progress:
        last = self.curve[-1].dev_accuracy if self.curve else None
        return Progress(self.epoch, max_epochs, self.seen / size, self.mean_loss, last, self.tokens)

    def step(self, batch: Batch, *, narrow: bool) -> None:
        """Train on a batch. On a GPU this is only queued here: the next batch is made while it runs."""
        with torch.autocast(self.device.type, torch.bfloat16) if narrow else contextlib.nullcontext():
            scores = score(self.model, batch, self.device)
        loss = functional.cross_entropy(scores.float(), move(torch.from_numpy(batch.labels), self.device))
        self.optimizer.step(loss)
        self.total += loss.detach() * len(batch.labels)
        self.seen += len(batch.labels)
        self.tokens += len(batch.tokens)

    def end_epoch(self, ended: Epoch, shuffling: dict[str, Any]) -> None:
        """Note how the epoch went, and keep the weights if they are the best so far."""
        self.curve.append(ended)
        if self.best is None or ended.dev_accuracy > self.best.dev_accuracy:
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
        """Return what is not a tensor."""
        names = ("shuffling", "seen", "tokens")
        facts = {name: getattr(self, name) for name in names} | {"steps": self.optimizer.steps}
        return facts | {"curve": [dataclasses.asdict(epoch) for epoch in self.curve]}

    def restore(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        """Take over another's tensors and facts, if they are those of such a training."""
        curve = [Epoch(**epoch) for epoch in facts["curve"]]
        if any(type(value) is not float for epoch in curve for value in (epoch.loss, epoch.dev_accuracy)):
            raise ValueError("its curve has no such numbers")
        for name in ("seen", "tokens", "steps"):
            if type(facts[name]) is not int or facts[name] < 0:
                raise ValueError(f"{name} is not a number of {name}")
        np.random.default_rng().bit_generator.state = facts["shuffling"]
        best = max(curve, key=lambda epoch: epoch.dev_accuracy, default=None)  # the first among equals
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
