"""Multi-head self-attention on packed tokens (Section 2 of Li et al. 2019), with a free choice of aggregator.

Shapes: T tokens of the batch laid end to end, B sentences, L the longest sentence, H heads, d model width.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from probing.errors import ProbingError


@dataclass(frozen=True, slots=True)
class Packing:
    """Where each packed token stands in its sentence.

    positions: (T,), its place; slots: (T,), its place in the padded view (B*L); mask: (B, 1, 1, L), True at tokens;
    rows: (T,), its sentence; lengths: (B,).
    """

    positions: Tensor
    rows: Tensor
    slots: Tensor
    mask: Tensor
    lengths: Tensor

    @classmethod
    def build(cls, rows: Tensor, positions: Tensor, lengths: Tensor, longest: int) -> Packing:
        mask = torch.arange(longest, device=lengths.device) < lengths.unsqueeze(1)
        return cls(positions, rows, rows * longest + positions, mask[:, None, None, :], lengths)


class SelfAttention(nn.Module):
    """Each head attends within its subspace; the aggregator puts the heads together."""

    def __init__(self, model_dim: int, num_heads: int, aggregator: nn.Module) -> None:
        super().__init__()
        if model_dim % num_heads:
            raise ValueError(f"num_heads must divide model_dim={model_dim}. Got {num_heads} instead.")
        self.num_heads = num_heads
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
        batch, longest = packing.mask.shape[0], packing.mask.shape[-1]
        packed = self.query_key_value(hidden_Td)
        padded = packed.new_zeros(batch * longest, packed.shape[-1]).index_copy_(0, packing.slots, packed)
        query, key, value = padded.view(batch, longest, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4)
        output_BHLd = functional.scaled_dot_product_attention(query, key, value, attn_mask=packing.mask)
        output_BLHd = output_BHLd.transpose(1, 2).reshape(batch * longest, self.num_heads, -1)
        return output_BLHd.index_select(0, packing.slots)
