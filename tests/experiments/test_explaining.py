"""What is explained is the recorded model: its predictions, its accuracy, and what it loses without a head."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from probing.display import Display
from probing.errors import ProbingError
from probing.experiments import explaining, explanation_text
from probing.experiments.explaining import Explanation
from probing.report.explanations import load_explanations
from probing.results.record import Record
from tests.studies import load, make_experiment, make_settings, start, write_answers

SETTINGS = make_settings(num_layers=2, max_epochs=3)


@pytest.fixture
def task_file(tmp_path: Path) -> Path:
    return write_answers(tmp_path)


def explain(task_file: Path, results: Path, **options: Any) -> list[Explanation]:
    what = {name: options.pop(name) for name in ("sentences", "count", "groups") if name in options}
    defaults = {"aggregators": ["em"], "task_files": [task_file], "results": results}
    small = {"settings": SETTINGS, "preset": "mini", "device": "cpu"}
    experiment, place = make_experiment(**defaults | small | options)
    return explaining.explain(experiment, place, Display(verbosity=-1), **what)


def record(task_file: Path, results: Path) -> Record:
    start(task_file, results, aggregators=["em"], settings=SETTINGS)
    (result,) = load(results)
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
    monkeypatch.setattr("probing.training.optimizer.Optimizer.step", lambda *_: pytest.fail("it was trained again"))
    assert explain(task_file, tmp_path / "results") == first


def test_weights_are_distributions(task_file: Path, tmp_path: Path) -> None:
    (explained,) = explain(task_file, tmp_path, sentences=["YES a b never-seen"], groups=3)
    (sentence,) = explained.sentences
    assert sentence.unknown == [False, False, False, True]
    assert "YES a b never-seen?" in explanation_text.render([explained])
    assert "\n\nword?: a word that the model has not seen in training" in explanation_text.render([explained])
    assert sentence.gold is None
    for layer in sentence.layers:
        attention, agreement, share = (np.array(layer[name]) for name in ("attention", "agreement", "share"))
        assert attention.shape == (2, 4, 4)
        assert agreement.shape == share.shape == (3, 4, 2, 3)
        np.testing.assert_allclose(attention.sum(-1), 1, atol=1e-3)
        np.testing.assert_allclose(agreement.sum(-1), 1, atol=1e-3)  # a head gives itself to the capsules
        np.testing.assert_allclose(share.sum(2), 1, atol=1e-3)  # a capsule is made of the heads


def test_the_routing_is_summarised_as_its_agreement_says(task_file: Path, tmp_path: Path) -> None:
    (explained,) = explain(task_file, tmp_path, aggregators=["em"], count=0)
    assert [one.layer for one in explained.routing] == [1, 2]
    for one in explained.routing:
        first, *_, last = one.effective_heads
        assert first == one.heads == 2  # all heads are equal before the first E-step
        assert 1 <= last <= 2
        assert one.activation is not None
        assert 0 < one.activation < 1
        assert one.spread is not None
        assert one.spread > 0
    text = explanation_text.render([explained])
    assert "answers, EM, layer 1" in text
    assert "2.00 → " in text
    (simple,) = explain(task_file, tmp_path, aggregators=["simple"], count=0)
    assert [one.activation for one in simple.routing] == [None, None]
    (base,) = explain(task_file, tmp_path, aggregators=["base"], count=0)
    assert base.routing == []


def test_an_explanation_computes_the_routing_as_the_settings_say(
    task_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("probing.aggregators.fused.route", lambda *_: pytest.fail("the routing was fused"))
    settings = [*SETTINGS, "routing.implementation=reference"]
    (explained,) = explain(task_file, tmp_path, aggregators=["simple"], settings=settings)
    assert explained.sentences[0].layers[0]["share"]


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


def test_the_command_prints_text_and_json(
    task_file: Path, tmp_path: Path, probe: Callable[..., tuple[int, str, str]]
) -> None:
    arguments = ["explain", "--task-file", task_file, "--aggregator", "em", "--results", tmp_path / "r"]
    arguments += [part for setting in SETTINGS for part in ("--set", setting)]
    code, text, _ = probe(*arguments, "--preset", "mini", "--sentence", "NO a unheard")
    assert code == 0
    assert "NO a unheard?\n→ " in text
    assert "answers: points of test accuracy lost without a head" in text
    assert "layer 2 head 2" in text
    (explained,) = json.loads(probe(*arguments, "--preset", "mini", "--json")[1])
    assert [one["tokens"][0] in ("YES", "NO") for one in explained["sentences"]] == [True] * 3


def test_an_empty_sentence_is_refused(task_file: Path, tmp_path: Path) -> None:
    with pytest.raises(ProbingError, match="--sentence is empty"):
        explain(task_file, tmp_path, sentences=["  "])


def test_a_sentence_may_be_as_long_as_in_a_task_file(task_file: Path, tmp_path: Path) -> None:
    with pytest.raises(ProbingError, match=r"^--sentence has 10,001 tokens\. At most 10,000 can be explained$"):
        explain(task_file, tmp_path, sentences=["a " * 10_001])


def test_where_nothing_can_be_written_nothing_is_trained(
    task_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explaining, "_fit", lambda *_: pytest.fail("it was trained"))
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ProbingError, match=r"^--results .*file: results cannot be written there"):
        explain(task_file, tmp_path / "file")


def test_a_damaged_record_does_not_lose_the_explanation(
    task_file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    record(task_file, tmp_path / "results")
    (path,) = (tmp_path / "results").glob("*--*.json")
    path.write_text("{", encoding="utf-8")
    explain(task_file, tmp_path / "results")
    assert f"{path}: not a whole JSON file" in capfd.readouterr().err
    assert load_explanations(tmp_path / "results", pytest.fail).sentences


@pytest.mark.parametrize("name", ["ä" * 300, "a--b", "x/../../y", "two  words\n", "stray \udcff byte"])
def test_any_name_becomes_a_file_beside_the_records(tmp_path: Path, name: str) -> None:
    facts: dict[str, Any] = {"family": "own", "preset": "mini", "seed": 0, "key": "0" * 64, "test_accuracy": 50.0}
    explained = Explanation(task=name, model=name, data=name, sentences=[], masking=[], **facts)
    path = explained.save(tmp_path)
    assert path.parent == tmp_path
    assert path.name.endswith(".seed0.000000000000.explanation.json")
    assert [*tmp_path.iterdir()] == [path]
    assert not [*tmp_path.glob("*--*.json")]
    assert json.loads(path.read_text(encoding="utf-8"))["task"] == name
