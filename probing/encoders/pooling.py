"""Pooling: one vector of a sentence's tokens.

Shapes: B sentences of a batch, L the longest of them in pieces, d the model's width.
"""

from __future__ import annotations

import torch
from torch import Tensor

from probing.config import POOLINGS


def pool_mean(states_BLd: Tensor, mask_BL: Tensor) -> Tensor:
    """Return the mean over the real tokens."""
    mask = mask_BL.unsqueeze(2).to(states_BLd.dtype)
    return (states_BLd * mask).sum(1) / mask.sum(1)


def pool_cls(states_BLd: Tensor, mask_BL: Tensor) -> Tensor:
    """Return the first token's vector."""
    return states_BLd[:, 0]


def pool_max(states_BLd: Tensor, mask_BL: Tensor) -> Tensor:
    """Return the largest number of each dimension over the real tokens."""
    return states_BLd.masked_fill(~mask_BL.bool().unsqueeze(2), -torch.inf).amax(1)


def pool_last(states_BLd: Tensor, mask_BL: Tensor) -> Tensor:
    """Return the last real token's vector."""
    return states_BLd[torch.arange(len(states_BLd), device=states_BLd.device), mask_BL.sum(1) - 1]


POOL = dict(zip(POOLINGS, (pool_mean, pool_cls, pool_max, pool_last), strict=True))
