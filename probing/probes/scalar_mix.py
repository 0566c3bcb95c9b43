"""The scalar mix of an encoder's layers: one weight for each layer, learned for the task (Peters et al. 2018).

The weights are a softmax of learned numbers, times a learned factor. They are learned with a linear classifier on the
training split, on layers that have mean 0 and equal scale; the epoch with the smallest loss on dev gives them. The
probe is then trained on the mixed vectors.

Shapes: S sentences, B of them in a batch, J layers, d the width of the vectors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from probing.probes.search import Vectors

BATCH = 256
EPOCHS = 20
PATIENCE = 3
LEARNING_RATE = 0.03
MIN_STEPS = 50
"""Smallest number of steps of an epoch: a small training split is passed over more often."""


def mix(layers: Sequence[Tensor], weights: Sequence[float]) -> Tensor:
    """Return the weighted sum (S, d) of layers (S, d)."""
    total = torch.zeros(layers[0].shape)
    for layer, weight in zip(layers, weights, strict=True):
        total.add_(layer.float(), alpha=weight)
    return total


def learn_mix(train: Sequence[Vectors], dev: Sequence[Vectors], *, num_classes: int, seed: int) -> list[float]:
    """Return the weight of each layer; the vectors are given layer by layer."""
    inputs_JSd, labels = _stack(train), train[0].labels
    dev_JSd, dev_labels = _stack(dev), dev[0].labels
    centre_J1d, scale = inputs_JSd.mean(1, keepdim=True), inputs_JSd.std((1, 2), keepdim=True).clamp(min=1e-6)
    inputs_JSd, dev_JSd = (inputs_JSd - centre_J1d) / scale, (dev_JSd - centre_J1d) / scale
    generator = torch.Generator().manual_seed(seed)
    numbers, factor = torch.zeros(len(train)), torch.ones(())
    classifier = torch.zeros(num_classes, inputs_JSd.shape[2] + 1)
    parameters = [each.requires_grad_() for each in (numbers, factor, classifier)]
    means, squares = ([torch.zeros_like(each) for each in parameters] for _ in range(2))
    best, best_weights, epochs_since, steps = math.inf, numbers.detach().clone(), 0, 0
    passes = math.ceil(MIN_STEPS / math.ceil(len(labels) / BATCH))

    def score(layers_JBd: Tensor) -> Tensor:
        mixed_Bd = factor * torch.tensordot(numbers.softmax(0), layers_JBd, 1)
        return functional.linear(mixed_Bd, classifier[:, :-1], classifier[:, -1])

    for _ in range(EPOCHS):
        orders = [torch.randperm(len(labels), generator=generator) for _ in range(passes)]
        for chosen in (batch for order in orders for batch in order.split(BATCH)):
            loss = functional.cross_entropy(score(inputs_JSd[:, chosen]), labels[chosen])
            gradients = list(torch.autograd.grad(loss, parameters))
            steps += 1
            _step(parameters, gradients, means, squares, steps)
        with torch.no_grad():
            dev_loss = float(functional.cross_entropy(score(dev_JSd), dev_labels))
        epochs_since += 1
        if dev_loss < best:
            best, best_weights, epochs_since = dev_loss, numbers.detach().clone(), 0
        if epochs_since >= PATIENCE:
            break
    shares = best_weights.softmax(0) / scale.flatten()  # of the layers as they are
    return [float(share) for share in shares / shares.sum()]


def _stack(layers: Sequence[Vectors]) -> Tensor:
    """Return the vectors (J, S, d) of all layers."""
    return torch.stack([(each.vectors if each.rows is None else each.vectors[each.rows]).float() for each in layers])


@torch.no_grad()
def _step(
    parameters: Sequence[Tensor], gradients: list[Tensor], means: list[Tensor], squares: list[Tensor], steps: int
) -> None:
    """Take a step of Adam, without torch.optim, which imports torch's compiler."""
    torch._foreach_lerp_(means, gradients, 0.1)
    torch._foreach_mul_(squares, 0.999)
    torch._foreach_addcmul_(squares, gradients, gradients, 0.001)
    for parameter, mean, square in zip(parameters, means, squares, strict=True):
        deviation = (square / (1 - 0.999**steps)).sqrt_().add_(1e-8)
        parameter.addcdiv_(mean / (1 - 0.9**steps), deviation, value=-LEARNING_RATE)
