"""Small classifiers of equal size as one stack of matrices: scores and gradients of all at once.

Shapes: B sentences of a batch, D inputs, G configurations, N rows of the first layer (H hidden units, or C classes),
K inputs of the second layer (the hidden units, a constant 1, zeros).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from probing.probes.definitions import Configuration
from probing.probes.standardise import count_inputs


@dataclass(frozen=True, slots=True)
class Stack:
    """Configurations with the same number of hidden units."""

    numbers: list[int]
    """Numbers of the configurations in the grid."""
    dropout: Tensor
    """(G,)"""
    weight_decay: Tensor
    """(G,)"""
    weights: list[Tensor]
    """Linear: (G, C, D). With a hidden layer: (G, H, D), (G, C, K)."""

    @classmethod
    def build(
        cls, members: Mapping[int, Configuration], *, input_dim: int, num_classes: int, seed: int, device: torch.device
    ) -> Stack:
        """Make classifiers, by their numbers in the grid, that start with the same weights, as torch.nn.Linear does."""
        generator = torch.Generator().manual_seed(seed)
        (hidden,) = {item.hidden for item in members.values()}
        shapes = [(hidden, input_dim), (num_classes, hidden)] if hidden else [(num_classes, input_dim)]
        weights = [_draw(rows, fan_in, generator) for rows, fan_in in shapes]
        return cls(
            list(members),
            torch.tensor([item.dropout for item in members.values()]).to(device),
            torch.tensor([item.weight_decay for item in members.values()]).to(device),
            [weight.repeat(len(members), 1, 1).to(device) for weight in weights],
        )

    @property
    def hidden(self) -> int:
        """The hidden units; 0 for linear classifiers."""
        return self.weights[0].shape[1] if len(self.weights) > 1 else 0

    @property
    def num_classes(self) -> int:
        return self.weights[-1].shape[1]

    @property
    def drops(self) -> bool:
        return self.hidden > 0 and bool(self.dropout.any())

    def select(self, places: Sequence[int]) -> Stack:
        """Return a copy of some configurations."""
        chosen = list(places)
        return Stack(
            [self.numbers[place] for place in chosen],
            self.dropout[chosen],
            self.weight_decay[chosen],
            [weight[chosen] for weight in self.weights],
        )

    def scores(self, inputs_BD: Tensor) -> Tensor:
        """Return the scores (G, B, C)."""
        outputs_GNB = self._project(inputs_BD)
        if self.hidden:
            outputs_GNB = torch.bmm(self.weights[1], _with_constant(outputs_GNB.sigmoid()))
        return outputs_GNB.transpose(1, 2)

    def predict(self, inputs_BD: Tensor) -> Tensor:
        """Return the classes (G, B)."""
        return self.scores(inputs_BD).argmax(2)

    def differentiate(
        self, inputs_BD: Tensor, labels_B: Tensor, noise_HB: Tensor | None
    ) -> tuple[Tensor, list[Tensor]]:
        """Return the cross-entropies (G,), summed, and the gradients of their means plus the L2 penalty.

        Units whose noise is below a configuration's dropout are dropped, before the sigmoid; None drops nothing.
        """
        outputs_GNB = self._project(inputs_BD)
        if self.hidden:
            losses, gradients = self._differentiate_hidden(outputs_GNB, inputs_BD, labels_B, noise_HB)
        else:
            losses, errors_GCB = _find_errors(outputs_GNB, labels_B)
            gradients = [self._spread(errors_GCB, inputs_BD)]
        for gradient, weight in zip(gradients, self.weights, strict=True):
            gradient.addcmul_(weight, self.weight_decay.view(-1, 1, 1))
        return losses, gradients

    def _differentiate_hidden(
        self, outputs_GHB: Tensor, inputs_BD: Tensor, labels_B: Tensor, noise_HB: Tensor | None
    ) -> tuple[Tensor, list[Tensor]]:
        dropout_G11 = self.dropout.view(-1, 1, 1)
        mask_GHB = 1.0 if noise_HB is None else (noise_HB >= dropout_G11) / (1 - dropout_G11)
        units_GHB = (outputs_GHB * mask_GHB).sigmoid_()
        units_GKB = _with_constant(units_GHB)
        losses, errors_GCB = _find_errors(torch.bmm(self.weights[1], units_GKB), labels_B)
        slopes_GHB = torch.bmm(self.weights[1].transpose(1, 2), errors_GCB)[:, : self.hidden]
        slopes_GHB = slopes_GHB * units_GHB * (1 - units_GHB) * mask_GHB
        return losses, [self._spread(slopes_GHB, inputs_BD), torch.bmm(errors_GCB, units_GKB.transpose(1, 2))]

    def _project(self, inputs_BD: Tensor) -> Tensor:
        """Return the first layer's outputs (G, N, B): one product for all configurations."""
        weight_GND = self.weights[0]
        return torch.mm(weight_GND.flatten(0, 1), inputs_BD.t()).view(*weight_GND.shape[:2], -1)

    def _spread(self, errors_GNB: Tensor, inputs_BD: Tensor) -> Tensor:
        """Return the first layer's gradient (G, N, D)."""
        return torch.mm(errors_GNB.flatten(0, 1), inputs_BD).view_as(self.weights[0])


def count_parameters(input_dim: int, hidden: int, num_classes: int) -> int:
    """Return the weights and biases of one classifier."""
    return (input_dim + 1) * hidden + (hidden + 1) * num_classes if hidden else (input_dim + 1) * num_classes


def _draw(rows: int, fan_in: int, generator: torch.Generator) -> Tensor:
    """Return weights and bias of one layer, and zeros for the inputs that are always zero."""
    bound = 1 / math.sqrt(fan_in)
    layer = torch.zeros(rows, count_inputs(fan_in))
    layer[:, : fan_in + 1] = torch.empty(rows, fan_in + 1).uniform_(-bound, bound, generator=generator)
    return layer


def _with_constant(units_GHB: Tensor) -> Tensor:
    """Return the second layer's inputs (G, K, B)."""
    stacks, hidden, batch = units_GHB.shape
    inputs_GKB = units_GHB.new_zeros(stacks, count_inputs(hidden), batch)
    inputs_GKB[:, :hidden] = units_GHB
    inputs_GKB[:, hidden] = 1.0
    return inputs_GKB


def _find_errors(scores_GCB: Tensor, labels_B: Tensor) -> tuple[Tensor, Tensor]:
    """Return the cross-entropies (G,), summed, and the gradient (G, C, B) of their means."""
    logs_GCB = torch.log_softmax(scores_GCB, 1)
    own = labels_B.view(1, 1, -1).expand(len(logs_GCB), 1, -1)
    losses = -logs_GCB.gather(1, own).sum((1, 2))
    errors_GCB = logs_GCB.exp_()
    errors_GCB.scatter_add_(1, own, errors_GCB.new_full((), -1.0).expand_as(own))
    return losses, errors_GCB.div_(len(labels_B))
