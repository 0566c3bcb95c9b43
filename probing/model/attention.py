"""Multi-head attention on packed tokens (Section 2 of Li et al. 2019), with a free choice of aggregator.

Shapes: T tokens of the batch laid end to end, S tokens of another text that they attend to, B sentences, L the longest
sentence, H heads, d model width.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import torch
from torch import Tensor, nn
from torch.nn import functional

from probing.errors import ProbingError
from probing.model.fused_attention import AttentionCall, attend, can_attend

SENTENCES_OF_A_VIEW = 16
"""Approximate number of sentences that are padded together: fewer would save padding, but cost more calls."""


@dataclass(frozen=True)
class Packing:
    """Places of packed tokens in their sentences.

    positions: (T,), its place; mask: (B, 1, 1, L), True at tokens; rows: (T,), its sentence; lengths: (B,);
    starts: (B + 1,), where each sentence begins, and the end of the last.
    Where torch computes attention, it pads views of some sentences of similar length: `views` are their masks,
    (sentences, 1, 1, longest), and `places`: (T,) are the tokens' places in the views, one after the other.
    """

    positions: Tensor
    rows: Tensor
    mask: Tensor
    lengths: Tensor
    starts: Tensor
    order: Tensor | None = None
    """Order of the sentences in the views; None means by length."""

    @classmethod
    def build(
        cls, rows: Tensor, positions: Tensor, lengths: Tensor, longest: int, order: Tensor | None = None
    ) -> Packing:
        """Make a packing of tensors on the CPU; the batch keeps its sentences, whichever view each is in.

        The views hold the sentences in the order given, or by length. Packings of two texts with the same order have
        the same sentences in each view.
        """
        mask = torch.arange(longest) < lengths.unsqueeze(1)
        starts = functional.pad(lengths.cumsum(0), (1, 0))
        return cls(positions, rows, mask[:, None, None, :], lengths, starts, order)

    @property
    def places(self) -> Tensor:
        return self._padding[0]

    @property
    def views(self) -> tuple[Tensor, ...]:
        return self._padding[1]

    @cached_property
    def _padding(self) -> tuple[Tensor, tuple[Tensor, ...]]:
        first_places = torch.empty_like(self.lengths)
        views, taken = [], 0
        order = self.lengths.argsort(stable=True) if self.order is None else self.order
        for part in order.tensor_split(max(1, len(self.lengths) // SENTENCES_OF_A_VIEW)):
            width = int(self.lengths[part].max())
            first_places[part] = taken + width * torch.arange(len(part))
            views.append(self.mask[part, :, :, :width])
            taken += views[-1].numel()
        return first_places[self.rows] + self.positions, tuple(views)

    def map(self, move: Callable[[Tensor], Tensor]) -> Packing:
        """Return it with every tensor moved, as to another device."""
        tensors = (self.positions, self.rows, self.mask, self.lengths, self.starts)
        positions, rows, mask, lengths, starts = map(move, tensors)
        moved = Packing(positions, rows, mask, lengths, starts, self.order)
        if moved.positions.device.type != "cpu":  # made here, since making it reads numbers
            places, views = self._padding
            moved.__dict__["_padding"] = move(places), tuple(map(move, views))
        return moved


class Attention(nn.Module):
    """Each head attends within its subspace; the aggregator puts the heads together.

    Tokens attend to their own sentence, to its part up to them (`causal`), or to the same sentence of another text.
    """

    def __init__(self, model_dim: int, num_heads: int, aggregator: nn.Module, *, causal: bool = False) -> None:
        super().__init__()
        if model_dim % num_heads:
            raise ValueError(f"num_heads must divide model_dim={model_dim}. Got {num_heads} instead.")
        self.num_heads, self.head_dim, self.causal = num_heads, model_dim // num_heads, causal
        self.query_key_value = nn.Linear(model_dim, 3 * model_dim)
        for weight in self.query_key_value.weight.chunk(3):
            nn.init.xavier_uniform_(weight)
        nn.init.zeros_(self.query_key_value.bias)
        self.aggregator = aggregator

    def forward(
        self,
        hidden_Td: Tensor,
        packing: Packing,
        memory_Sd: Tensor | None = None,
        memory_packing: Packing | None = None,
    ) -> Tensor:
        return self.aggregate(self.heads(hidden_Td, packing, memory_Sd, memory_packing))

    def aggregate(self, heads_THd: Tensor) -> Tensor:
        """Return what the aggregator makes of the heads' outputs, (T, d)."""
        output = self.aggregator(heads_THd)
        tokens, num_heads, head_dim = heads_THd.shape
        if isinstance(output, Tensor) and output.shape == (tokens, num_heads * head_dim):
            return output
        returned = f"shape {tuple(output.shape)}" if isinstance(output, Tensor) else f"a {type(output).__name__}"
        raise ProbingError(
            f"aggregator {type(self.aggregator).__name__} must return a tensor of shape "
            f"{(tokens, num_heads * head_dim)} (tokens, d). It returned {returned}"
        )

    def heads(
        self,
        hidden_Td: Tensor,
        packing: Packing,
        memory_Sd: Tensor | None = None,
        memory_packing: Packing | None = None,
    ) -> Tensor:
        """Return the heads' outputs O_1 … O_H as (T, H, d/H)."""
        if memory_Sd is None or memory_packing is None:
            memory_packing, projected = packing, [self.query_key_value(hidden_Td)]
        else:
            projected = [self.project_queries(hidden_Td), self.project_memory(memory_Sd)]
        reference = partial(self._attend_padded, packing, memory_packing)
        if not can_attend(packing.mask.shape[-1], memory_packing.mask.shape[-1], *projected):
            return reference(*projected)
        starts, memory_starts = packing.starts, memory_packing.starts
        return attend(AttentionCall(self.num_heads, self.causal, starts, memory_starts, reference), *projected)

    def _attend_padded(self, packing: Packing, memory_packing: Packing, *projected: Tensor) -> Tensor:
        """Return the heads' outputs in torch operations, which need padding."""
        views = self._pad(projected[0], packing)
        if len(projected) > 1:
            memories = self._pad(projected[1], memory_packing)
            views = [(*query, *memory) for query, memory in zip(views, memories, strict=True)]
        outputs = []
        for (query, key, value), mask in zip(views, memory_packing.views, strict=True):
            if self.causal:  # what pads a sentence stands behind it, where no token looks
                output_BHLd = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
            else:
                output_BHLd = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
            outputs.append(output_BHLd.transpose(1, 2).flatten(0, 1))
        return torch.cat(outputs).index_select(0, packing.places)

    def project_queries(self, hidden_Td: Tensor) -> Tensor:
        """Return the queries of all heads, (T, d), without keys and values."""
        width = self.num_heads * self.head_dim
        return functional.linear(hidden_Td, self.query_key_value.weight[:width], self.query_key_value.bias[:width])

    def project_memory(self, memory_Sd: Tensor) -> Tensor:
        """Return the keys and values of all heads side by side, (S, 2d)."""
        width = self.num_heads * self.head_dim
        return functional.linear(memory_Sd, self.query_key_value.weight[width:], self.query_key_value.bias[width:])

    def _pad(self, packed: Tensor, packing: Packing) -> list[tuple[Tensor, ...]]:
        """Return the queries, keys or values that lie side by side, view by view, each as (sentences, H, L, d/H)."""
        sizes = [mask.numel() for mask in packing.views]
        padded = packed.new_zeros(sum(sizes), packed.shape[-1]).index_copy_(0, packing.places, packed)
        return [
            part.view(len(mask), mask.shape[3], -1, self.num_heads, self.head_dim).permute(2, 0, 3, 1, 4).unbind()
            for mask, part in zip(packing.views, padded.split(sizes), strict=True)
        ]
