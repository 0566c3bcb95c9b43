"""Optimisers of a stack's weights: Adam, or another of SentEval's by its name there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from probing.errors import ProbingError

OPTIMIZERS = {
    "adam": "Adam",
    "adamax": "Adamax",
    "adagrad": "Adagrad",
    "adadelta": "Adadelta",
    "asgd": "ASGD",
    "rmsprop": "RMSprop",
    "rprop": "Rprop",
    "sgd": "SGD",
}
"""SentEval's name of each optimiser, and torch's."""


class Adam:
    """Adam without `torch.optim`, which imports torch's compiler, and whose hooks cost more than a small step."""

    BETAS = 0.9, 0.999
    EPSILON = 1e-8

    def __init__(self, weights: list[Tensor], learning_rate: float) -> None:
        self.learning_rate = learning_rate
        self.means = [torch.zeros_like(weight) for weight in weights]
        self.squares = [torch.zeros_like(weight) for weight in weights]
        self.steps = 0

    def step(self, weights: list[Tensor], gradients: list[Tensor]) -> None:
        self.steps += 1
        torch._fused_adam_(
            weights,
            gradients,
            self.means,
            self.squares,
            [],
            [torch.tensor(float(self.steps), device=weights[0].device)] * len(weights),
            lr=self.learning_rate,
            beta1=self.BETAS[0],
            beta2=self.BETAS[1],
            weight_decay=0.0,
            eps=self.EPSILON,
            amsgrad=False,
            maximize=False,
        )

    def select(self, weights: list[Tensor], places: Sequence[int]) -> Adam:
        """Return an optimiser that goes on with some configurations, whose weights are given."""
        chosen = Adam([], self.learning_rate)
        chosen.means, chosen.squares = ([state[list(places)] for state in s] for s in (self.means, self.squares))
        chosen.steps = self.steps
        return chosen


class TorchOptimizer:
    """An optimiser of torch.optim."""

    def __init__(self, weights: list[Tensor], name: str, options: dict[str, Any]) -> None:
        self.name, self.options = name, options
        self.optimizer = getattr(torch.optim, name)(weights, **options)

    def step(self, weights: list[Tensor], gradients: list[Tensor]) -> None:
        for weight, gradient in zip(weights, gradients, strict=True):
            weight.grad = gradient
        self.optimizer.step()

    def select(self, weights: list[Tensor], places: Sequence[int]) -> TorchOptimizer:
        """Return an optimiser that goes on with some configurations, whose weights are given."""
        chosen = TorchOptimizer(weights, self.name, self.options)
        for new, old in zip(weights, self.optimizer.param_groups[0]["params"], strict=True):
            chosen.optimizer.state[new] = {
                name: value[list(places)] if isinstance(value, Tensor) and value.shape == old.shape else value
                for name, value in self.optimizer.state.get(old, {}).items()
            }
        return chosen


def make_optimizer(name: str, weights: list[Tensor], *, learning_rate: float) -> Adam | TorchOptimizer:
    """Return the optimiser of SentEval's `name` or `name,lr=0.1`; the L2 penalty is in the gradients already."""
    method, *settings = name.split(",")
    if method not in OPTIMIZERS:
        raise ProbingError(f"unknown optim {name!r}. Known: {', '.join(OPTIMIZERS)}, each also as name,lr=NUMBER")
    options: dict[str, float] = {"lr": learning_rate} if method == "adam" else {}
    for setting in settings:
        key, _, value = setting.partition("=")
        try:
            options[key] = float(value)
        except ValueError:
            raise ProbingError(f"optim {name!r}: {setting!r} is not of the form key=number, e.g. lr=0.1") from None
    if method == "adam" and options.keys() == {"lr"} and weights[0].device.type in ("cpu", "cuda"):
        return Adam(weights, options["lr"])
    try:
        return TorchOptimizer(weights, OPTIMIZERS[method], options)
    except (TypeError, ValueError) as error:
        raise ProbingError(f"optim {name!r}: {error}") from None
