"""Encoders that are trained together with the head (`--fine-tune`): factories of torch modules.

A factory is called with `vocabulary_size` and those of `words` and the model's settings (model_dim, num_layers,
dropout, …) that its signature names. The module maps packed tokens (T,), where 0 is the unknown word and i is
words[i - 1], and their `Packing` to sentence vectors (B, dim).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from probing.aggregators import LinearAggregator
from probing.encoders.encoder import not_trainable
from probing.errors import ProbingError
from probing.model import Classifier, Packing, Transformer, call_factory


def make_transformer(
    *, vocabulary_size: int, num_layers: int, model_dim: int, num_heads: int, feed_forward_dim: int, dropout: float
) -> nn.Module:
    """Return the paper's encoder with linear aggregation, as `--aggregator base` trains it."""
    return Transformer(
        vocabulary_size,
        model_dim,
        num_heads,
        aggregators=[LinearAggregator(model_dim, num_heads) for _ in range(num_layers)],
        feed_forward_dim=feed_forward_dim,
        dropout=dropout,
        sparse=True,
    )


def build_fine_tuned(
    name: str,
    factory: Any,
    *,
    words: Sequence[str],
    num_classes: int,
    head_dim: int,
    dropout: float,
    **settings: Any,
) -> Classifier:
    """Return a factory's encoder with an MLP head on its vectors."""
    offered = {"vocabulary_size": 1 + len(words), "words": words, "dropout": dropout, **settings}
    encoder = call_factory("encoder", name, factory, offered)
    if not isinstance(encoder, nn.Module):
        raise not_trainable(name, type(encoder))
    return Classifier(encoder, _measure_dim(name, encoder), head_dim=head_dim, num_classes=num_classes, dropout=dropout)


@torch.no_grad()
def _measure_dim(name: str, encoder: nn.Module) -> int:
    """Return the dimension of the encoder's vectors, from two sentences of one and two unknown words."""
    rows, positions = torch.tensor([0, 1, 1]), torch.tensor([0, 0, 1])
    packing = Packing.build(rows, positions, torch.tensor([1, 2]), 2)
    encoder.eval()
    try:
        vectors = encoder(torch.zeros(3, dtype=torch.int64), packing)
    except Exception as error:
        raise ProbingError(
            f"encoder {name!r}: forward(tokens, packing) failed on two short sentences: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(vectors, Tensor) or vectors.dim() != 2 or len(vectors) != 2:
        shape = tuple(vectors.shape) if isinstance(vectors, Tensor) else type(vectors).__name__
        raise ProbingError(
            f"encoder {name!r}: forward(tokens, packing) must return (sentences, dim). Got {shape} for 2 sentences"
        )
    return vectors.shape[1]
