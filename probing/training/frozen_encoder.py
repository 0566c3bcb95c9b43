"""Training of the head alone: a frozen encoder encodes each sentence once, not once an epoch.

Shapes: S sentences of all splits, B of a batch, d width of their vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from probing.model import Classifier, Packing
from probing.tasks import PackedSplit
from probing.training.objectives import score_batches


class NumberedSentences(nn.Module):
    """A head on sentences whose vectors (S, d) are known: each sentence is one token, the number of its vector."""

    def __init__(self, vectors: Tensor, head: nn.Module) -> None:
        super().__init__()
        # Not in checkpoints: the encoder computes the same vectors again.
        self.register_buffer("vectors", vectors, persistent=False)
        self.head = head

    def forward(self, numbers: Tensor, packing: Packing) -> Tensor:
        scores: Tensor = self.head(self.get_buffer("vectors")[numbers])
        return scores


def encode_once(
    model: Classifier, splits: Sequence[PackedSplit], device: torch.device, on_share: Callable[[float], None]
) -> tuple[NumberedSentences, list[PackedSplit]]:
    """Return a model with the same head, and its splits; `on_share` receives the share of sentences encoded so far."""
    total, blocks, done = sum(map(len, splits)), [], 0
    for split in splits:
        for block in score_batches(model.encoder, split, device):
            blocks.append(block)
            done += len(block)
            on_share(done / total)
    ends = np.cumsum([len(split) for split in splits])
    numbered = [
        PackedSplit(np.arange(end - len(split), end, dtype=np.int32), np.arange(len(split) + 1), split.labels)
        for split, end in zip(splits, ends, strict=True)
    ]
    return NumberedSentences(torch.cat(blocks), model.head), numbered
