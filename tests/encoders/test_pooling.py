"""Pooling sees a sentence's own tokens only; compared with numpy."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from probing.config import POOLINGS
from probing.encoders.pooling import POOL

LENGTHS = [1, 3, 5]
STATES = torch.randn(3, 5, 4, generator=torch.Generator().manual_seed(0))
MASK = torch.tensor([[1] * length + [0] * (5 - length) for length in LENGTHS])
EXPECTED = {
    "mean": lambda tokens: tokens.mean(0),
    "cls": lambda tokens: tokens[0],
    "max": lambda tokens: tokens.max(0),
    "last": lambda tokens: tokens[-1],
}


@pytest.mark.parametrize("pooling", POOLINGS)
def test_a_vector_is_of_the_sentences_own_tokens(pooling: str) -> None:
    pooled = POOL[pooling](STATES, MASK).numpy()
    for row, length in enumerate(LENGTHS):
        expected = EXPECTED[pooling](STATES[row, :length].numpy())
        np.testing.assert_allclose(pooled[row], expected, atol=1e-6)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_what_stands_in_the_padding_changes_nothing(pooling: str) -> None:
    other = torch.where(MASK.bool().unsqueeze(2), STATES, torch.full_like(STATES, 1e6))
    assert torch.equal(POOL[pooling](other, MASK), POOL[pooling](STATES, MASK))
