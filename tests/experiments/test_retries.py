"""A training that never leaves chance is started again with another seed, and the record says so."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from probing.experiments.running import Summary
from tests.studies import load, make_settings, start


@pytest.fixture
def noise(task_file: Callable[..., Path]) -> Path:
    """A task that cannot be learned: its labels do not depend on the words."""
    words = random.Random(0)
    lines = [
        f"{split}\t{'AB'[n % 2]}\t{' '.join(words.choices('abcdefgh', k=4))}"
        for split, size in (("tr", 40), ("va", 100), ("te", 20))
        for n in range(size)
    ]
    return task_file(lines, "noise.txt")


def test_a_training_at_chance_is_started_again_and_its_seeds_are_recorded(noise: Path, tmp_path: Path) -> None:
    settings = (*make_settings(max_epochs=1), "training.retries=2")
    options = {"aggregators": ["base"], "settings": settings}
    assert start(noise, tmp_path / "results", **options) == Summary(finished=1, skipped=0, failed=0)
    (record,) = load(tmp_path / "results")
    assert record.scores is not None
    assert record.scores.failed_seeds == [0, 1000]
    assert record.never_left_chance
    assert start(noise, tmp_path / "results", **options) == Summary(finished=0, skipped=1, failed=0)


def test_only_what_is_at_chance_is_started_again_later(noise: Path, tmp_path: Path) -> None:
    settings, results = make_settings(max_epochs=1), tmp_path / "results"
    options = {"aggregators": ["base"]}
    assert start(noise, results, settings=settings, **options) == Summary(finished=1, skipped=0, failed=0)
    for retries, tried in ((1, [0]), (0, [0]), (2, [0, 1000])):
        with_retries = (*settings, f"training.retries={retries}")
        ran = start(noise, results, settings=with_retries, **options)
        assert ran == Summary(finished=int(retries > 0), skipped=int(retries == 0), failed=0)
        (record,) = load(results)
        assert record.scores is not None
        assert record.scores.failed_seeds == tried


def test_a_training_that_learns_is_not_run_again_for_more_retries(
    task_file: Callable[..., Path], tmp_path: Path
) -> None:
    lines = [f"{split}\t{'AB'[n % 2]}\t{'ab'[n % 2]} x" for split in ("tr", "va", "te") for n in range(100)]
    path, settings = task_file(lines, "easy.txt"), (*make_settings(max_epochs=4), "training.learning_rate=0.01")
    options = {"aggregators": ["base"]}
    assert start(path, tmp_path, settings=settings, **options) == Summary(finished=1, skipped=0, failed=0)
    more = (*settings, "training.retries=3")
    assert start(path, tmp_path, settings=more, **options) == Summary(finished=0, skipped=1, failed=0)


def test_a_training_that_breaks_down_with_all_seeds_names_them(noise: Path, tmp_path: Path) -> None:
    broken = (
        "training.learning_rate=1e30",
        "training.clip_norm=0",
        "training.min_epoch_steps=20",
        "training.retries=1",
    )
    settings = (*make_settings(max_epochs=1), *broken)
    assert start(noise, tmp_path, aggregators=["base"], settings=settings).failed == 1
    (record,) = load(tmp_path)
    assert record.error is not None
    assert record.error.endswith("(seed 1000; failed before: 0)")
