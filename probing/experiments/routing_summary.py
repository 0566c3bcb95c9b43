"""What the routing of a trained model does on the whole: effective heads, and the spread of EM's activations.

Both are of the first test sentences. The effective heads of a capsule are exp(entropy of the heads' shares in it): H if
all heads have the same share, 1 if one head makes the capsule alone. The spread of activations is their
standard deviation over tokens, divided by their mean: an activation that hardly varies is a constant factor.
Shapes: T tokens, H heads, N capsules, R iterations.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from probing.model import Activating, Routing, attentions
from probing.tasks import PackedSplit
from probing.training import compute_scores

SENTENCES = 64
"""Number of test sentences that are looked at; weights of all tokens, iterations and capsules take much memory."""
DIGITS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutedLayer:
    """Routing of one layer, over the tokens of some sentences."""

    layer: int
    heads: int
    """H, the number of heads."""
    effective_heads: list[float]
    """Effective heads after each iteration, the mean over tokens and capsules."""
    activation: float | None = None
    """Mean activation of a capsule; None for a routing without activations."""
    spread: float | None = None
    """Standard deviation of activations over tokens, the mean over capsules, divided by the mean activation."""


@torch.inference_mode()
def summarise_routing(model: nn.Module, split: PackedSplit, device: torch.device) -> list[RoutedLayer]:
    """Return what the routing of each routed layer does on the first sentences of a split."""
    model.eval()
    batch = split.batch(np.arange(min(SENTENCES, len(split))))
    layers, inputs = attentions(model), dict[int, Tensor]()
    with ExitStack() as hooks:
        for number, attention in enumerate(layers, 1):
            hooks.enter_context(
                attention.aggregator.register_forward_pre_hook(
                    lambda module, given, number=number: inputs.update({number: given[0]})
                )
            )
        compute_scores(model, batch, device)
    found = []
    for number, attention in enumerate(layers, 1):
        aggregator, heads = attention.aggregator, inputs[number]
        if not isinstance(aggregator, Routing):
            continue
        effective = count_effective_heads(aggregator.agreements(heads))
        activation = spread = None
        if isinstance(aggregator, Activating):
            activation, spread = measure_spread(aggregator.activations(heads))
        found.append(
            RoutedLayer(
                layer=number,
                heads=attention.num_heads,
                effective_heads=effective,
                activation=activation,
                spread=spread,
            )
        )
    return found


def count_effective_heads(weights: Tensor) -> list[float]:
    """Return the effective heads after each iteration from agreement weights (R, T, H, N), the mean over T and N.

    A capsule that every head leaves does not count.
    """
    agreement = weights.double()
    total = agreement.sum(2, keepdim=True)
    shares = agreement / total.clamp_min(1e-300)
    effective = torch.special.entr(shares).sum(2).exp()
    counted = (total.squeeze(2) > 0).double()
    means = (effective * counted).sum((1, 2)) / counted.sum((1, 2)).clamp_min(1.0)
    return [round(mean, DIGITS) for mean in means.tolist()]


def measure_spread(activations: Tensor) -> tuple[float, float]:
    """Return the mean of activations (T, N), and their mean standard deviation over T, relative to it.

    A capsule that is hardly ever active counts for little.
    """
    activation = activations.double()
    mean, deviation = float(activation.mean()), float(activation.std(0, correction=0).mean())
    return round(mean, DIGITS), round(deviation / max(mean, 1e-300), DIGITS)
