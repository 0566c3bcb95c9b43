"""What is explained is the recorded model: its predictions, its accuracy, and what it loses without a head."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from cli import main
from probing import explanation, runner
from probing.display import Display
from probing.errors import ProbingError
from probing.explanation import Explanation
from probing.report.explanations import load_explanations
from probing.results import Result, Store

OPTIONS: dict[str, Any] = {
    "settings": (
        "model.model_dim=16",
        "model.num_heads=2",
        "model.num_capsules=8",
        "model.feed_forward_dim=16",
        "model.head_dim=16",
        "model.num_layers=2",
        "training.max_epochs=3",
        "training.min_frequency=1",
    ),
    "preset": "mini",
    "device": "cpu",
}


@pytest.fixture
def task_file(tmp_path: Path) -> Path:
    """A task whose label is the sentence's first word."""
    words = random.Random(0)
    lines = [
        f"{split}\t{label}\t{label.lower()} {' '.join(words.choices('abcdefgh', k=words.randint(1, 6)))}"
        for split, size in (("tr", 60), ("va", 20), ("te", 20))
        for label in ("YES", "NO")
        for _ in range(size)
    ]
    path = tmp_path / "answers.tsv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def explain(task_file: Path, results: Path, **options: Any) -> list[Explanation]:
    display = Display(verbosity=-1)
    defaults = {"aggregators": ["em"], "task_files": [task_file], "results": results, "display": display}
    return explanation.explain(**OPTIONS | defaults | options)


def record(task_file: Path, results: Path, aggregator: str = "em") -> Result:
    display = Display(verbosity=-1)
    runner.run(task_files=[task_file], aggregators=[aggregator], jobs=1, results=results, display=display, **OPTIONS)
    (result,) = Store(results).load(pytest.fail)
    return result


def test_the_model_is_the_recorded_one(task_file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    result = record(task_file, tmp_path / "results")
    (explained,) = explain(task_file, tmp_path / "results", count=20)
    assert result.scores is not None
    assert explained.test_accuracy == result.scores.test_accuracy
    assert explained.key == result.key
    labels = list(result.scores.classes)
    assert [one.predicted for one in explained.sentences] == [labels[n] for n in result.scores.predictions[:20]]
    assert [one.gold for one in explained.sentences] == [labels[n] for n in result.scores.gold[:20]]
    assert "not the same weights" not in capfd.readouterr().err


def test_another_model_than_the_recorded_one_is_named(
    task_file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    record(task_file, tmp_path / "results")
    (path,) = (tmp_path / "results").glob("*--*.json")
    content = json.loads(path.read_text(encoding="utf-8"))
    content["scores"]["test_accuracy"] += 1.0
    path.write_text(json.dumps(content), encoding="utf-8")
    explain(task_file, tmp_path / "results", count=0)
    assert f"in {path}: not the same weights" in capfd.readouterr().err


def test_a_model_is_trained_once(task_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = explain(task_file, tmp_path / "results")
    monkeypatch.setattr("probing.training.Optimizer.step", lambda *_: pytest.fail("it was trained again"))
    assert explain(task_file, tmp_path / "results") == first


def test_weights_are_distributions(task_file: Path, tmp_path: Path) -> None:
    (explained,) = explain(task_file, tmp_path, sentences=["yes a b never-seen"], groups=3)
    (sentence,) = explained.sentences
    assert sentence.unknown == [False, False, False, True]
    assert sentence.gold is None
    for layer in sentence.layers:
        attention, agreement, share = (np.array(layer[name]) for name in ("attention", "agreement", "share"))
        assert attention.shape == (2, 4, 4)
        assert agreement.shape == share.shape == (3, 4, 2, 3)
        np.testing.assert_allclose(attention.sum(-1), 1, atol=1e-3)
        np.testing.assert_allclose(agreement.sum(-1), 1, atol=1e-3)  # a head gives itself to the capsules
        np.testing.assert_allclose(share.sum(2), 1, atol=1e-3)  # a capsule is made of the heads


def test_every_head_is_masked_once(task_file: Path, tmp_path: Path) -> None:
    (explained,) = explain(task_file, tmp_path, aggregators=["base"])
    assert [(one.layer, one.head) for one in explained.masking] == [(1, 1), (1, 2), (2, 1), (2, 2)]
    for one in explained.masking:
        assert one.drop == pytest.approx(explained.test_accuracy - one.accuracy, abs=1e-3)
    assert all("share" not in layer for one in explained.sentences for layer in one.layers)


def test_the_report_reads_what_is_written(task_file: Path, tmp_path: Path) -> None:
    explained = explain(task_file, tmp_path, aggregators=["base", "em"], count=2)
    read = load_explanations(tmp_path, pytest.fail)
    assert len(read.sentences) == 4
    assert len(read.masking) == sum(len(one.masking) for one in explained)


def test_the_command_prints_text_and_json(task_file: Path, tmp_path: Path) -> None:
    arguments = ["explain", "--task-file", str(task_file), "--aggregator", "em", "--results", str(tmp_path / "r")]
    arguments += [part for setting in OPTIONS["settings"] for part in ("--set", setting)]
    text = CliRunner().invoke(main, [*arguments, "--preset", "mini", "--sentence", "no a unheard"])
    assert text.exit_code == 0
    assert "no a unheard?\n→ " in text.stdout
    assert "answers: points of test accuracy lost without a head" in text.stdout
    assert "layer 2 head 2" in text.stdout
    machine = CliRunner().invoke(main, [*arguments, "--preset", "mini", "--json"])
    assert [one["tokens"][0] in ("yes", "no") for one in json.loads(machine.stdout)[0]["sentences"]] == [True] * 3


def test_an_empty_sentence_is_refused(task_file: Path, tmp_path: Path) -> None:
    with pytest.raises(ProbingError, match="--sentence is empty"):
        explain(task_file, tmp_path, sentences=["  "])
