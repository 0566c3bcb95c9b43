"""The loss of a translation: cross-entropy with smoothed labels, straight from hidden states.

The scores of all subwords for all tokens would be the largest tensor of a training step by far. They are made block by
block, and the gradient is taken while a block is there, so that nothing of it is kept.
Shapes: T tokens, V subwords, d model width.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from probing.native import differentiate

BLOCK = 1 << 20
"""Approximate number of scores in a block: few enough for a processor's cache, enough for its matrix products."""


def smoothed_cross_entropy(hidden_Td: Tensor, weight_Vd: Tensor, targets_T: Tensor, smoothing: float = 0.0) -> Tensor:
    """Return the loss summed over the tokens; `smoothing` is the probability spread over the other V - 1 subwords."""
    loss: Tensor = _SmoothedCrossEntropy.apply(hidden_Td, weight_Vd, targets_T, smoothing)
    return loss


def reference_smoothed_cross_entropy(
    hidden_Td: Tensor, weight_Vd: Tensor, targets_T: Tensor, smoothing: float = 0.0
) -> Tensor:
    """Return the same in plain torch operations."""
    log_TV = functional.linear(hidden_Td, weight_Vd).log_softmax(-1)
    others = smoothing / (log_TV.shape[1] - 1)
    right_T = log_TV.gather(1, targets_T.unsqueeze(1)).squeeze(1)
    return -((1 - smoothing - others) * right_T + others * log_TV.sum(1)).sum()


class _SmoothedCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, hidden_Td: Tensor, weight_Vd: Tensor, targets_T: Tensor, smoothing: float) -> Tensor:
        needed = hidden_Td.requires_grad or weight_Vd.requires_grad
        size = len(weight_Vd)
        others = smoothing / (size - 1)
        weight = weight_Vd.to(hidden_Td.dtype)
        total = torch.zeros((), dtype=_wide(hidden_Td.dtype), device=hidden_Td.device)
        by_hidden = torch.empty_like(hidden_Td) if needed else None
        by_weight = torch.zeros_like(weight, dtype=weight_Vd.dtype) if needed else None
        step = max(16, BLOCK // size)
        for start in range(0, len(hidden_Td), step):
            hidden, targets = hidden_Td[start : start + step], targets_T[start : start + step].unsqueeze(1)
            scores = functional.linear(hidden, weight).to(total.dtype)
            right, largest = scores.gather(1, targets), scores.amax(1, keepdim=True)
            total -= (1 - smoothing - others) * right.sum() + others * scores.sum()
            odds = scores.sub_(largest).exp_()
            sums = odds.sum(1, keepdim=True)
            total += (sums.log() + largest).sum()
            if by_hidden is not None and by_weight is not None:
                gradient = odds.div_(sums).sub_(others)
                gradient.scatter_add_(1, targets, gradient.new_full(targets.shape, smoothing + others - 1))
                by_block, by_scores = differentiate(gradient.to(hidden.dtype), hidden, weight)
                by_hidden[start : start + step] = by_block
                by_weight += by_scores
        ctx.save_for_backward(by_hidden, by_weight)
        return total

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> Any:
        by_hidden, by_weight = ctx.saved_tensors
        return by_hidden * upstream[0].to(by_hidden.dtype), by_weight * upstream[0].to(by_weight.dtype), None, None


def _wide(dtype: torch.dtype) -> torch.dtype:
    """Return the type that sums are taken in."""
    return torch.promote_types(dtype, torch.float32)
