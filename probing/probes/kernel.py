"""The training of stacks as one compiled kernel: batches, scores, gradients and Adam without a call in between."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence

import torch
from torch import Tensor

from probing import native
from probing.native import Kernels
from probing.probes.optimizers import Adam
from probing.probes.stack import Stack
from probing.probes.standardise import Batches

PRODUCTS_FOR_THREADS = 2**17
"""Number of multiplications in a step below which it runs on one thread: starting a second takes longer."""


def load() -> Kernels:
    """Return the compiled kernel, or why there is none."""
    return native.load("descent")


def train(
    stacks: Sequence[Stack], optimizers: Sequence[Adam], batches: Batches, noises: Sequence[Tensor | None]
) -> Tensor:
    """Train on all batches and return the cross-entropies (G,), summed; the noise of a stack is (H, sentences)."""
    vectors, labels, order = batches.vectors, batches.labels.contiguous(), batches.order.contiguous()
    if vectors.dtype != torch.float32 or vectors.stride(1) != 1:
        vectors, labels, order = vectors.index_select(0, order).float(), labels[order], torch.arange(len(order))
    losses = [torch.zeros(len(stack.numbers), dtype=torch.float64) for stack in stacks]
    described = [
        _StackFields(
            len(stack.numbers),
            stack.num_classes,
            stack.hidden,
            _describe_layers(stack, adam),
            *map(_address, (stack.dropout, stack.weight_decay, noise, loss)),
        )
        for stack, adam, noise, loss in zip(stacks, optimizers, noises, losses, strict=True)
    ]
    adam = optimizers[0]
    correction = -1.0 if adam.correction is None else adam.correction
    settings = _AdamFields(adam.learning_rate, *adam.betas, adam.epsilon, correction, adam.steps)
    data = _BatchFields(
        _address(vectors),
        vectors.stride(0),
        vectors.shape[1],
        *map(_address, (batches.inputs.mean, batches.inputs.scale, labels, order)),
        len(batches),
        batches.size,
    )
    products = batches.size * sum(stack.weights[0].numel() for stack in stacks)
    threads = torch.get_num_threads() if products >= PRODUCTS_FOR_THREADS else 1
    library = load().library
    assert library is not None
    library.descend_groups(
        (_StackFields * len(stacks))(*described),
        ctypes.c_int64(len(stacks)),
        ctypes.byref(settings),
        ctypes.byref(data),
        ctypes.c_int(threads),
    )
    for each in optimizers:
        each.steps += math.ceil(len(batches) / batches.size)
    return torch.cat(losses)


def _describe_layers(stack: Stack, adam: Adam) -> ctypes.Array[_LayerFields]:
    states = zip(stack.weights, adam.means, adam.squares, strict=True)
    return (_LayerFields * 2)(*(_LayerFields(*state[0].shape[1:], *map(_address, state)) for state in states))


def _address(tensor: Tensor | None) -> ctypes.c_void_p:
    return ctypes.c_void_p(None if tensor is None else tensor.data_ptr())


def _fields(kind: type, *names: str) -> list[tuple[str, type]]:
    return [(name, kind) for name in names]


class _LayerFields(ctypes.Structure):
    _fields_ = [
        *_fields(ctypes.c_int64, "rows", "columns"),
        *_fields(ctypes.c_void_p, "weights", "means", "squares"),
    ]


class _StackFields(ctypes.Structure):
    _fields_ = [
        *_fields(ctypes.c_int64, "configurations", "classes", "hidden"),
        ("layers", _LayerFields * 2),
        *_fields(ctypes.c_void_p, "dropout", "weight_decay", "noise", "losses"),
    ]


class _AdamFields(ctypes.Structure):
    _fields_ = [*_fields(ctypes.c_double, "rate", "beta1", "beta2", "epsilon", "correction"), ("steps", ctypes.c_int64)]


class _BatchFields(ctypes.Structure):
    _fields_ = [
        ("vectors", ctypes.c_void_p),
        *_fields(ctypes.c_int64, "stride", "dim"),
        *_fields(ctypes.c_void_p, "mean", "scale", "labels", "order"),
        *_fields(ctypes.c_int64, "count", "size"),
    ]
