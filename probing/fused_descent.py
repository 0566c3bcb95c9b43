"""The training of groups as one compiled kernel: batches, scores, gradients and Adam without a call in between."""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from probing.aggregators import kernels
from probing.descent import Adam
from probing.groups import Group
from probing.inputs import Batches

PRODUCTS_FOR_THREADS = 2**17
"""Steps with fewer multiplications run on one thread: a second would not be worth its start."""


@functools.cache
def load() -> kernels.Kernels:
    """Return the kernel; a failure is logged once."""
    return kernels.build(Path(__file__).with_name("native") / "descent.cpp")


def train(
    groups: Sequence[Group], optimizers: Sequence[Adam], batches: Batches, noises: Sequence[Tensor | None]
) -> Tensor:
    """Train on all batches and return the cross-entropies (G,), summed; the noise of a group is (H, sentences)."""
    vectors, labels, order = batches.vectors, batches.labels.contiguous(), batches.order.contiguous()
    if vectors.dtype != torch.float32 or vectors.stride(1) != 1:
        vectors, labels, order = vectors.index_select(0, order).float(), labels[order], torch.arange(len(order))
    losses = [torch.zeros(len(group.numbers), dtype=torch.float64) for group in groups]
    described = [
        _Group(
            len(group.numbers),
            group.num_classes,
            group.hidden,
            _describe_layers(group, adam),
            *map(_address, (group.dropout, group.weight_decay, noise, loss)),
        )
        for group, adam, noise, loss in zip(groups, optimizers, noises, losses, strict=True)
    ]
    adam = optimizers[0]
    settings = _Adam(adam.learning_rate, *adam.BETAS, adam.EPSILON, adam.steps)
    data = _Batches(
        _address(vectors),
        vectors.stride(0),
        vectors.shape[1],
        *map(_address, (batches.inputs.mean, batches.inputs.scale, labels, order)),
        len(batches),
        batches.size,
    )
    products = batches.size * sum(group.weights[0].numel() for group in groups)
    threads = torch.get_num_threads() if products >= PRODUCTS_FOR_THREADS else 1
    library = load().library
    assert library is not None
    library.descend_groups(
        (_Group * len(groups))(*described),
        ctypes.c_int64(len(groups)),
        ctypes.byref(settings),
        ctypes.byref(data),
        ctypes.c_int(threads),
    )
    for each in optimizers:
        each.steps += math.ceil(len(batches) / batches.size)
    return torch.cat(losses)


def _describe_layers(group: Group, adam: Adam) -> ctypes.Array[_Layer]:
    states = zip(group.weights, adam.means, adam.squares, strict=True)
    return (_Layer * 2)(*(_Layer(*state[0].shape[1:], *map(_address, state)) for state in states))


def _address(tensor: Tensor | None) -> ctypes.c_void_p:
    return ctypes.c_void_p(None if tensor is None else tensor.data_ptr())


def _fields(kind: type, *names: str) -> list[tuple[str, type]]:
    return [(name, kind) for name in names]


class _Layer(ctypes.Structure):
    _fields_ = [
        *_fields(ctypes.c_int64, "rows", "columns"),
        *_fields(ctypes.c_void_p, "weights", "means", "squares"),
    ]


class _Group(ctypes.Structure):
    _fields_ = [
        *_fields(ctypes.c_int64, "configurations", "classes", "hidden"),
        ("layers", _Layer * 2),
        *_fields(ctypes.c_void_p, "dropout", "weight_decay", "noise", "losses"),
    ]


class _Adam(ctypes.Structure):
    _fields_ = [*_fields(ctypes.c_double, "rate", "beta1", "beta2", "epsilon"), ("steps", ctypes.c_int64)]


class _Batches(ctypes.Structure):
    _fields_ = [
        ("vectors", ctypes.c_void_p),
        *_fields(ctypes.c_int64, "stride", "dim"),
        *_fields(ctypes.c_void_p, "mean", "scale", "labels", "order"),
        *_fields(ctypes.c_int64, "count", "size"),
    ]
