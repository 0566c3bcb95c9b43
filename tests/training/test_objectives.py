"""The classification of sentences: its loss, its scores and predictions, and what is better."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from probing.model.attention import Packing
from probing.tasks import UNKNOWN, Batch
from probing.training import objectives
from probing.training.objectives import (
    Classification,
    NonFiniteLossError,
    compute_accuracy,
    compute_scores,
    predict,
    score_batches,
)
from tests.training.examples import CPU, Scripted, make_model, make_split, zeros


def test_predictions_do_not_depend_on_the_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    model, split = make_model(), make_split(60, 4)
    whole = predict(model, split, CPU)
    monkeypatch.setattr(objectives, "EVALUATION_BATCH", 7)
    assert [len(scores) for scores in score_batches(model, split, CPU)] == [7] * 8 + [4]
    assert np.array_equal(whole, predict(model, split, CPU))


def test_answers_that_are_no_numbers_are_an_error() -> None:
    class Broken(Scripted):
        def forward(self, tokens_T: Tensor, packing: Packing) -> Tensor:
            return super().forward(tokens_T, packing) * float("inf")

    with pytest.raises(NonFiniteLossError, match="the model's scores became infinite or not a number. Try"):
        predict(Broken([1]), zeros(20), CPU)


def test_an_accuracy_is_the_percentage_that_is_right() -> None:
    assert compute_accuracy(np.array([0, 1, 0, 2]), np.array([0, 0, 0, 0])) == 50.0
    assert compute_accuracy(np.arange(50) % 2, 1) == 50.0
    for right in range(1001):  # the shortest decimal, as if it were written by hand
        assert compute_accuracy(np.arange(1000), np.where(np.arange(1000) < right, np.arange(1000), -1)) == float(
            f"{right // 10}.{right % 10}"
        )


def test_nothing_is_learned_and_nothing_dropped_while_sentences_are_scored() -> None:
    model, split = make_model(dropout=0.5), make_split(20, 1)
    model.train()
    first, again = (torch.cat(list(score_batches(model, split, CPU))) for _ in range(2))
    assert torch.equal(first, again)
    assert not first.requires_grad
    assert first.shape == (20, 2)


def test_the_loss_of_a_classification_is_the_cross_entropy_of_a_batch() -> None:
    model, train, dev = make_model(dropout=0.0), make_split(50, 1), make_split(30, 2)
    objective = Classification(model, train, dev, CPU, 16)
    assert len(objective) == 50
    order = np.random.default_rng(0).permutation(50)
    batches = list(objective.batches(order))
    assert [objective.size(batch) for batch in batches] == [
        (len(part), int((train.offsets[part + 1] - train.offsets[part]).sum()), len(part))
        for part in (order[:16], order[16:32], order[32:48], order[48:])
    ]
    labels = torch.from_numpy(train.labels[order[:16]])
    expected = functional.cross_entropy(compute_scores(model, batches[0], CPU), labels)
    (loss,) = objective.losses(batches[0])
    torch.testing.assert_close(loss, expected)
    loss.backward()
    assert all(weight.grad is not None for weight in model.head.parameters())


def test_a_classification_is_judged_by_its_accuracy_on_dev() -> None:
    objective = Classification(Scripted([7]), zeros(20), zeros(10), CPU, 16)
    assert objective.evaluate().score == 70.0
    assert objective.is_better(70.1, 70.0)
    assert not objective.is_better(70.0, 70.0), "the first of equals stays"
    assert not objective.is_better(69.9, 70.0)
    assert objective.is_perfect(100.0)
    assert not objective.is_perfect(99.9)


def test_smoothed_labels_spread_a_share_evenly_over_all_classes() -> None:
    model, train, dev = make_model(dropout=0.0), make_split(50, 1), make_split(30, 2)
    objective = Classification(model, train, dev, CPU, 16, label_smoothing=0.3)
    batch = next(objective.batches(np.arange(50)))
    (loss,) = objective.losses(batch)
    logarithms = compute_scores(model, batch, CPU).detach().double().log_softmax(1)
    expected = 0.0
    for row, label in zip(logarithms, batch.labels.tolist(), strict=True):
        target = [0.7 * (number == label) + 0.3 / len(row) for number in range(len(row))]
        expected -= sum(share * float(one) for share, one in zip(target, row, strict=True)) / len(batch.labels)
    assert float(loss.detach()) == pytest.approx(expected, rel=1e-5)


def test_word_dropout_hides_a_share_of_the_words_in_training_only(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[bool, np.ndarray]] = []

    def spy(model: nn.Module, batch: Batch, device: torch.device) -> Tensor:
        seen.append((model.training, batch.tokens))
        return compute_scores(model, batch, device)

    monkeypatch.setattr(objectives, "compute_scores", spy)
    model, train, dev = make_model(dropout=0.0), make_split(2000, 1), make_split(30, 2)
    objective = Classification(model, train, dev, CPU, 2000, word_dropout=0.3)
    model.train()
    torch.manual_seed(0)
    batch = next(objective.batches(np.arange(2000)))
    before = batch.tokens.copy()
    for _ in objective.losses(batch):
        pass
    objective.evaluate()
    (_, shown), (_, scored) = seen
    hidden = shown != before
    assert hidden.mean() == pytest.approx(0.3 * (before != UNKNOWN).mean(), abs=0.03)
    assert (shown[hidden] == UNKNOWN).all()
    assert np.array_equal(scored, next(dev.batches(256)).tokens)
    assert np.array_equal(batch.tokens, before)  # the task's own words stay
