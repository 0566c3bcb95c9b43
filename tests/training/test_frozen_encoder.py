"""A head learns from vectors that were made once what it would learn with the encoder in the loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from probing.config import TrainingConfig
from probing.model.attention import Packing
from probing.model.classifier import Classifier
from probing.tasks.batches import PackedSplit
from probing.training import loop
from probing.training.checkpoints import Checkpoint
from probing.training.frozen_encoder import NumberedSentences, encode_once
from probing.training.objectives import Classification, compute_accuracy, predict

CPU = torch.device("cpu")
SETTINGS = TrainingConfig(max_epochs=4, patience=4, batch_size=16, learning_rate=3e-3, clip_norm=1.0)


class Average(nn.Module):
    """The mean of the words' vectors, but for some that it drops while it learns; it counts what it sees."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.EmbeddingBag(20, 8, mode="mean")
        self.dropout = nn.Dropout(0.5)
        self.seen = 0

    def forward(self, tokens_T: Tensor, packing: Packing) -> Tensor:
        self.seen += len(packing.lengths)
        vectors: Tensor = self.dropout(self.embedding(tokens_T, packing.lengths.cumsum(0) - packing.lengths))
        return vectors


def make_split(size: int, seed: int) -> PackedSplit:
    random = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(random.integers(3, 8, size))])
    return PackedSplit(random.integers(0, 20, offsets[-1]), offsets, random.integers(0, 3, size))


def make_model() -> tuple[Classifier, Average]:
    torch.manual_seed(0)
    encoder = Average()
    return Classifier(encoder, 8, head_dim=16, num_classes=3, dropout=0.2), encoder


SPLITS = [make_split(300, 1), make_split(70, 2)]


def encode(model: Classifier) -> tuple[NumberedSentences, list[PackedSplit]]:
    return encode_once(model, SPLITS, CPU, lambda share: None)


def train(model: nn.Module, splits: list[PackedSplit], **options: Any) -> loop.TrainingOutcome:
    torch.manual_seed(1)
    objective = Classification(model, *splits, CPU, SETTINGS.batch_size)
    return loop.train(model, objective, SETTINGS, seed=0, device=CPU, **options)


def test_each_sentence_is_encoded_once() -> None:
    shares: list[float] = []
    model, encoder = make_model()
    numbered, splits = encode_once(model, SPLITS, CPU, shares.append)
    train(numbered, splits)
    assert encoder.seen == 370
    assert shares == [256 / 370, 300 / 370, 1.0]


def test_it_is_the_training_of_a_frozen_encoder() -> None:
    """With the encoder in the loop, fixed and dropping nothing, the same batches give the same head."""
    plain, encoder = make_model()
    encoder.requires_grad_(False)
    encoder.dropout.p = 0.0
    expected = train(plain, SPLITS)
    model, _ = make_model()
    outcome = train(*encode(model))
    assert [epoch.score for epoch in outcome.curve] == [epoch.score for epoch in expected.curve]
    assert [epoch.loss for epoch in outcome.curve] == pytest.approx([epoch.loss for epoch in expected.curve], rel=1e-5)
    for learned, wanted in zip(model.head.parameters(), plain.head.parameters(), strict=True):
        torch.testing.assert_close(learned, wanted)


def test_the_encoder_stays_as_it_was_and_the_model_has_the_trained_head() -> None:
    model, encoder = make_model()
    before, head = encoder.embedding.weight.clone(), [weight.clone() for weight in model.head.parameters()]
    outcome = train(*encode(model))
    assert torch.equal(encoder.embedding.weight, before)
    assert not any(torch.equal(old, new) for old, new in zip(head, model.head.parameters(), strict=True))
    assert compute_accuracy(predict(model, SPLITS[1], CPU), SPLITS[1].labels) == outcome.score


def test_a_stopped_training_goes_on_to_the_same_numbers(tmp_path: Path) -> None:
    def stop(progress: loop.Progress) -> None:
        if progress.epoch == 3:
            raise KeyboardInterrupt

    def keep() -> Checkpoint:
        return Checkpoint(tmp_path, key="a", device=CPU)

    undisturbed, _ = make_model()
    expected = train(*encode(undisturbed))
    with pytest.raises(KeyboardInterrupt):
        train(*encode(make_model()[0]), checkpoint=keep(), on_progress=stop)
    model, _ = make_model()
    assert train(*encode(model), checkpoint=keep()) == expected
    assert (tmp_path / "training.safetensors").stat().st_size < 20_000  # the vectors alone have 11,840 bytes
    for learned, wanted in zip(model.head.parameters(), undisturbed.head.parameters(), strict=True):
        assert torch.equal(learned, wanted)
