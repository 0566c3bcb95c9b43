"""Probes choose on dev, stop as they say, and give the same numbers for the same seed."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from probing.probes.definitions import PROBES, Probe, senteval_probe
from probing.probes.search import FittedProbe, Vectors, describe_candidates, fit
from probing.training.objectives import NonFiniteLossError

CPU = torch.device("cpu")


def make_vectors(count: int, *, seed: int, classes: int = 3, signal: float = 1.0, dim: int = 6) -> Vectors:
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(classes, (count,), generator=generator)
    centres = torch.randn(classes, dim, generator=torch.Generator().manual_seed(99)) * signal
    return Vectors(torch.randn(count, dim, generator=generator) + centres[labels], labels)


TRAIN, DEV, TEST = (make_vectors(count, seed=seed) for seed, count in enumerate((300, 100, 100)))


def run(probe: Probe, train: Vectors = TRAIN, dev: Vectors = DEV, *, classes: int = 3, seed: int = 0) -> FittedProbe:
    return fit(probe, train, dev, num_classes=classes, seed=seed, device=CPU)


@pytest.mark.parametrize("name", PROBES)
def test_a_probe_learns_and_says_what_it_chose(name: str) -> None:
    probe = dataclasses.replace(PROBES[name], max_epochs=15, batch_size=8, min_steps=0)
    fitted = run(probe)
    right = np.mean(fitted.predict(TEST.vectors) == TEST.labels.numpy())
    assert right > 0.7
    assert [item.configuration for item in fitted.candidates] == list(probe.configurations)
    best = max(round(item.best.score, 2) for item in fitted.candidates)
    first = next(item for item in fitted.candidates if round(item.best.score, 2) == best)
    assert fitted.chosen is first
    assert np.mean(fitted.predict(DEV.vectors) == DEV.labels.numpy()) * 100 == pytest.approx(best)


@pytest.mark.parametrize("name", ["mlp", "senteval"])
def test_one_seed_gives_the_same_numbers(name: str) -> None:
    probe = dataclasses.replace(PROBES[name], max_epochs=3, min_steps=0)
    first, second, other = run(probe), run(probe), run(probe, seed=1)
    assert first.candidates == second.candidates
    assert first.predict(TEST.vectors).tolist() == second.predict(TEST.vectors).tolist()
    assert first.candidates != other.candidates


@pytest.mark.parametrize("name", ["mlp", "senteval"])
def test_rows_of_a_file_give_the_numbers_of_a_copy(name: str) -> None:
    probe = dataclasses.replace(PROBES[name], max_epochs=3, min_steps=0)
    places = np.random.default_rng(0).permutation(300)
    parts = [Vectors.build(TRAIN.vectors, TRAIN.labels.numpy()[rows], rows) for rows in (places[:170], places[170:])]
    copies = [Vectors.build(part.vectors[part.rows], part.labels.numpy()) for part in parts]
    from_rows, from_copies = run(probe, *parts), run(probe, *copies)
    assert from_rows.candidates == from_copies.candidates
    assert from_rows.predict(TEST.vectors).tolist() == from_copies.predict(TEST.vectors).tolist()


def test_an_epoch_on_few_sentences_has_several_passes() -> None:
    fitted = run(dataclasses.replace(PROBES["linear"], max_epochs=2, min_steps=7))
    assert fitted.sentences == 2 * 2 * 300


def count_misses(accuracies: list[float]) -> tuple[int, int]:
    """Return the epochs without a better accuracy: all, and those since the best."""
    best, total, since = -1.0, 0, 0
    for accuracy in accuracies:
        better = accuracy > best
        best, total, since = max(best, accuracy), total + (not better), 0 if better else since + 1
    return total, since


def test_senteval_counts_all_epochs_without_a_better_dev_accuracy() -> None:
    fitted = run(senteval_probe(epoch_size=1, max_epoch=1000, tenacity=2, batch_size=32))
    for candidate in fitted.candidates:
        accuracies = [epoch.score for epoch in candidate.curve]
        assert count_misses(accuracies)[0] == 3  # the count is looked at before it is raised
        assert count_misses(accuracies[:-1])[0] == 2
        assert len(candidate.curve) == len(accuracies)


def test_our_probes_count_epochs_in_a_row() -> None:
    probe = dataclasses.replace(PROBES["linear"], patience=2, max_epochs=1000, min_steps=0)
    for candidate in run(probe).candidates:
        assert count_misses([epoch.score for epoch in candidate.curve])[1] == 2
        assert candidate.best.epoch == len(candidate.curve) - 2


def test_the_last_epoch() -> None:
    noise = make_vectors(50, seed=5, signal=0.0)
    fitted = run(senteval_probe(epoch_size=4, max_epoch=8, tenacity=100), noise, noise)
    assert {len(candidate.curve) for candidate in fitted.candidates} == {3}  # SentEval goes on until 8 is passed
    assert fitted.sentences == 3 * 4 * 50


def test_half_precision_vectors_are_read() -> None:
    half = [Vectors(split.vectors.half(), split.labels) for split in (TRAIN, DEV)]
    assert run(senteval_probe(max_epoch=60, batch_size=8), *half).chosen.best.score > 70


def test_a_loss_that_is_not_finite_is_said() -> None:
    broken = Vectors(TRAIN.vectors * float("inf"), TRAIN.labels)
    with pytest.raises(NonFiniteLossError, match="the probe's loss became .*nan.* in epoch 1"):
        run(senteval_probe(), broken)


@pytest.mark.parametrize(
    ("labels", "text"),
    [
        ([0, 1, 3], "labels must be 0 to 2. Got 0 to 3 instead."),
        ([0, -1, 2], "labels must be 0 to 2. Got -1 to 2 instead."),
        ([0, 1], "3 vectors must have as many labels. Got 2 instead."),
    ],
)
def test_labels_that_are_wrong(labels: list[int], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        run(PROBES["linear"], Vectors.build(torch.zeros(3, 6), np.array(labels)))


def test_candidates_are_described_with_their_settings_and_what_they_came_to() -> None:
    fitted = run(dataclasses.replace(PROBES["linear"], max_epochs=2, min_steps=0))
    described = describe_candidates(fitted.candidates)
    assert [item.pop("dev_accuracy") for item in described] == [item.best.score for item in fitted.candidates]
    assert described == [
        {"hidden": 0, "dropout": 0.0, "weight_decay": decay, "epochs": 2} for decay in (0.0, 1e-5, 1e-4, 1e-3, 1e-2)
    ]


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_vectors_that_are_not_finite_never_score(value: float) -> None:
    fitted = run(dataclasses.replace(PROBES["linear"], max_epochs=1, min_steps=0))
    vectors = TEST.vectors.clone()
    vectors[7, 2] = value
    with pytest.raises(NonFiniteLossError, match="the probe's scores are not finite. Look at the encoder's vectors"):
        fitted.predict(vectors)
