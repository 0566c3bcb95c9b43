"""The encoder-decoder Transformer, any of whose three attentions may have any aggregator.

Section 5.2 of Li et al. (2019): pre-norm blocks with a final norm on both sides, sinusoidal positions, dropout on the
embeddings and on what each block adds. All per-token work runs on packed tokens.
Shapes: T tokens of the target laid end to end, S of the source, d model width, V subwords of the target.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

from torch import Tensor, nn
from torch.nn import functional

from probing.aggregators import LinearAggregator
from probing.model import (
    AggregatorFactory,
    Attention,
    Dropout,
    Packing,
    Transformer,
    build_aggregator,
    embed,
    explaining_size,
    make_embedding,
    make_feed_forward,
)
from probing.translation.settings import ATTENTIONS, RoutingConfig, TranslatorConfig


class DecoderLayer(nn.Module):
    """x + self-attention(norm(x)), then x + attention to the source(norm(x)), then x + feed_forward(norm(x))."""

    def __init__(
        self,
        model_dim: int,
        num_heads: int,
        self_aggregator: nn.Module,
        memory_aggregator: nn.Module,
        *,
        feed_forward_dim: int,
        dropout: float,
    ) -> None:
        super().__init__()
        self.self_attention_norm = nn.LayerNorm(model_dim)
        self.self_attention = Attention(model_dim, num_heads, self_aggregator, causal=True)
        self.memory_attention_norm = nn.LayerNorm(model_dim)
        self.memory_attention = Attention(model_dim, num_heads, memory_aggregator)
        self.feed_forward_norm = nn.LayerNorm(model_dim)
        self.feed_forward = make_feed_forward(model_dim, feed_forward_dim)
        self.dropout = Dropout(dropout)

    def forward(self, hidden_Td: Tensor, packing: Packing, memory_Sd: Tensor, memory_packing: Packing) -> Tensor:
        hidden_Td = self.dropout.add(hidden_Td, self.self_attention(self.self_attention_norm(hidden_Td), packing))
        seen_Td = self.memory_attention(self.memory_attention_norm(hidden_Td), packing, memory_Sd, memory_packing)
        hidden_Td = self.dropout.add(hidden_Td, seen_Td)
        return self.dropout.add(hidden_Td, self.feed_forward(self.feed_forward_norm(hidden_Td)))


class Decoder(nn.Module):
    """Map packed target tokens to hidden states (T, d), given those of the source."""

    def __init__(self, vocabulary_size: int, model_dim: int, layers: Iterable[DecoderLayer], *, dropout: float) -> None:
        super().__init__()
        self.embedding = make_embedding(vocabulary_size, model_dim)
        self.layers = nn.ModuleList(layers)
        self.norm = nn.LayerNorm(model_dim)
        self.dropout = Dropout(dropout)

    def forward(self, tokens_T: Tensor, packing: Packing, memory_Sd: Tensor, memory_packing: Packing) -> Tensor:
        hidden_Td = self.dropout(embed(self.embedding, tokens_T, packing))
        for layer in self.layers:
            hidden_Td = layer(hidden_Td, packing, memory_Sd, memory_packing)
        output_Td: Tensor = self.norm(hidden_Td)
        return output_Td


class EncoderDecoder(nn.Module):
    """Map a source and the target so far to the decoder's hidden states, which score the next subword."""

    def __init__(self, encoder: Transformer, decoder: Decoder, *, tie: str) -> None:
        super().__init__()
        self.encoder, self.decoder = encoder, decoder
        if tie == "all":
            self.decoder.embedding.weight = self.encoder.embedding.weight
        embedding = self.decoder.embedding
        self.output = embedding if tie != "none" else make_embedding(embedding.num_embeddings, embedding.embedding_dim)
        """Vectors of the subwords, by which the next one is scored."""

    def forward(self, source_S: Tensor, source_packing: Packing, target_T: Tensor, target_packing: Packing) -> Tensor:
        """Return the decoder's hidden states (T, d); the one of a token scores the token after it."""
        memory_Sd = self.encoder.encode(source_S, source_packing)
        hidden_Td: Tensor = self.decoder(target_T, target_packing, memory_Sd, source_packing)
        return hidden_Td

    def score(self, hidden_Td: Tensor) -> Tensor:
        """Return the scores (T, V) of the next subword, before the softmax."""
        return functional.linear(hidden_Td, self.output.weight)


def build_encoder_decoder(
    aggregator: AggregatorFactory,
    config: TranslatorConfig,
    routing: RoutingConfig,
    *,
    vocabulary_sizes: Sequence[int],
) -> EncoderDecoder:
    """Build the model; attentions and layers without the aggregator have the linear one."""
    settings: dict[str, Any] = dataclasses.asdict(config) | dataclasses.asdict(routing)
    width, heads = config.model_dim, config.num_heads
    chosen = set(config.layers_with_aggregator or range(1, config.num_layers + 1))
    sizes: dict[str, Any] = {"feed_forward_dim": config.feed_forward_dim, "dropout": config.dropout}

    def make(kind: str, layer: int) -> nn.Module:
        assert kind in ATTENTIONS
        routed = kind in config.apply and layer in chosen
        return build_aggregator(aggregator if routed else LinearAggregator, width, heads, settings)

    layers = range(1, config.num_layers + 1)
    with explaining_size():
        encoder = Transformer(
            vocabulary_sizes[0], width, heads, aggregators=[make("enc-self", layer) for layer in layers], **sizes
        )
        decoder_layers = [
            DecoderLayer(width, heads, make("dec-self", layer), make("enc-dec", layer), **sizes) for layer in layers
        ]
        decoder = Decoder(vocabulary_sizes[1], width, decoder_layers, dropout=config.dropout)
        return EncoderDecoder(encoder, decoder, tie=config.tie)
