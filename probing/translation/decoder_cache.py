"""Keys and values of a decoder's two attentions, kept while it translates.

Those of the source are kept once per sentence. Those of the target are kept for all hypotheses of a sentence together:
each sees, by a mask, the tokens that it descends from, so no key or value is ever moved.
Shapes: B sentences of a batch, E hypotheses of each (the beam), R = B*E, S source tokens, H heads, d width.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from probing.model import Attention, Packing, sinusoids
from probing.translation.encoder_decoder import DecoderLayer, EncoderDecoder
from probing.translation.subwords import END


@dataclass(slots=True)
class DecoderCache:
    """Keys and values of the decoder's two attentions, for the open hypotheses of a batch."""

    model: EncoderDecoder
    beam: int
    mask: Tensor
    """(B, 1, 1, S), True at the source's tokens."""
    memories: list[tuple[Tensor, Tensor]]
    """For each layer keys and values of the source, (B, H, S, d/H)."""
    pasts: list[tuple[Tensor, Tensor]]
    """For each layer keys and values of the target so far, (B, H, steps * E, d/H), with room for more steps."""
    ancestors: Tensor
    """(B, 1, E, steps * E), True where a hypothesis descends from the one that a past token belongs to."""
    positions: Tensor
    """Encodings of the positions, (steps, d)."""
    steps: int = 0

    @classmethod
    def build(
        cls,
        model: EncoderDecoder,
        sources: Sequence[Sequence[int]],
        beam: int,
        limit: int,
        device: torch.device,
    ) -> DecoderCache:
        """Encode the sources, and project them for every layer of the decoder."""
        lengths = torch.tensor([len(source) + 1 for source in sources])
        tokens = torch.tensor([token for source in sources for token in (*source, END)])
        rows = torch.arange(len(sources)).repeat_interleave(lengths)
        positions = torch.arange(len(tokens)) - (lengths.cumsum(0) - lengths).repeat_interleave(lengths)
        longest = int(lengths.max())
        packing = Packing.build(rows, positions, lengths, longest).map(lambda tensor: tensor.to(device))
        memory_Sd = model.encoder.encode(tokens.to(device), packing)
        places = (rows * longest + positions).to(device)
        decoder_layers = [layer for layer in model.decoder.layers if isinstance(layer, DecoderLayer)]
        memories, pasts = [], []
        for layer in decoder_layers:
            attention = layer.memory_attention
            projected = attention.project_memory(memory_Sd)
            padded = projected.new_zeros(len(sources) * longest, projected.shape[1]).index_copy_(0, places, projected)
            shape = (len(sources), longest, 2, attention.num_heads, attention.head_dim)
            key, value = padded.view(shape).permute(2, 0, 3, 1, 4).contiguous().unbind()
            memories.append((key, value))
            pasts.append((key[:, :, :0], value[:, :, :0]))
        width = memory_Sd.shape[1]
        table = sinusoids(torch.arange(limit + 1, device=device), width, memory_Sd.dtype)
        ancestors = torch.zeros(len(sources), 1, beam, 0, dtype=torch.bool, device=device)
        return cls(model, beam, packing.mask, memories, pasts, ancestors, table)

    def step(self, tokens: Tensor) -> Tensor:
        """Return the decoder's hidden states (R, d) after one more subword of each hypothesis."""
        decoder = self.model.decoder
        embedded = decoder.embedding(tokens.flatten()) * math.sqrt(decoder.embedding.embedding_dim)
        hidden_Rd = embedded + self.positions[self.steps]
        self._make_room()
        for layer, memory, past in zip(decoder.layers, self.memories, self.pasts, strict=True):
            assert isinstance(layer, DecoderLayer)
            heads = self._attend_to_past(layer.self_attention, layer.self_attention_norm(hidden_Rd), past)
            hidden_Rd = hidden_Rd + layer.self_attention.aggregate(heads)
            heads = self._attend_to_source(layer.memory_attention, layer.memory_attention_norm(hidden_Rd), memory)
            hidden_Rd = hidden_Rd + layer.memory_attention.aggregate(heads)
            hidden_Rd = hidden_Rd + layer.feed_forward(layer.feed_forward_norm(hidden_Rd))
        self.steps += 1
        output_Rd: Tensor = decoder.norm(hidden_Rd)
        return output_Rd

    def follow(self, parents_BE: Tensor) -> None:
        """Let each hypothesis descend from the one that it extends."""
        used = self.steps * self.beam
        index = parents_BE[:, None, :, None].expand(-1, 1, -1, used)
        self.ancestors[..., :used] = self.ancestors[..., :used].gather(2, index)

    def keep(self, rows: Tensor) -> None:
        """Drop all other sentences."""
        self.mask, self.ancestors = self.mask[rows], self.ancestors[rows]
        self.memories = [(key[rows], value[rows]) for key, value in self.memories]
        self.pasts = [(key[rows], value[rows]) for key, value in self.pasts]

    def _make_room(self) -> None:
        """Make room for one more step; each hypothesis sees its own new token."""
        used, beam = self.steps * self.beam, self.beam
        if self.ancestors.shape[3] < used + beam:
            room = max(16 * beam, self.ancestors.shape[3])
            self.ancestors = functional.pad(self.ancestors, (0, room))
            self.pasts = [
                (functional.pad(key, (0, 0, 0, room)), functional.pad(value, (0, 0, 0, room)))
                for key, value in self.pasts
            ]
        self.ancestors[..., used : used + beam] = torch.eye(beam, dtype=torch.bool, device=self.mask.device)

    def _attend_to_past(self, attention: Attention, hidden_Rd: Tensor, past: tuple[Tensor, Tensor]) -> Tensor:
        """Return the heads (R, H, d/H) of self-attention."""
        used, now = self.steps * self.beam, (self.steps + 1) * self.beam
        projected = attention.query_key_value(hidden_Rd)
        query, new_key, new_value = self._split(projected, attention, 3)
        key, value = past
        key[:, :, used:now], value[:, :, used:now] = new_key, new_value
        mask = self.ancestors[..., :now]
        heads = attend(query, key[:, :, :now], value[:, :, :now], mask)
        return heads.transpose(1, 2).flatten(0, 1)

    def _attend_to_source(self, attention: Attention, hidden_Rd: Tensor, memory: tuple[Tensor, Tensor]) -> Tensor:
        """Return the heads (R, H, d/H) of the attention to the source."""
        (query,) = self._split(attention.project_queries(hidden_Rd), attention, 1)
        heads = attend(query, *memory, self.mask)
        return heads.transpose(1, 2).flatten(0, 1)

    def _split(self, projected: Tensor, attention: Attention, parts: int) -> tuple[Tensor, ...]:
        """Return queries, keys and values that lie side by side, each as (B, H, E, d/H)."""
        shape = (-1, self.beam, parts, attention.num_heads, attention.head_dim)
        return projected.view(shape).permute(2, 0, 3, 1, 4).unbind()


def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """Return what few queries find in many keys and values, all (B, H, tokens, d/H); `mask` is True at what they see.

    On a CPU torch's own function takes three times as long for so few queries as two products.
    """
    if query.device.type != "cpu":
        return functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    energies = torch.matmul(query * query.shape[-1] ** -0.5, key.mT).masked_fill_(~mask, -math.inf)
    return torch.matmul(energies.softmax(-1), value)
