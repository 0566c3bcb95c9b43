"""Torch modules become encoders that are trained with the head."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from probing.encoders.trainable import build_fine_tuned, make_transformer
from probing.errors import ProbingError

SETTINGS: dict[str, Any] = {
    "words": ("a", "b"),
    "num_classes": 3,
    "head_dim": 4,
    "dropout": 0.0,
    "model_dim": 8,
    "num_layers": 1,
    "num_heads": 2,
    "feed_forward_dim": 8,
}


class Mean(nn.Module):
    def __init__(self, vocabulary_size: int, model_dim: int) -> None:
        super().__init__()
        self.embedding = nn.EmbeddingBag(vocabulary_size, model_dim, mode="mean")

    def forward(self, tokens: torch.Tensor, packing: Any) -> torch.Tensor:
        return self.embedding(tokens, packing.lengths.cumsum(0) - packing.lengths)


class NoVectors(Mean):
    def forward(self, tokens: torch.Tensor, packing: Any) -> torch.Tensor:
        return super().forward(tokens, packing).sum()


class Failing(Mean):
    def forward(self, tokens: torch.Tensor, packing: Any) -> torch.Tensor:
        raise RuntimeError("no")


def test_a_factory_gets_the_settings_that_it_names() -> None:
    seen: dict[str, Any] = {}

    def factory(vocabulary_size: int, words: tuple[str, ...], dropout: float) -> nn.Module:
        seen.update(vocabulary_size=vocabulary_size, words=words, dropout=dropout)
        return Mean(vocabulary_size, 5)

    model = build_fine_tuned("mine", factory, **SETTINGS)
    assert seen == {"vocabulary_size": 3, "words": ("a", "b"), "dropout": 0.0}
    assert model.head[0].in_features == 5


def test_our_own_transformer_is_plugged_in_this_way() -> None:
    model = build_fine_tuned("transformer", make_transformer, **SETTINGS)
    assert model.head[0].in_features == 8
    assert len(model.encoder.layers) == 1


@pytest.mark.parametrize(
    ("factory", "text"),
    [
        (3, "encoder 'mine' is not a class or function"),
        (lambda speed: None, "encoder 'mine' could not be made with no settings: "),
        (lambda model_dim: "x", "--fine-tune needs a torch.nn.Module. Encoder 'mine' made str: probe it frozen"),
        (NoVectors, "encoder 'mine': forward(tokens, packing) must return (sentences, dim). Got () for 2 sentences"),
        (Failing, "encoder 'mine': forward(tokens, packing) failed on two short sentences: RuntimeError: no"),
    ],
)
def test_what_cannot_be_trained(factory: Any, text: str) -> None:
    with pytest.raises(ProbingError) as error:
        build_fine_tuned("mine", factory, **SETTINGS)
    assert str(error.value).startswith(text)
