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
    plain = {"aggregators": ["base"], "settings": make_settings(max_epochs=1)}
    assert start(noise, tmp_path / "results", **plain) == Summary(finished=1, skipped=0, failed=0)
