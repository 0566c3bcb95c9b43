"""A group's training as one compiled kernel: batches, scores, gradients and Adam without a call in between."""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path

import torch
from torch import Tensor

from probing.aggregators import kernels
from probing.descent import Adam
from probing.groups import Group
from probing.inputs import Batches

PRODUCTS_FOR_THREADS = 2**22
"""Steps with fewer multiplications run on one thread: threads would wait for each other most of the time."""


@functools.cache
def load() -> kernels.Kernels:
    """Return the kernel; a failure is logged once."""
    return kernels.build(Path(__file__).with_name("native") / "descent.cpp")


def train(group: Group, adam: Adam, batches: Batches, noise: Tensor | None) -> Tensor:
    """Train on all batches and return the cross-entropies (G,), summed; the noise is (H, sentences)."""
    vectors, order = batches.vectors, batches.order
    labels = batches.labels
    if vectors.dtype != torch.float32 or vectors.stride(1) != 1:
        vectors, labels = vectors.index_select(0, order).float(), labels[order]
        order = torch.arange(len(order))
    kept = [tensor.contiguous() for tensor in (labels, order)]  # named, so that the memory lives during the call
    layers = [
        _Layer(*weight.shape[1:], *map(_address, (weight, mean, square)))
        for weight, mean, square in zip(group.weights, adam.means, adam.squares, strict=True)
    ]
    losses = torch.zeros(len(group.numbers), dtype=torch.float64)
    arguments = (
        _Group(
            len(group.numbers),
            group.num_classes,
            group.hidden,
            (_Layer * 2)(*layers),
            _address(group.dropout),
            _address(group.weight_decay),
        ),
        _Adam(adam.learning_rate, *adam.BETAS, adam.EPSILON, adam.steps),
        _Batches(
            _address(vectors),
            vectors.stride(0),
            vectors.shape[1],
            _address(batches.inputs.mean),
            _address(batches.inputs.scale),
            *map(_address, kept),
            len(batches),
            batches.size,
            _address(noise),
        ),
    )
    threads = torch.get_num_threads() if batches.size * group.weights[0].numel() >= PRODUCTS_FOR_THREADS else 1
    library = load().library
    assert library is not None
    library.descend_group(*map(ctypes.byref, arguments), ctypes.c_int(threads), _address(losses))
    adam.steps += -(-len(batches) // batches.size)
    return losses


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
        *_fields(ctypes.c_void_p, "dropout", "weight_decay"),
    ]


class _Adam(ctypes.Structure):
    _fields_ = [*_fields(ctypes.c_double, "rate", "beta1", "beta2", "epsilon"), ("steps", ctypes.c_int64)]


class _Batches(ctypes.Structure):
    _fields_ = [
        ("vectors", ctypes.c_void_p),
        *_fields(ctypes.c_int64, "stride", "dim"),
        *_fields(ctypes.c_void_p, "mean", "scale", "labels", "order"),
        *_fields(ctypes.c_int64, "count", "size"),
        ("noise", ctypes.c_void_p),
    ]
