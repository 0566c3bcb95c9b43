"""Many small classifiers as one set of matrices: forward, backward and a step of the optimiser for all at once.

Shapes: B sentences of a batch, D dimensions of an input (the last is a constant 1, so that a bias is a weight),
G configurations of a group, H hidden units, C classes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.optim.adam import adam

from probing.errors import ProbingError


@dataclass(slots=True)
class Group:
    """Configurations with the same number of hidden units."""

    numbers: list[int]
    """Which configurations of the grid they are."""
    dropout: Tensor
    """(G, 1)"""
    weight_decay: Tensor
    """(G, 1, 1)"""
    weights: list[Tensor]
    """Linear: (G, C, D). With a hidden layer: (G, H, D), (G, H, C), (G, 1, C)."""
    gradients: list[Tensor] = field(default_factory=list)
    decays: bool = False
    drops: bool = False

    def __post_init__(self) -> None:
        self.gradients = [torch.empty_like(weight) for weight in self.weights]
        self.decays = bool(self.weight_decay.any())
        self.drops = bool(self.dropout.any()) and not self.is_linear

    @property
    def is_linear(self) -> bool:
        return len(self.weights) == 1

    @property
    def num_parameters(self) -> int:
        return sum(weight[0].numel() for weight in self.weights)

    def select(self, places: Sequence[int]) -> Group:
        """Return a copy of some configurations."""
        return Group(
            [self.numbers[place] for place in places],
            self.dropout[list(places)],
            self.weight_decay[list(places)],
            [weight[list(places)] for weight in self.weights],
        )

    def scores(self, inputs_BD: Tensor) -> Tensor:
        """Return the scores (G, B, C)."""
        if self.is_linear:
            (weight_GCD,) = self.weights
            return _project(inputs_BD, weight_GCD).transpose(0, 1)
        _, weight_GHC, bias_G1C = self.weights
        return torch.baddbmm(bias_G1C, self._hidden(inputs_BD, None).transpose(0, 1), weight_GHC)

    def predict(self, inputs_BD: Tensor) -> Tensor:
        """Return the classes (G, B)."""
        return self.scores(inputs_BD).argmax(2)

    def _hidden(self, inputs_BD: Tensor, mask_BGH: Tensor | None) -> Tensor:
        hidden_BGH = _project(inputs_BD, self.weights[0])
        if mask_BGH is not None:
            hidden_BGH = hidden_BGH.mul_(mask_BGH)
        return hidden_BGH.sigmoid_()

    def backward(
        self, inputs_BD: Tensor, targets_BC: Tensor, *, with_loss: bool, noise: torch.Generator
    ) -> Tensor | None:
        """Fill in the gradients of the mean cross-entropy, and return it (G,) if asked for."""
        if self.is_linear:
            loss = self._backward_linear(inputs_BD, targets_BC, with_loss)
        else:
            loss = self._backward_hidden(inputs_BD, targets_BC, with_loss, noise)
        if self.decays:
            for gradient, weight in zip(self.gradients, self.weights, strict=True):
                gradient.addcmul_(weight, self.weight_decay)
        return loss

    def _backward_linear(self, inputs_BD: Tensor, targets_BC: Tensor, with_loss: bool) -> Tensor | None:
        (weight_GCD,), (gradient_GCD,) = self.weights, self.gradients
        scores_BGC = _project(inputs_BD, weight_GCD)
        loss = _mean_loss(scores_BGC.transpose(0, 1), targets_BC) if with_loss else None
        errors_BGC = torch.softmax(scores_BGC, 2).sub_(targets_BC.unsqueeze(1))
        torch.addmm(
            gradient_GCD.flatten(0, 1),
            errors_BGC.flatten(1).t(),
            inputs_BD,
            beta=0,
            alpha=1 / len(inputs_BD),
            out=gradient_GCD.flatten(0, 1),
        )
        return loss

    def _backward_hidden(
        self, inputs_BD: Tensor, targets_BC: Tensor, with_loss: bool, noise: torch.Generator
    ) -> Tensor | None:
        weight_GHD, weight_GHC, bias_G1C = self.weights
        mask_BGH = self._mask(len(inputs_BD), weight_GHD.shape[1], noise) if self.drops else None
        hidden_BGH = self._hidden(inputs_BD, mask_BGH)
        hidden_GBH = hidden_BGH.transpose(0, 1)
        scores_GBC = torch.baddbmm(bias_G1C, hidden_GBH, weight_GHC)
        loss = _mean_loss(scores_GBC, targets_BC) if with_loss else None
        errors_GBC = torch.softmax(scores_GBC, 2).sub_(targets_BC).div_(len(inputs_BD))
        torch.bmm(hidden_GBH.transpose(1, 2), errors_GBC, out=self.gradients[1])
        torch.sum(errors_GBC, 1, keepdim=True, out=self.gradients[2])
        slopes_BGH = torch.bmm(errors_GBC, weight_GHC.transpose(1, 2)).transpose(0, 1)
        slopes_BGH = torch.ops.aten.sigmoid_backward(slopes_BGH, hidden_BGH).contiguous()
        if mask_BGH is not None:
            slopes_BGH.mul_(mask_BGH)
        torch.mm(slopes_BGH.flatten(1).t(), inputs_BD, out=self.gradients[0].flatten(0, 1))
        return loss

    def _mask(self, batch_size: int, hidden: int, noise: torch.Generator) -> Tensor:
        """Return the dropout's factors; one draw serves all configurations, as it does with equal seeds."""
        draw = torch.rand(batch_size, 1, hidden, generator=noise, device=self.dropout.device)
        return (draw >= self.dropout).to(draw.dtype) / (1 - self.dropout)


