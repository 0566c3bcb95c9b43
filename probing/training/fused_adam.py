"""Adam as a compiled kernel: one pass over weights, moments and gradients, clipping included.

A gradient may have some rows only, as that of an embedding has those of a batch's words: nothing is filled up with
zeros, and the numbers are the same.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from probing import native


@dataclass(frozen=True, slots=True)
class AdamStep:
    """The numbers of one step."""

    learning_rate: float
    beta1: float
    beta2: float
    epsilon: float
    weight_decay: float
    """Share of matrices, times the learning rate, that the step takes."""
    clip_norm: float
    """Largest norm of all gradients, or 0."""


@dataclass(frozen=True, slots=True)
class Moments:
    """A parameter with its moments, and how many steps it has had with this one."""

    weights: Tensor
    mean: Tensor
    square: Tensor
    steps: int


def can_move(parameters: Sequence[Tensor]) -> bool:
    """Return whether the kernel takes these parameters and their gradients."""
    return native.load("step").library is not None and all(
        tensor.is_cpu and tensor.dtype == torch.float32 and tensor.is_contiguous() for tensor in parameters
    )


def move(moments: Sequence[Moments], gradients: Sequence[Tensor], step: AdamStep) -> float:
    """Move all parameters by a step, and return the norm of the gradients before clipping."""
    library = native.load("step").library
    assert library is not None
    library.sum_squares.restype = ctypes.c_double
    threads = ctypes.c_int(torch.get_num_threads())
    pieces = [_describe(each, gradient) for each, gradient in zip(moments, gradients, strict=True)]
    structures = (_Parameter * len(pieces))(*(structure for structure, _ in pieces))
    norm = math.sqrt(library.sum_squares(ctypes.c_int64(len(pieces)), threads, structures)) if step.clip_norm else 0.0
    for number in sorted({each.steps for each in moments}):
        chosen = [place for place, each in enumerate(moments) if each.steps == number]
        settings = _AdamSettings(
            step.learning_rate,
            step.beta1,
            step.beta2,
            step.epsilon,
            1 - step.beta1**number,
            math.sqrt(1 - step.beta2**number),
            _scale(norm, step.clip_norm),
            1 - step.learning_rate * step.weight_decay,
        )
        some = (_Parameter * len(chosen))(*(structures[place] for place in chosen))
        library.adam(ctypes.c_int64(len(chosen)), threads, some, ctypes.byref(settings))
    return norm


def _scale(norm: float, clip_norm: float) -> float:
    """Return the factor of the gradients, as torch's clipping has it; a norm that is not a number makes all such."""
    if not clip_norm:
        return 1.0
    scale = clip_norm / (norm + 1e-6)
    return scale if math.isnan(scale) else min(1.0, scale)


def _describe(moments: Moments, gradient: Tensor) -> tuple[_Parameter, list[Tensor]]:
    """Return what the kernel reads, and tensors that must live until it has read them."""
    height = moments.weights.shape[0] if moments.weights.dim() else 1
    rows: Tensor | None = None
    if gradient.is_sparse:
        gradient = gradient.coalesce()
        rows, gradient = gradient.indices()[0].contiguous(), gradient.values()
    gradient = gradient.contiguous()
    structure = _Parameter(
        moments.weights.data_ptr(),
        moments.mean.data_ptr(),
        moments.square.data_ptr(),
        gradient.data_ptr(),
        None if rows is None else rows.data_ptr(),
        -1 if rows is None else len(rows),
        height,
        moments.weights.numel() // max(1, height),
        moments.weights.dim() > 1,
    )
    return structure, [gradient] if rows is None else [gradient, rows]


class _Parameter(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("weights", "means", "squares", "gradient", "rows")),
        *((name, ctypes.c_int64) for name in ("num_rows", "height", "width")),
        ("decays", ctypes.c_int),
    )


class _AdamSettings(ctypes.Structure):
    _fields_ = tuple(
        (name, ctypes.c_float)
        for name in ("rate", "beta1", "beta2", "epsilon", "correction1", "correction2", "scale", "keep")
    )
