"""The probing model: a sentence encoder and an MLP head, built from flat settings.

Shapes: T tokens of the batch laid end to end, B sentences, d model width, C classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor, nn

from probing.aggregators import LinearAggregator
from probing.errors import ProbingError
from probing.model.attention import Packing
from probing.model.dropout import Dropout
from probing.model.factories import call_factory, explaining_size
from probing.model.transformer import Transformer

AggregatorFactory = Callable[..., nn.Module]
"""Called with model_dim, num_heads, and those of the routing's settings that its signature names."""


class Classifier(nn.Module):
    """Sentence vectors from an encoder, scores (B, C) from an MLP."""

    def __init__(
        self, encoder: nn.Module, encoder_dim: int, *, head_dim: int, num_classes: int, dropout: float
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = nn.Sequential(
            nn.Linear(encoder_dim, head_dim), nn.ReLU(), Dropout(dropout), nn.Linear(head_dim, num_classes)
        )

    def forward(self, tokens_T: Tensor, packing: Packing) -> Tensor:
        scores: Tensor = self.head(self.encoder(tokens_T, packing))
        return scores


def build_classifier(
    aggregator: AggregatorFactory,
    *,
    vocabulary_size: int,
    num_classes: int,
    num_layers: int,
    model_dim: int,
    num_heads: int,
    feed_forward_dim: int,
    head_dim: int,
    dropout: float,
    layers_with_aggregator: Sequence[int] = (),
    **routing: Any,
) -> Classifier:
    """Build the paper's model; layers without the aggregator (counted from 1) have the linear one."""
    chosen = set(layers_with_aggregator or range(1, num_layers + 1))
    with explaining_size():
        encoder = Transformer(
            vocabulary_size,
            model_dim,
            num_heads,
            aggregators=[
                build_aggregator(aggregator if layer in chosen else LinearAggregator, model_dim, num_heads, routing)
                for layer in range(1, num_layers + 1)
            ],
            feed_forward_dim=feed_forward_dim,
            dropout=dropout,
            sparse=True,
        )
        return Classifier(encoder, model_dim, head_dim=head_dim, num_classes=num_classes, dropout=dropout)


def build_aggregator(
    factory: AggregatorFactory, model_dim: int, num_heads: int, routing: Mapping[str, Any]
) -> nn.Module:
    """Call an aggregator's factory with the sizes and the settings that its signature names."""
    name = getattr(factory, "__name__", repr(factory))
    settings = {"model_dim": model_dim, "num_heads": num_heads, **routing}
    module = call_factory("aggregator", name, factory, settings, always=("model_dim", "num_heads"))
    if not isinstance(module, nn.Module):
        raise ProbingError(f"aggregator {name!r} must make a torch.nn.Module. It made {type(module).__name__}")
    return module
