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
    """Adam without `torch.optim`, which imports torch's compiler, and whose hooks cost more than a small step.

    RMSprop is Adam without a mean and without corrections, and SGD divides by nothing: the kernel takes them as well.
    """

    def __init__(
        self,
        weights: list[Tensor],
        learning_rate: float,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        epsilon: float = 1e-8,
        correction: float | None = None,
    ) -> None:
        self.learning_rate, self.betas, self.epsilon, self.correction = learning_rate, betas, epsilon, correction
        """The correction is what the root of the mean square is multiplied with; None stands for Adam's own."""
        self.means = [torch.zeros_like(weight) for weight in weights]
        self.squares = [torch.zeros_like(weight) for weight in weights]
        self.steps = 0

    @classmethod
    def make_rmsprop(cls, weights: list[Tensor], *, lr: float = 0.01, alpha: float = 0.99, eps: float = 1e-8) -> Adam:
        """Return RMSprop, with torch's names of its settings."""
        return cls(weights, lr, betas=(0.0, alpha), epsilon=eps, correction=1.0)

    @classmethod
    def make_sgd(cls, weights: list[Tensor], *, lr: float) -> Adam:
        """Return gradient descent."""
        return cls(weights, lr, betas=(0.0, 0.0), epsilon=1.0, correction=0.0)

    def step(self, weights: list[Tensor], gradients: list[Tensor]) -> None:
        self.steps += 1
        if self.correction is not None:
            self._step_plainly(weights, gradients, self.correction)
            return
        torch._fused_adam_(
            weights,
            gradients,
            self.means,
            self.squares,
            [],
            [torch.tensor(float(self.steps), device=weights[0].device)] * len(weights),
            lr=self.learning_rate,
            beta1=self.betas[0],
            beta2=self.betas[1],
            weight_decay=0.0,
            eps=self.epsilon,
            amsgrad=False,
            maximize=False,
        )

    def _step_plainly(self, weights: list[Tensor], gradients: list[Tensor], correction: float) -> None:
        beta = self.betas[1]
        for weight, gradient, square in zip(weights, gradients, self.squares, strict=True):
            square.mul_(beta).addcmul_(gradient, gradient, value=1 - beta)
            weight.addcdiv_(gradient, square.sqrt().mul_(correction).add_(self.epsilon), value=-self.learning_rate)

    def select(self, weights: list[Tensor], places: Sequence[int]) -> Adam:
        """Return an optimiser that goes on with some configurations, whose weights are given."""
        chosen = Adam([], self.learning_rate, betas=self.betas, epsilon=self.epsilon, correction=self.correction)
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


def parse_optimizer(name: str) -> tuple[str, dict[str, float]]:
    """Return the method and the settings of `adam` or `sgd,lr=0.1`, as SentEval reads them."""
    method, *settings = name.split(",")
    if method not in OPTIMIZERS:
        raise ProbingError(f"unknown optim {name!r}. Known: {', '.join(OPTIMIZERS)}, each also as name,lr=NUMBER")
    options: dict[str, float] = {}
    for setting in settings:
        key, _, value = setting.partition("=")
        try:
            options[key] = float(value)
        except ValueError:
            raise ProbingError(f"optim {name!r}: {setting!r} is not of the form key=number, e.g. lr=0.1") from None
    if method == "sgd" and "lr" not in options:
        raise ProbingError(f"optim {name!r} needs a learning rate, e.g. sgd,lr=0.1")
    return method, options


def make_optimizer(name: str, weights: list[Tensor], *, learning_rate: float) -> Adam | TorchOptimizer:
    """Return the optimiser of SentEval's `name` or `name,lr=0.1`; the L2 penalty is in the gradients already.

    A weight decay in the name does not count: SentEval replaces it by the grid's.
    """
    method, options = parse_optimizer(name)
    options.pop("weight_decay", None)
    if options.get("lr", 0.0) < 0:
        raise ProbingError(f"optim {name!r}: Invalid learning rate: {options['lr']}")
    if method == "adam":
        options = {"lr": learning_rate} | options
    if weights[0].device.type in ("cpu", "cuda"):
        if method == "adam" and options.keys() == {"lr"}:
            return Adam(weights, options["lr"])
        if method == "rmsprop" and options.keys() <= {"lr", "alpha", "eps"}:
            return Adam.make_rmsprop(weights, **options)
        if method == "sgd" and options.keys() == {"lr"}:
            return Adam.make_sgd(weights, **options)
    try:
        return TorchOptimizer(weights, OPTIMIZERS[method], options)
    except (TypeError, ValueError) as error:
        raise ProbingError(f"optim {name!r}: {error}") from None
