"""Budgets in steps: a small piece of a description length is trained as thoroughly as the whole training split."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from probing import probes
from probing.config import PRESETS, TrainingConfig
from probing.experiments import fitting
from probing.experiments.description_length import cut_pieces
from probing.experiments.fitting import make_schedule
from probing.probes.definitions import PROBES, Probe
from probing.training import Classification, Schedule
from tests.studies import make_settings, start, write_answers

SIZES = (1, 63, 64, 65, 1000, 5000, 58_000, 100_000)


def count_steps(sentences: int, batch_size: int, passes: int) -> int:
    """Return the number of steps of an epoch, pass by pass and batch by batch."""
    return sum(1 for _ in range(passes) for _ in range(0, sentences, batch_size))


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("sentences", SIZES)
def test_an_epoch_of_a_trained_model_has_a_smallest_number_of_steps(preset: str, sentences: int) -> None:
    training = PRESETS[preset].training
    schedule = make_schedule(training, sentences)
    steps = count_steps(sentences, training.batch_size, schedule.passes)
    assert steps >= training.min_epoch_steps
    assert schedule.passes == 1 or count_steps(sentences, training.batch_size, schedule.passes - 1) < (
        training.min_epoch_steps
    )
    planned = training.max_epochs * steps
    assert training.count_steps(sentences) == planned
    assert schedule.warmup_steps == max(1, round(training.warmup * planned))


@pytest.mark.parametrize("name", ["mlp", "linear"])
@pytest.mark.parametrize("sentences", SIZES)
def test_an_epoch_of_a_probe_has_one_too(name: str, sentences: int) -> None:
    probe = PROBES[name]
    assert count_steps(sentences, probe.batch_size, probe.count_passes(sentences)) >= probe.min_steps == 250


def test_every_piece_of_a_description_length_has_that_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained: list[tuple[int, Schedule]] = []
    train: Callable[..., Any] = fitting.train

    def spy(model: Any, objective: Classification, settings: TrainingConfig, **options: Any) -> Any:
        trained.append((len(objective), options["schedule"]))
        assert settings.patience == 2
        return train(model, objective, settings, **options)

    monkeypatch.setattr(fitting, "train", spy)
    settings = [setting for setting in make_settings() if "min_epoch_steps" not in setting]
    settings += ["training.min_epoch_steps=6", "training.batch_size=8"]
    start(write_answers(tmp_path), tmp_path / "results", aggregators=["base"], settings=settings, mdl=True)
    ends = cut_pieces(120)
    assert [size for size, _ in trained] == [120, *ends[:-1]]  # the accuracy, then the pieces
    for size, schedule in trained:
        assert schedule.passes == math.ceil(6 / math.ceil(size / 8))
        assert schedule.warmup_steps == max(1, round(0.1 * 2 * count_steps(size, 8, schedule.passes)))


def test_every_piece_of_a_probes_description_length_has_that_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted: list[tuple[str, int, int]] = []
    fit: Callable[..., Any] = probes.fit

    def spy(probe: Probe, train: probes.Vectors, dev: probes.Vectors, **options: Any) -> Any:
        fitted.append((probe.name, probe.min_steps, len(train)))
        return fit(probe, train, dev, **options)

    monkeypatch.setattr(probes, "fit", spy)
    start(write_answers(tmp_path), tmp_path / "results", aggregators=[], encoders=["length"], probe="linear", mdl=True)
    assert fitted == [("linear", 250, size) for size in (120, *cut_pieces(120)[:-1])]
