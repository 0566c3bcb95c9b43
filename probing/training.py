"""The one optimisation loop: Adam with warm-up, clipping, random packed batches, early stopping on dev accuracy.

Shapes: B sentences of a batch, C classes.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from probing.dataset import Batch, Integers, PackedSplit
from probing.errors import ProbingError
from probing.model.attention import Packing

EVALUATION_BATCH = 256
STEPS_BETWEEN_REPORTS = 20
"""How often the loss is read: on a GPU each reading waits for the device."""


class NonFiniteLossError(Exception):
    """The loss became infinite or not a number: this training cannot go on."""


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


@torch.inference_mode()
def predict(model: nn.Module, split: PackedSplit, device: torch.device) -> Integers:
    """Return the predicted class of every sentence of a split, in order."""
    model.eval()
    predictions = [score(model, batch, device).argmax(1) for batch in split.batches(EVALUATION_BATCH)]
    return torch.cat(predictions).cpu().numpy()


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
) -> Outcome:
    """Train the model until dev accuracy stops rising, and leave it with the weights of its best epoch."""
    optimizer = Optimizer(model, learning_rate=learning_rate, warmup_steps=warmup_steps, clip_norm=clip_norm)
    narrow = pick_precision(precision, device) == torch.bfloat16
    shuffler = np.random.default_rng(seed)
    curve: list[Epoch] = []
    best: Epoch | None = None
    best_weights: dict[str, Tensor] = {}
    tokens = 0
    for epoch in range(1, max_epochs + 1):
        model.train()
        total = torch.zeros((), device=device)
        seen = 0
        for step, batch in enumerate(train_split.batches(batch_size, shuffler.permutation(len(train_split)))):
            # On a GPU the step is only queued here: the next batch is made while it runs.
            with torch.autocast(device.type, torch.bfloat16) if narrow else contextlib.nullcontext():
                scores = score(model, batch, device)
            loss = functional.cross_entropy(scores.float(), move(torch.from_numpy(batch.labels), device))
            optimizer.step(loss)
            total += loss.detach() * len(batch.labels)
            seen += len(batch.labels)
            tokens += len(batch.tokens)
            if step % STEPS_BETWEEN_REPORTS == 0:
                mean_loss = _finite(total.item() / seen, epoch)
                dev_accuracy = curve[-1].dev_accuracy if curve else None
                on_progress(Progress(epoch, max_epochs, seen / len(train_split), mean_loss, dev_accuracy, tokens))
        mean_loss = _finite(total.item() / seen, epoch)
        curve.append(Epoch(epoch, mean_loss, accuracy(predict(model, dev_split, device), dev_split)))
        on_progress(Progress(epoch, max_epochs, 1.0, mean_loss, curve[-1].dev_accuracy, tokens, epoch_ended=True))
        if best is None or curve[-1].dev_accuracy > best.dev_accuracy:
            best = curve[-1]
            best_weights = {name: value.detach().clone() for name, value in model.state_dict().items()}
        if epoch - best.epoch >= patience or best.dev_accuracy == 100.0:  # nothing is better than all right
            break
    assert best is not None
    model.load_state_dict(best_weights)
    return Outcome(best.epoch, best.dev_accuracy, tuple(curve), tokens)


class Optimizer:
    """Adam; the learning rate rises linearly, then falls with the inverse square root; gradients are clipped.

    It calls the kernel of torch's fused Adam itself: `torch.optim` imports torch's compiler first, which takes longer
    than all else before the first step.
    """

    def __init__(self, model: nn.Module, *, learning_rate: float, warmup_steps: int, clip_norm: float) -> None:
        self.moments = [_Moments(parameter) for parameter in model.parameters() if parameter.requires_grad]
        self.peak, self.warmup_steps, self.clip_norm = learning_rate, warmup_steps, clip_norm
        self.steps = 0

    @property
    def learning_rate(self) -> float:
        """Of the next step."""
        step = self.steps + 1
        return self.peak * min(step / self.warmup_steps, math.sqrt(self.warmup_steps / step))

    def step(self, loss: Tensor) -> None:
        """Move the weights down the loss's gradient."""
        for each in self.moments:
            each.parameter.grad = None
        loss.backward()
        if self.clip_norm:
            nn.utils.clip_grad_norm_([each.parameter for each in self.moments], self.clip_norm)
        self._move()
        self.steps += 1

    @torch.no_grad()
    def _move(self) -> None:
        moments = [each for each in self.moments if each.parameter.grad is not None]
        gradients = [each.parameter.grad for each in moments if each.parameter.grad is not None]
        steps = [each.steps for each in moments]
        torch._foreach_add_(steps, 1)
        torch._fused_adam_(
            [each.parameter for each in moments],
            gradients,
            [each.mean for each in moments],
            [each.square for each in moments],
            [],
            steps,
            lr=self.learning_rate,
            beta1=0.9,
            beta2=0.98,
            weight_decay=0.0,
            eps=1e-8,
            amsgrad=False,
            maximize=False,
        )


class _Moments:
    """A parameter, the running means of its gradient and of the square, and how often it had a gradient."""

    def __init__(self, parameter: nn.Parameter) -> None:
        self.parameter = parameter
        self.mean, self.square = torch.zeros_like(parameter), torch.zeros_like(parameter)
        self.steps = torch.zeros((), device=parameter.device)


def _finite(loss: float, epoch: int) -> float:
    if not math.isfinite(loss):
        raise NonFiniteLossError(
            f"the loss became {loss} in epoch {epoch}. Try a lower training.learning_rate or training.clip_norm"
        )
    return loss
