"""Both ways of the benchmark learn the same, and the figures are complete."""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from pathlib import Path

import pytest
import torch

from benchmarks import probes as benchmark
from probing.probes.definitions import PROBES


def test_both_ways_come_to_the_same_accuracy() -> None:
    probe = dataclasses.replace(PROBES["senteval"], max_epochs=3)
    splits = benchmark.make_splits(2, 1000, 1000, 0)
    ours, plain = (
        way(probe, splits, 2, 0, time.process_time) for way in (benchmark.train_together, benchmark.train_plainly)
    )
    assert ours.dev == pytest.approx(plain.dev, abs=3)
    assert ours.test == pytest.approx(plain.test, abs=3)
    assert 60 < ours.test < 95
    assert plain.retraining_seconds > 0 == ours.retraining_seconds


def test_the_figures_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "probes.json"
    command = "probes --train 200 --held-out 50 --max-epochs 1 --task Tense --task SeLen --threads 1 --output"
    monkeypatch.setattr(sys, "argv", [*command.split(), str(output)])
    threads = torch.get_num_threads()
    benchmark.main()
    torch.set_num_threads(threads)
    figures = json.loads(output.read_text())
    assert [row["task"] for row in figures["tasks"]] == ["SeLen", "Tense"]
    assert figures["speed_up"] > 0
    assert figures["plain_seconds"] == pytest.approx(sum(row["plain_seconds"] for row in figures["tasks"]), abs=0.1)
    assert figures["vectors_mb"] == 0
    assert "Both ways stop after 1 epochs of four passes at the latest." in capsys.readouterr().out
