"""An encoder that stays as it was made: what an architecture gives without any learning."""

from __future__ import annotations

from typing import Self

import torch
from torch import Tensor, nn

from probing.model.attention import Packing


class Frozen(nn.Module):
    """Sentence vectors of an encoder whose weights never change and that never drops anything."""

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder.requires_grad_(False).eval()

    def train(self, mode: bool = True) -> Self:
        """Stay as it is: dropout would be noise in vectors that nothing learns from."""
        return self

    def forward(self, tokens_T: Tensor, packing: Packing) -> Tensor:
        with torch.no_grad():
            vectors: Tensor = self.encoder(tokens_T, packing)
        return vectors