def _project(inputs_BD: Tensor, weight_GND: Tensor) -> Tensor:
    """Return (B, G, N): one product for all configurations."""
    return torch.mm(inputs_BD, weight_GND.flatten(0, 1).t()).view(len(inputs_BD), *weight_GND.shape[:2])


def _mean_loss(scores_GBC: Tensor, targets_BC: Tensor) -> Tensor:
    return -(torch.log_softmax(scores_GBC, 2) * targets_BC).sum(2).mean(1)


@dataclass(slots=True)
class Grid:
    """All configurations, in groups of equally many hidden units."""

    groups: list[Group]
    num_classes: int
    noise: torch.Generator
    optimizer: torch.optim.Optimizer

    @classmethod
    def build(
        cls,
        configurations: Sequence[tuple[int, float, float]],
        *,
        input_dim: int,
        num_classes: int,
        seed: int,
        device: torch.device,
        optimizer: str,
        learning_rate: float,
    ) -> Grid:
        """Make the classifiers (hidden units, dropout, L2), those of a size with the same weights."""
        groups = []
        for hidden in dict.fromkeys(item[0] for item in configurations):
            members = [number for number, item in enumerate(configurations) if item[0] == hidden]
            weights = _initialise(input_dim, hidden, num_classes, torch.Generator().manual_seed(seed))
            dropout, decay = (torch.tensor([configurations[n][field] for n in members]) for field in (1, 2))
            groups.append(
                Group(
                    members,
                    dropout.view(-1, 1).to(device),
                    decay.view(-1, 1, 1).to(device),
                    [weight.expand(len(members), *weight.shape).clone().to(device) for weight in weights],
                )
            )
        noise = torch.Generator(device).manual_seed(seed)
        return cls(groups, num_classes, noise, make_optimizer(optimizer, groups, learning_rate))

    @property
    def active(self) -> list[int]:
        """The configurations that are still trained, in the order of what `step` and `predict` return."""
        return [number for group in self.groups for number in group.numbers]

    def step(self, inputs_BD: Tensor, targets_BC: Tensor, *, with_loss: bool = False) -> Tensor | None:
        """Train on one batch; the losses (G,) are computed only if asked for."""
        losses = [group.backward(inputs_BD, targets_BC, with_loss=with_loss, noise=self.noise) for group in self.groups]
        if isinstance(self.optimizer, QuickAdam):
            self.optimizer.advance()
        else:
            self.optimizer.step()
        return torch.cat([loss for loss in losses if loss is not None]) if with_loss else None

    def predict(self, inputs_BD: Tensor) -> Tensor:
        """Return the classes (G, B) of all active configurations."""
        return torch.cat([group.predict(inputs_BD) for group in self.groups])

    def copy(self, number: int) -> Group:
        """Return one configuration as it is now."""
        group = next(group for group in self.groups if number in group.numbers)
        return group.select([group.numbers.index(number)])

    def drop(self, numbers: Sequence[int]) -> None:
        """Go on without some configurations; the optimiser's memory of the others stays."""
        if not numbers:
            return
        kept, states = [], []
        for group in self.groups:
            places = [place for place, number in enumerate(group.numbers) if number not in numbers]
            if not places:
                continue
            kept.append(group.select(places))
            for weight in group.weights:
                state = self.optimizer.state[weight]
                states.append(
                    {name: value[places] if value.dim() == weight.dim() else value for name, value in state.items()}
                )
        self.groups = kept
        if kept:
            old = self.optimizer
            self.optimizer = type(old)([{"params": _with_gradients(kept)}], **old.defaults)
            for weight, state in zip(_with_gradients(kept), states, strict=True):
                self.optimizer.state[weight].update(state)


