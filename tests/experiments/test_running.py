"""Cells are planned, skipped, run and recorded; a broken one does not stop the others."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from probing.display import Display
from probing.errors import ProbingError
from probing.experiments import running
from probing.experiments.running import Summary
from probing.results.record import Record
from tests import studies
from tests.studies import load, make_settings, write_answers

start = partial(studies.start, aggregators=["em"])


@pytest.fixture
def task_file(tmp_path: Path) -> Path:
    return write_answers(tmp_path)


def without_times(result: Record) -> dict[str, Any]:
    record = result.as_dict()
    del record["timing"]
    return record


def test_a_record_says_what_ran_what_came_out_and_where(task_file: Path, tmp_path: Path) -> None:
    assert start(task_file, tmp_path / "results") == Summary(finished=1, skipped=0, failed=0)
    (result,) = load(tmp_path / "results")
    identity, model = result.identity, result.identity.model
    assert (identity.task, identity.family, identity.seed, identity.preset) == ("answers", "own", 0, "mini")
    assert (identity.data.name, identity.data.file) == ("own", "answers.tsv")
    assert (model.name, model.label, model.version) == ("em", "EM", "built-in")
    assert identity.settings["model"]["model_dim"] == 16
    assert set(result.where) == {"probing", "torch", "python", "device", "threads", "processor", "instruction_set"}
    scores = result.scores
    assert scores is not None
    assert scores.majority_accuracy == 50.0
    assert scores.vocabulary_size == 1 + 10
    assert scores.classes["NO"].train == 60
    right = sum(gold == predicted for gold, predicted in zip(scores.gold, scores.predictions, strict=True))
    assert scores.test_accuracy == 100.0 * right / 40
    assert sum(counts.right for counts in scores.classes.values()) == right
    assert len(scores.curve) == 2
    assert scores.dev_accuracy == max(epoch["dev_accuracy"] for epoch in scores.curve)


def test_finished_cells_are_skipped_unless_forced(task_file: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    start(task_file, results)
    (path,) = results.glob("*.json")
    before = path.stat().st_mtime_ns
    assert start(task_file, results) == Summary(finished=0, skipped=1, failed=0)
    assert path.stat().st_mtime_ns == before
    assert start(task_file, results, force=True) == Summary(finished=1, skipped=0, failed=0)
    assert path.stat().st_mtime_ns > before


def test_a_changed_setting_seed_or_file_is_another_cell(task_file: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    start(task_file, results)
    assert start(task_file, results, settings=(*make_settings(), "training.patience=9")).finished == 1
    assert start(task_file, results, seeds=[1]).finished == 1
    task_file.write_text(task_file.read_text(encoding="utf-8") + "te\tYES\tYES indeed\n", encoding="utf-8")
    assert start(task_file, results).finished == 1
    assert len(load(results)) == 4


def test_a_damaged_record_is_named_and_run_again(
    task_file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results"
    start(task_file, results)
    (path,) = results.glob("*.json")
    whole = path.read_text(encoding="utf-8")
    path.write_text(whole[: len(whole) // 2], encoding="utf-8")
    capfd.readouterr()
    assert start(task_file, results).finished == 1
    assert capfd.readouterr().err == f"{path}: not a whole JSON file. Its cell counts as not run yet\n"
    assert len(load(results)) == 1


@pytest.mark.parametrize("jobs", [1, 2])
def test_one_seed_gives_identical_records(task_file: Path, tmp_path: Path, jobs: int) -> None:
    records = []
    for name in ("first", "second"):
        summary = start(task_file, tmp_path / name, aggregators=["all"], seeds=[0, 1], jobs=jobs)
        assert summary.finished == 6
        records.append([without_times(result) for result in load(tmp_path / name)])
    assert records[0] == records[1]
    losses = [record["scores"]["curve"][0]["loss"] for record in records[0]]
    assert len(set(losses)) == 6


def test_a_loss_that_is_not_finite_is_a_failed_record_and_the_rest_goes_on(task_file: Path, tmp_path: Path) -> None:
    plugin = tmp_path / "broken.py"
    plugin.write_text(
        "from torch import nn\n"
        "class Broken(nn.Module):\n"
        "    def __init__(self, model_dim, num_heads):\n"
        "        super().__init__()\n"
        "    def forward(self, heads):\n"
        "        return heads.flatten(1) * float('nan')\n",
        encoding="utf-8",
    )
    results = tmp_path / "results"
    specs = [f"{plugin}:Broken", "base"]
    assert start(task_file, results, aggregators=specs) == Summary(finished=1, skipped=0, failed=1)
    failed = next(result for result in load(results) if result.status == "failed")
    assert failed.identity.model.name == "broken.py:Broken"
    assert failed.error is not None
    assert "the loss became nan in epoch 1" in failed.error
    assert failed.scores is None
    assert start(task_file, results, aggregators=specs) == Summary(finished=0, skipped=1, failed=1)


def test_an_own_aggregator_is_a_model_of_its_own(task_file: Path, tmp_path: Path) -> None:
    plugin = tmp_path / "mine.py"
    plugin.write_text(
        "from torch import nn\n"
        "class Mean(nn.Module):\n"
        "    def __init__(self, model_dim, num_heads):\n"
        "        super().__init__()\n"
        "        self.output = nn.Linear(model_dim // num_heads, model_dim)\n"
        "    def forward(self, heads):\n"
        "        return self.output(heads.mean(1))\n",
        encoding="utf-8",
    )
    start(task_file, tmp_path / "results", aggregators=[f"{plugin}:Mean"], jobs=2, seeds=[0, 1])
    first, second = load(tmp_path / "results")
    assert (first.identity.model.name, first.identity.model.label) == ("mine.py:Mean", "Mean")
    assert len(first.identity.model.version) == 64
    assert {first.identity.seed, second.identity.seed} == {0, 1}


def test_ctrl_c_keeps_what_is_finished(
    task_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = running.run_cell
    calls: list[int] = []

    def interrupted(*arguments: Any, **options: Any) -> Record:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    monkeypatch.setattr(running, "run_cell", interrupted)
    results = tmp_path / "results"
    with pytest.raises(KeyboardInterrupt):
        start(task_file, results, aggregators=["all"])
    said = " ".join(capsys.readouterr().err.split())
    assert "stopped: 1 of 3 cells are finished" in said
    assert "The same command goes on with the rest" in said
    monkeypatch.undo()
    assert start(task_file, results, aggregators=["all"]) == Summary(finished=2, skipped=1, failed=0)


def test_a_model_that_blows_up_in_its_last_step_is_a_failed_record(task_file: Path, tmp_path: Path) -> None:
    """One batch, one epoch: the only loss is finite, and no answer is."""
    settings = (*make_settings(max_epochs=1), "training.learning_rate=1e30", "training.warmup=0")
    summary = start(task_file, tmp_path, settings=(*settings, "training.batch_size=1000"), aggregators=["base"])
    assert summary == Summary(finished=0, skipped=0, failed=1)
    (failed,) = load(tmp_path)
    assert failed.error is not None
    assert failed.error.startswith("the model's scores became infinite or not a number. Try a lower")


def test_code_that_changes_while_a_run_goes_on(
    task_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be recorded under the version that it had before."""
    plugin = tmp_path / "mine.py"
    code = "from probing.aggregators.linear import LinearAggregator\nclass Mine(LinearAggregator):\n    pass\n"
    plugin.write_text(code, encoding="utf-8")
    find_waiting = running.find_waiting

    def edit(*arguments: Any, **options: Any) -> Any:
        plugin.write_text(f"{code}# edited\n", encoding="utf-8")
        return find_waiting(*arguments, **options)

    monkeypatch.setattr(running, "find_waiting", edit)
    with pytest.raises(ProbingError, match=r"^mine.py:Mine: its code changed while the run went on"):
        start(task_file, tmp_path / "results", aggregators=[f"{plugin}:Mine"])
    assert load(tmp_path / "results") == []


