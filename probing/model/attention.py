"""Multi-head self-attention on packed tokens (Section 2 of Li et al. 2019), with a free choice of aggregator.

Shapes: T tokens of the batch laid end to end, B sentences, L the longest sentence, H heads, d model width.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from probing.errors import ProbingError

SENTENCES_OF_A_VIEW = 16
"""Approximate number of sentences that are padded together: fewer would save padding, but cost more calls."""


@dataclass(frozen=True, slots=True)
class Packing:
    """Places of packed tokens in their sentences.

    positions: (T,), its place; mask: (B, 1, 1, L), True at tokens; rows: (T,), its sentence; lengths: (B,).
    Attention pads less, in views of some sentences of similar length: `views` are their masks, (sentences, 1, 1,
    longest), and `places`: (T,) are the tokens' places in the views, one after the other.
    """

    positions: Tensor
    rows: Tensor
    mask: Tensor
    lengths: Tensor
    places: Tensor
    views: tuple[Tensor, ...]

    @classmethod
    def build(cls, rows: Tensor, positions: Tensor, lengths: Tensor, longest: int) -> Packing:
        """Make a packing of tensors on the CPU; the batch keeps its sentences, whichever view each is in."""
        mask = torch.arange(longest) < lengths.unsqueeze(1)
        first_places = torch.empty_like(lengths)
        views, taken = [], 0
        for part in lengths.argsort(stable=True).tensor_split(max(1, len(lengths) // SENTENCES_OF_A_VIEW)):
            width = int(lengths[part[-1]])
            first_places[part] = taken + width * torch.arange(len(part))
            views.append(mask[part, None, None, :width])
            taken += views[-1].numel()
        places = first_places[rows] + positions
        return cls(positions, rows, mask[:, None, None, :], lengths, places, tuple(views))

    def map(self, move: Callable[[Tensor], Tensor]) -> Packing:
        """Return it with every tensor moved, as to another device."""
        tensors = (self.positions, self.rows, self.mask, self.lengths, self.places)
        positions, rows, mask, lengths, places = map(move, tensors)
        return Packing(positions, rows, mask, lengths, places, tuple(map(move, self.views)))


class SelfAttention(nn.Module):
    """Each head attends within its subspace; the aggregator puts the heads together."""

    def __init__(self, model_dim: int, num_heads: int, aggregator: nn.Module) -> None:
        super().__init__()
        if model_dim % num_heads:
            raise ValueError(f"num_heads must divide model_dim={model_dim}. Got {num_heads} instead.")
        self.num_heads, self.head_dim = num_heads, model_dim // num_heads
        self.query_key_value = nn.Linear(model_dim, 3 * model_dim)
        for weight in self.query_key_value.weight.chunk(3):
            nn.init.xavier_uniform_(weight)
        nn.init.zeros_(self.query_key_value.bias)
        self.aggregator = aggregator

    def forward(self, hidden_Td: Tensor, packing: Packing) -> Tensor:
        output = self.aggregator(self.heads(hidden_Td, packing))
        if isinstance(output, Tensor) and output.shape == hidden_Td.shape:
            return output
        returned = f"shape {tuple(output.shape)}" if isinstance(output, Tensor) else f"a {type(output).__name__}"
        raise ProbingError(
            f"aggregator {type(self.aggregator).__name__} must return a tensor of shape {tuple(hidden_Td.shape)} "
            f"(tokens, d). It returned {returned}"
        )

    def heads(self, hidden_Td: Tensor, packing: Packing) -> Tensor:
        """Return the heads' outputs O_1 … O_H as (T, H, d/H)."""
        packed = self.query_key_value(hidden_Td)
        sizes = [mask.numel() for mask in packing.views]
        padded = packed.new_zeros(sum(sizes), packed.shape[-1]).index_copy_(0, packing.places, packed)
        outputs = []
        for mask, part in zip(packing.views, padded.split(sizes), strict=True):
            query, key, value = part.view(-1, mask.shape[3], 3, self.num_heads, self.head_dim).permute(2, 0, 3, 1, 4)
            output_BHLd = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
            outputs.append(output_BHLd.transpose(1, 2).reshape(mask.numel(), self.num_heads, self.head_dim))
        return torch.cat(outputs).index_select(0, packing.places)
