"""Batches made the obvious way, and one thread: threads would only wait for each other on tensors this small."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest
import torch
from torch import Tensor

from probing.model.attention import Packing


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def pack() -> Callable[..., Packing]:
    """Return a function of sentence lengths, and perhaps of their order in the views: where each token stands."""

    def build(lengths: Sequence[int], order: Tensor | None = None) -> Packing:
        rows = [row for row, length in enumerate(lengths) for _ in range(length)]
        positions = [position for length in lengths for position in range(length)]
        return Packing.build(torch.tensor(rows), torch.tensor(positions), torch.tensor(lengths), max(lengths), order)

    return build


@pytest.fixture(scope="session")
def split() -> Callable[[Tensor, Packing], list[Tensor]]:
    """Return a function that cuts packed tokens into sentences."""

    def cut(packed: Tensor, packing: Packing) -> list[Tensor]:
        return list(packed.split(packing.lengths.tolist()))

    return cut
