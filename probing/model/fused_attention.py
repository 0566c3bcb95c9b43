"""Attention as a compiled kernel on packed tokens: no padding and no mask, forwards and backwards.

Only the queries, keys, values and one number per token and head are kept for the backward pass.
Shapes: T tokens of the batch laid end to end, S tokens that they look at, B sentences, H heads, d model width.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from probing import native

MAX_ENERGIES = 1 << 20
"""Largest number of pairs of tokens of a sentence: the kernel holds them all, which torch's operation does not."""


@dataclass(frozen=True, slots=True)
class AttentionCall:
    """What an attention computes, besides its tensors."""

    num_heads: int
    causal: bool
    starts: Tensor
    """(B + 1,), where the sentences begin, and the end of the last."""
    memory_starts: Tensor
    """(B + 1,), the same of what is looked at."""
    reference: Callable[..., Tensor]
    """The same attention in torch operations, for derivatives that the kernel does not have."""


def can_attend(longest: int, longest_memory: int, *tensors: Tensor) -> bool:
    """Return whether the kernel takes these tensors."""
    return (
        all(tensor.device.type == "cpu" and tensor.dtype == torch.float32 for tensor in tensors)
        and longest * longest_memory <= MAX_ENERGIES
        and not torch.compiler.is_compiling()
        and native.load("attention").library is not None
    )


@native.operations_as_they_are()
def attend(call: AttentionCall, *projected: Tensor) -> Tensor:
    """Return the heads' outputs (T, H, d/H).

    `projected` are queries, keys and values side by side, (T, 3d), or the queries (T, d) and then keys and values
    side by side, (S, 2d).
    """
    output: Tensor = _Attend.apply(call, *projected)
    return output


class _Attend(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, call: AttentionCall, *projected: Tensor) -> Tensor:
        contiguous = [each.contiguous() for each in projected]
        tokens, width = len(projected[0]), _width(projected)
        output = projected[0].new_empty(tokens, call.num_heads, width // call.num_heads)
        logs = projected[0].new_empty(tokens, call.num_heads)
        _run("forward", call, width, [*_rows(contiguous, width), _TokenRows(output.data_ptr(), width)], logs, [])
        ctx.save_for_backward(*projected, logs)
        ctx.call = call
        return output

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> Any:
        *projected, logs = ctx.saved_tensors
        call: AttentionCall = ctx.call
        if torch.is_grad_enabled():  # a gradient's gradient is left to torch
            with torch.enable_grad():
                return None, *torch.autograd.grad(call.reference(*projected), projected, upstream, create_graph=True)
        width = _width(projected)
        contiguous, given = [each.contiguous() for each in projected], upstream[0].contiguous()
        gradients = [torch.empty_like(each, memory_format=torch.contiguous_format) for each in projected]
        rows = [*_rows(contiguous, width), _TokenRows(given.data_ptr(), width)]
        _run("backward", call, width, rows, logs, _rows(gradients, width))
        return None, *gradients


def _width(projected: list[Tensor] | tuple[Tensor, ...]) -> int:
    return projected[0].shape[1] // (3 if len(projected) == 1 else 1)


class _AttentionShape(ctypes.Structure):
    _fields_ = (
        ("sentences", ctypes.c_int64),
        ("heads", ctypes.c_int64),
        ("size", ctypes.c_int64),
        ("query_starts", ctypes.c_void_p),
        ("key_starts", ctypes.c_void_p),
        ("scale", ctypes.c_float),
        ("causal", ctypes.c_int),
    )


class _TokenRows(ctypes.Structure):
    _fields_ = (("data", ctypes.c_void_p), ("stride", ctypes.c_int64))


def _rows(tensors: list[Tensor], width: int) -> list[_TokenRows]:
    """Return where queries, keys and values lie; the tensors are contiguous."""
    return [
        _TokenRows(tensor.data_ptr() + tensor.element_size() * first, tensor.shape[1])
        for tensor in tensors
        for first in range(0, tensor.shape[1], width)
    ]


def _run(
    direction: str, call: AttentionCall, width: int, rows: list[_TokenRows], logs: Tensor, gradients: list[_TokenRows]
) -> None:
    size = width // call.num_heads
    starts, memory_starts = call.starts.data_ptr(), call.memory_starts.data_ptr()
    shape = _AttentionShape(len(call.starts) - 1, call.num_heads, size, starts, memory_starts, size**-0.5, call.causal)
    library = native.load("attention").library
    assert library is not None
    getattr(library, f"attend_{direction}")(
        ctypes.byref(shape),
        ctypes.c_int(torch.get_num_threads()),
        *map(ctypes.byref, rows),
        ctypes.c_void_p(logs.data_ptr()),
        *map(ctypes.byref, gradients),
    )