def _initialise(input_dim: int, hidden: int, num_classes: int, generator: torch.Generator) -> list[Tensor]:
    """Return the weights of one classifier, drawn as torch.nn.Linear draws them."""

    def draw(*shape: int, fan_in: int) -> Tensor:
        bound = 1 / math.sqrt(fan_in)
        return torch.empty(shape).uniform_(-bound, bound, generator=generator)

    if not hidden:
        return [draw(num_classes, input_dim + 1, fan_in=input_dim)]
    return [
        draw(hidden, input_dim + 1, fan_in=input_dim),
        draw(hidden, num_classes, fan_in=hidden),
        draw(1, num_classes, fan_in=hidden),
    ]


def _with_gradients(groups: Sequence[Group]) -> list[Tensor]:
    weights = []
    for group in groups:
        for weight, gradient in zip(group.weights, group.gradients, strict=True):
            weight.grad = gradient
            weights.append(weight)
    return weights


class QuickAdam(torch.optim.Adam):
    """Adam that goes straight to the fused kernel: on small weights the hooks around `step` cost more than the step."""

    def advance(self) -> None:
        """Do what `step` does."""
        group = self.param_groups[0]
        if not hasattr(self, "memory"):
            states = [self.state[weight] for weight in group["params"]]
            if not all(states):  # the first step makes them
                self.step()
                return
            self.memory = [[state[name] for state in states] for name in ("exp_avg", "exp_avg_sq", "step")]
            self.gradients = [weight.grad for weight in group["params"]]
        averages, squares, steps = self.memory
        adam(
            group["params"],
            self.gradients,
            averages,
            squares,
            [],
            steps,
            fused=True,
            amsgrad=False,
            beta1=group["betas"][0],
            beta2=group["betas"][1],
            lr=group["lr"],
            weight_decay=0.0,
            eps=group["eps"],
            maximize=False,
        )


OPTIMIZERS: dict[str, type[torch.optim.Optimizer]] = {
    "adam": torch.optim.Adam,
    "adamax": torch.optim.Adamax,
    "adagrad": torch.optim.Adagrad,
    "adadelta": torch.optim.Adadelta,
    "asgd": torch.optim.ASGD,
    "rmsprop": torch.optim.RMSprop,
    "rprop": torch.optim.Rprop,
    "sgd": torch.optim.SGD,
}
"""SentEval's, by its names."""


def make_optimizer(name: str, groups: Sequence[Group], learning_rate: float) -> torch.optim.Optimizer:
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
    weights = _with_gradients(groups)
    quick = method == "adam" and weights[0].device.type in ("cpu", "cuda") and not {*options} - {"lr"}
    try:
        if quick:
            return QuickAdam([{"params": weights}], lr=options["lr"], fused=True)
        return OPTIMIZERS[method]([{"params": weights}], **options)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise ProbingError(f"optim {name!r}: {error}") from None
