"""Dropout whose noise is cheap to draw and is never stored: a hash of each number's place and of one drawn seed.

The kernel and torch's operations draw the same noise, on any number of threads.
"""

from __future__ import annotations

import ctypes
from typing import Any

import torch
from torch import Tensor, nn

from probing import native

RANGE = 1 << 32
"""Number of hashes: a number is dropped if its hash is below that share of the range."""


class Dropout(nn.Dropout):
    """Dropout like torch's; on a GPU it is torch's."""

    def forward(self, hidden: Tensor) -> Tensor:
        return self._drop(hidden, None) if self._is_ours(hidden) else super().forward(hidden)

    def add(self, added: Tensor, hidden: Tensor) -> Tensor:
        """Return `added` plus what dropout leaves of `hidden`."""
        if self._is_ours(hidden) and added.shape == hidden.shape:
            return self._drop(hidden, added)
        return added + self.forward(hidden)

    def _is_ours(self, hidden: Tensor) -> bool:
        return hidden.device.type == "cpu" and self.training and self.p > 0

    @native.operations_as_they_are()
    def _drop(self, hidden: Tensor, added: Tensor | None) -> Tensor:
        output: Tensor = _Drop.apply(hidden, added, self.p, int(torch.randint(1 << 62, ())))
        return output


class _Drop(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, hidden: Tensor, added: Tensor | None, share: float, seed: int) -> Tensor:
        ctx.noise, ctx.adds = (share, seed), added is not None
        return drop(hidden, share, seed, added)

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> Any:
        (gradient,) = upstream
        return _Drop.apply(gradient, None, *ctx.noise), gradient if ctx.adds else None, None, None


def drop(hidden: Tensor, share: float, seed: int, added: Tensor | None = None) -> Tensor:
    """Return numbers, a share of them set to zero and the others scaled to keep the mean, plus `added`."""
    floats = [hidden] if added is None else [hidden, added]
    if any(each.dtype != torch.float32 for each in floats) or native.load("step").library is None:
        kept = torch.where(draw_kept(hidden, share, seed), hidden * _scale(share), torch.zeros_like(hidden))
        return kept if added is None else added + kept
    inputs, sums = hidden.contiguous(), None if added is None else added.contiguous()
    output = torch.empty_like(inputs)
    noise = _Noise(seed % RANGE, seed // RANGE, _threshold(share), _scale(share))
    library = native.load("step").library
    assert library is not None
    library.drop(
        ctypes.c_int64(inputs.numel()),
        ctypes.c_int(torch.get_num_threads()),
        ctypes.c_void_p(inputs.data_ptr()),
        ctypes.c_void_p(None if sums is None else sums.data_ptr()),
        ctypes.byref(noise),
        ctypes.c_void_p(output.data_ptr()),
    )
    return output


def draw_kept(like: Tensor, share: float, seed: int) -> Tensor:
    """Return which numbers are kept: all but as many as the share says."""
    low, high = seed % RANGE, seed // RANGE
    bits = (torch.arange(like.numel(), device=like.device) * 0x9E3779B1 + low) % RANGE
    for each in (0, high):  # past 64 bits, the upper ones are lost, and only the lower 32 count
        bits ^= each
        bits ^= bits >> 16
        bits = bits * 0x85EBCA6B % RANGE
        bits ^= bits >> 13
        bits = bits * 0xC2B2AE35 % RANGE
        bits ^= bits >> 16
    return (bits >= _threshold(share)).view(like.shape)


def _threshold(share: float) -> int:
    return min(round(share * RANGE), RANGE - 1)


def _scale(share: float) -> float:
    return 1 / (1 - _threshold(share) / RANGE)


class _Noise(ctypes.Structure):
    _fields_ = (
        ("low", ctypes.c_uint32),
        ("high", ctypes.c_uint32),
        ("threshold", ctypes.c_uint32),
        ("scale", ctypes.c_float),
    )
