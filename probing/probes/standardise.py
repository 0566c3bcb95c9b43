"""Frozen vectors become inputs of a classifier: float32, standardised or not, a constant 1, and padding with zeros.

Shapes: B sentences of a batch, D inputs (the constant is the one after the vector, so that a bias is a weight).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

BLOCK_NUMBERS = 2**21
"""Number of values that are read, standardised or scored at a time."""
LANES = 8
"""Width of a vector register; the number of inputs is a multiple of it."""

LARGEST = 10.0
"""Largest input of a standardised training sentence: a column that is rarely used, such as that of a rare word, would
become very large otherwise. Columns close to a normal distribution stay below it anyway."""

CONSTANT = 1e-10
"""Smallest ratio of a column's deviation to its magnitude; below it the column is constant except for rounding, because
two different float32 numbers differ by more."""


def count_inputs(dim: int) -> int:
    """Return the number of inputs of vectors of a dimension, or of a layer with that many units."""
    return (dim + LANES) // LANES * LANES


@dataclass(frozen=True, slots=True)
class Inputs:
    """Makes classifier inputs (B, D) from vectors."""

    mean: Tensor
    scale: Tensor
    device: torch.device

    @classmethod
    def measure(cls, vectors: Tensor, rows: Tensor | None = None, *, standardise: bool, device: torch.device) -> Inputs:
        """Return the inputs' scale on all vectors, or on those in some rows.

        It is measured a block at a time so that the vectors need not fit into memory.
        """
        dim = vectors.shape[1]
        total, squares = torch.zeros(dim, dtype=torch.float64), torch.zeros(dim, dtype=torch.float64)
        mean, scale, farthest = torch.zeros(dim), torch.ones(dim), torch.zeros(dim, dtype=torch.float64)
        if standardise:
            count, size = len(vectors if rows is None else rows), max(1, BLOCK_NUMBERS // dim)
            for block in _read(vectors, rows, size):
                total += block.sum(0, dtype=torch.float64)
            centre = total / count
            for block in _read(vectors, rows, size):
                distances = (block - centre).square_()
                squares += distances.sum(0)
                farthest = torch.maximum(farthest, distances.amax(0))
            deviation = torch.maximum((squares / count).sqrt(), farthest.sqrt() / LARGEST)
            magnitude = centre.abs() + farthest.sqrt()
            varies = deviation > (CONSTANT * magnitude).clamp(min=torch.finfo(torch.float32).tiny)
            mean, scale = centre.float(), torch.where(varies, 1 / deviation, 1.0).float()
        return cls(mean.to(device), scale.to(device), device)

    def make(self, vectors: Tensor) -> Tensor:
        dim = vectors.shape[1]
        inputs = torch.zeros(len(vectors), count_inputs(dim), device=self.device)
        torch.sub(vectors.to(self.device), self.mean, out=inputs[:, :dim]).mul_(self.scale)
        inputs[:, dim] = 1.0
        return inputs

    def blocks(self, vectors: Tensor, order: Tensor | None = None, *, width: int = 1) -> Iterator[Tensor]:
        """Yield inputs of many sentences at a time, in the order given; of fewer if wider things are made of them."""
        rows = max(1, BLOCK_NUMBERS // max(width, count_inputs(vectors.shape[1])))
        yield from map(self.make, _read(vectors, order, rows))


def _read(vectors: Tensor, order: Tensor | None, size: int) -> Iterator[Tensor]:
    """Yield all vectors, or some in the given order, `size` at a time: no more of a mapped file is in memory."""
    if order is None:
        yield from vectors.split(size)
    else:
        yield from (vectors.index_select(0, rows) for rows in order.split(size))


@dataclass(frozen=True, slots=True)
class Batches:
    """Sentences in the order in which they are trained on, a batch at a time."""

    inputs: Inputs
    vectors: Tensor
    """Vectors of all sentences, possibly mapped from a file."""
    labels: Tensor
    """Labels of all sentences."""
    order: Tensor
    size: int
    """Number of sentences in a batch; the last may be smaller."""

    def __len__(self) -> int:
        """Return the number of sentences."""
        return len(self.order)

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the inputs (B, D) and labels (B,) of each batch."""
        inputs = self.inputs.make(self.vectors.index_select(0, self.order))
        labels = self.labels[self.order].to(self.inputs.device)
        yield from zip(inputs.split(self.size), labels.split(self.size), strict=True)

    def split(self, sentences: int) -> Iterator[Batches]:
        """Yield parts of about a number of sentences, all but the last of whole batches."""
        rows = self.size * max(1, sentences // self.size)
        for order in self.order.split(rows):
            yield Batches(self.inputs, self.vectors, self.labels, order, self.size)