def test_many_can_ask_at_once_whether_a_folder_can_be_written(tmp_path: Path) -> None:
    def ask(_: int) -> None:
        with running.writable(tmp_path):
            pass

    with ThreadPoolExecutor(8) as pool:
        assert len(list(pool.map(ask, range(400)))) == 400
    assert list(tmp_path.iterdir()) == []


def test_a_results_folder_that_cannot_be_written(task_file: Path, tmp_path: Path) -> None:
    (tmp_path / "results").write_text("a file", encoding="utf-8")
    with pytest.raises(ProbingError, match=r"--results .*results: results cannot be written there"):
        start(task_file, tmp_path / "results")


def test_records_are_plain_json(task_file: Path, tmp_path: Path) -> None:
    start(task_file, tmp_path / "results")
    (path,) = (tmp_path / "results").glob("*.json")
    assert path.name.startswith("own--answers--em--mini--seed0--")
    assert json.loads(path.read_text(encoding="utf-8"))["format"] == 1


@pytest.mark.parametrize("aggregators", [[""], [","], ["em,"]])
def test_no_aggregator(task_file: Path, tmp_path: Path, aggregators: list[str]) -> None:
    with pytest.raises(ProbingError, match="no aggregator was named"):
        start(task_file, tmp_path / "results", aggregators=aggregators)


def test_a_plan_tells_what_would_be_run_and_runs_nothing(task_file: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    options: dict[str, Any] = {
        "aggregators": ["base"],
        "task_files": [task_file],
        "settings": make_settings(),
        "preset": "mini",
    }
    options |= {"device": "cpu", "jobs": 1, "results": results, "display": Display(verbosity=-1)}
    planned = studies.plan(seeds=[0, 1], **options)
    assert [(item.cell, item.state) for item in planned.cells] == [
        ("answers Base seed 0", "to run"),
        ("answers Base seed 1", "to run"),
    ]
    assert [item.judged_by for item in planned.cells] == ["a trial of some steps"] * 2
    assert all(item.seconds for item in planned.cells)
    assert not results.exists()
    start(task_file, results, aggregators=["base"])
    planned = studies.plan(seeds=[0, 1], **options)
    assert [item.state for item in planned.cells] == ["finished", "to run"]
    assert planned.cells[1].judged_by == "1 record of this task"
    (result,) = load(results)
    assert planned.cells[1].seconds == result.timing.seconds


def test_a_second_run_waits_for_the_cells_of_the_first(
    task_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The other run finishes one cell while this one is at another; both report the whole."""
    real = running.run_cell

    def share(cell: Any, *arguments: Any, **options: Any) -> Record:
        if cell.identity.seed == 0:
            monkeypatch.undo()
            start(task_file, tmp_path / "results", seeds=[1])
        return real(cell, *arguments, **options)

    monkeypatch.setattr(running, "run_cell", share)
    summary = start(task_file, tmp_path / "results", seeds=[0, 1], display=Display())
    assert summary == Summary(finished=2, skipped=0, failed=0, elsewhere=1)
    said = " ".join(capsys.readouterr().err.split())
    assert "(by another process)" in said
    assert "2 cells: 0 were there, 1 were run by other processes meanwhile" in said
