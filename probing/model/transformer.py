"""The sentence encoder: embeddings, pre-norm attention and feed-forward blocks, mean over the real tokens.

Section 5.1 of Li et al. (2019), with the block of Transformer-Base: dropout falls on the embeddings and on what each
block adds. All per-token work runs on packed tokens.
Shapes: T tokens of the batch laid end to end, B sentences, d model width.
"""

from __future__ import annotations

import functools
import math
from collections import deque
from collections.abc import Iterable, Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional

from probing.model.attention import Attention, Packing
from probing.model.dropout import Dropout


class Transformer(nn.Module):
    """Map packed tokens to sentence vectors (B, d); one aggregator per layer is handed in."""

    def __init__(
        self,
        vocabulary_size: int,
        model_dim: int,
        num_heads: int,
        *,
        aggregators: Iterable[nn.Module],
        feed_forward_dim: int,
        dropout: float = 0.0,
        sparse: bool = False,
    ) -> None:
        super().__init__()
        self.embedding = make_embedding(vocabulary_size, model_dim, sparse=sparse)
        self.layers = nn.ModuleList(
            Layer(model_dim, num_heads, aggregator, feed_forward_dim=feed_forward_dim, dropout=dropout)
            for aggregator in aggregators
        )
        self.norm = nn.LayerNorm(model_dim)
        self.dropout = Dropout(dropout)

    def forward(self, tokens_T: Tensor, packing: Packing) -> Tensor:
        return mean_of_tokens(self.encode(tokens_T, packing), packing)

    def encode(self, tokens_T: Tensor, packing: Packing) -> Tensor:
        """Return the top layer's hidden states (T, d) of the tokens."""
        return deque(self.iterate_layers(tokens_T, packing), 1)[0]

    def iterate_layers(self, tokens_T: Tensor, packing: Packing) -> Iterator[Tensor]:
        """Yield the hidden states (T, d) of the embeddings, then of each layer; the last ones with the final norm."""
        hidden_Td = self.dropout(embed(self.embedding, tokens_T, packing))
        for layer in self.layers:
            yield hidden_Td
            hidden_Td = layer(hidden_Td, packing)
        yield self.norm(hidden_Td)


class Layer(nn.Module):
    """x + attention(norm(x)), then x + feed_forward(norm(x))."""

    def __init__(
        self, model_dim: int, num_heads: int, aggregator: nn.Module, *, feed_forward_dim: int, dropout: float
    ) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(model_dim)
        self.attention = Attention(model_dim, num_heads, aggregator)
        self.feed_forward_norm = nn.LayerNorm(model_dim)
        self.feed_forward = make_feed_forward(model_dim, feed_forward_dim)
        self.dropout = Dropout(dropout)

    def forward(self, hidden_Td: Tensor, packing: Packing) -> Tensor:
        hidden_Td = self.dropout.add(hidden_Td, self.attention(self.attention_norm(hidden_Td), packing))
        return self.dropout.add(hidden_Td, self.feed_forward(self.feed_forward_norm(hidden_Td)))


def make_feed_forward(model_dim: int, feed_forward_dim: int) -> nn.Sequential:
    """Return a linear layer, ReLU and a linear layer back."""
    layers = nn.Sequential(nn.Linear(model_dim, feed_forward_dim), nn.ReLU(), nn.Linear(feed_forward_dim, model_dim))
    for module in layers:
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            nn.init.zeros_(module.bias)
    return layers


def make_embedding(vocabulary_size: int, model_dim: int, *, sparse: bool = False) -> nn.Embedding:
    """Return vectors of words, drawn from N(0, d^-1/2); if `sparse`, gradients have the rows of a batch only."""
    embedding = nn.Embedding(vocabulary_size, model_dim, sparse=sparse)
    nn.init.normal_(embedding.weight, std=model_dim**-0.5)
    return embedding


def embed(embedding: nn.Embedding, tokens_T: Tensor, packing: Packing) -> Tensor:
    """Return the tokens' vectors (T, d), times the root of d, with their positions' encodings."""
    sparse = embedding.sparse and tokens_T.device.type == "cpu"
    hidden_Td = functional.embedding(tokens_T, embedding.weight, sparse=sparse)
    return torch.add(encode_positions(packing, hidden_Td), hidden_Td, alpha=math.sqrt(embedding.embedding_dim))


def encode_positions(packing: Packing, like_Td: Tensor) -> Tensor:
    """Return the encodings (T, d) of the tokens' positions, from a table that is made once."""
    rows = max(64, 1 << (packing.mask.shape[-1] - 1).bit_length())
    table = _tabulate(rows, like_Td.shape[1], like_Td.dtype, like_Td.device)
    return table.index_select(0, packing.positions)


@functools.lru_cache(maxsize=8)
def _tabulate(rows: int, model_dim: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    with torch.inference_mode(False):  # a table that evaluation made must serve training too
        return sinusoids(torch.arange(rows, device=device), model_dim, dtype)


def sinusoids(positions: Tensor, model_dim: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Return the sinusoidal encodings (T, d) of positions (T,): sines in the first half, cosines in the second."""
    half = (model_dim + 1) // 2
    rates = torch.exp(torch.arange(half, device=positions.device) * (-math.log(10_000) / half))
    angles = positions.unsqueeze(1) * rates
    return torch.cat([angles.sin(), angles.cos()], 1)[:, :model_dim].to(dtype)


def mean_of_tokens(hidden_Td: Tensor, packing: Packing) -> Tensor:
    """Return the mean (B, d) of each sentence's packed tokens."""
    sums = hidden_Td.new_zeros(len(packing.lengths), hidden_Td.shape[1]).index_add(0, packing.rows, hidden_Td)
    return sums / packing.lengths.unsqueeze(1)
