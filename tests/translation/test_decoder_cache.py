"""Attention of few queries to what is kept, as search has it."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from probing.translation.decoder_cache import attend


@pytest.mark.parametrize(("queries", "keys"), [(1, 1), (4, 14), (5, 300)])
def test_attention_is_that_of_torch(queries: int, keys: int) -> None:
    torch.manual_seed(0)
    query = torch.randn(3, queries, 2, 8).transpose(1, 2)
    key, value = (torch.randn(3, 2, keys + 7, 8)[:, :, :keys] for _ in range(2))  # with room for more
    mask = torch.rand(3, 1, queries, keys) > 0.3
    mask[..., 0] = True
    expected = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    torch.testing.assert_close(attend(query, key, value, mask), expected)


def test_what_is_masked_changes_nothing() -> None:
    torch.manual_seed(0)
    query, key, value = torch.randn(1, 2, 3, 4), torch.randn(1, 2, 5, 4), torch.randn(1, 2, 5, 4)
    mask = torch.tensor([True, True, False, True, False])
    found = attend(query, key, value, mask)
    key[:, :, ~mask], value[:, :, ~mask] = 1e3, -1e3
    assert torch.equal(attend(query, key, value, mask), found)
