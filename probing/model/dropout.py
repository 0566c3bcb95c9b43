"""Dropout whose noise is cheap to draw: 16 random bits a number, where torch's own takes several times as long."""

from __future__ import annotations

import torch
from torch import Tensor, nn

LEVELS = 1 << 16


class Dropout(nn.Dropout):
    """Dropout like torch's, with the same noise on any number of threads."""

    def forward(self, hidden: Tensor) -> Tensor:
        if hidden.device.type != "cpu" or not self.training or self.p == 0:
            return super().forward(hidden)
        return hidden * draw_noise(hidden, self.p)


def draw_noise(like: Tensor, share: float) -> Tensor:
    """Return zeros, as many as the share says to within 2^-17, and otherwise the scale that keeps the mean at 1."""
    dropped = min(round(share * LEVELS), LEVELS - 1)
    words = torch.empty(like.numel() // 4 + 1, dtype=torch.int64).random_(-(1 << 63), None)
    bits = words.view(torch.int16)[: like.numel()].view(like.shape)
    return (bits >= dropped - LEVELS // 2).to(like.dtype).mul_(LEVELS / (LEVELS - dropped))
