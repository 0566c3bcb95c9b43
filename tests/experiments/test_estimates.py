"""What would be run is told without running it, with times from records of the same kind only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from probing.execution.leases import Leases
from probing.execution.scheduler import find_waiting
from probing.experiments.estimates import Planned, RunPlan, Trial, make_plan
from probing.results import CellIdentity, Record, Store
from probing.tasks import load_task


@dataclass(frozen=True)
class FakeCell:
    """A cell whose record would be this result."""

    result: Record
    path: Path = Path()

    @property
    def identity(self) -> CellIdentity:
        return self.result.identity

    @property
    def name(self) -> str:
        return self.identity.title

    @property
    def key(self) -> str:
        return self.identity.key

    def record_path(self, results: Path) -> Path:
        return self.identity.path(results)

    def count_training(self) -> int:
        return len(load_task(self.path).splits["tr"])

    def count_work(self, sentences: int) -> float:
        return float(sentences)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "results")


def plan(
    cells: list[Any], store: Store, *, device: str = "cpu", at_a_time: int = 2, trial: Trial = lambda cell: None
) -> RunPlan:
    waiting = find_waiting(cells, store, force=False)
    return make_plan(cells, waiting, store, device=device, at_a_time=at_a_time, trial=trial)


def lasting(result: Record, seconds: float) -> Record:
    return structs.replace(result, timing=structs.replace(result.timing, seconds=seconds))


def test_with_no_records_and_no_trial_the_time_is_unknown(
    store: Store, make_record: Callable[..., Record], task_file: Callable[..., Path]
) -> None:
    planned = plan([FakeCell(make_record(seed=0), task_file())], store)
    assert [(item.cell, item.state, item.seconds) for item in planned.cells] == [("Tense EM seed 0", "to run", None)]
    assert planned.summary() == (
        "1 cell: 0 finished, 1 to run. Unknown for 1: no record is like them here. Run one, and ask again."
    )
    assert not store.folder.exists()


def test_a_trial_tells_it_for_all_cells_of_its_kind_by_their_size(
    store: Store, make_record: Callable[..., Record], task_file: Callable[..., Path], tmp_path: Path
) -> None:
    """The second task has twice the sentences of the first; another model is tried for itself."""
    path, tried = task_file(), []
    twice = tmp_path / "twice.tsv"
    train = [line for line in path.read_text(encoding="utf-8").splitlines(keepends=True) if line.startswith("tr")]
    twice.write_text(path.read_text(encoding="utf-8") + "".join(train), encoding="utf-8")
    cells = [FakeCell(make_record(task=task), file) for task, file in (("Tense", path), ("SubNm", twice))]
    cells.append(FakeCell(make_record(model="base"), path))

    def trial(cell: Any) -> float:
        tried.append(cell.name)
        return 10.0

    planned = plan(cells, store, trial=trial)
    assert [item.seconds for item in planned.cells] == [10.0, 20.0, 10.0]
    assert {item.judged_by for item in planned.cells} == {"a trial of some steps"}
    assert tried == ["Tense EM seed 0", "Tense Base seed 0"]
    assert planned.summary() == (
        "3 cells: 0 finished, 3 to run. About 20s for 3 of them, 2 at a time (40s one after another), "
        "if all epochs are needed."
    )


def test_the_data_are_prepared_before_a_trial(
    store: Store, make_record: Callable[..., Record], task_file: Callable[..., Path]
) -> None:
    """What is done once for all cells is no part of the time of the first that is tried."""
    order = []

    class PreparedCell(FakeCell):
        def count_training(self) -> int:
            order.append("prepared")
            return super().count_training()

    def trial(cell: Any) -> float:
        order.append("tried")
        return 10.0

    plan([PreparedCell(make_record(), task_file())], store, trial=trial)
    assert order[:2] == ["prepared", "tried"]


def test_other_seeds_tell_the_time(store: Store, make_record: Callable[..., Record]) -> None:
    store.save(lasting(make_record(seed=0), 100.0))
    store.save(lasting(make_record(seed=1), 140.0))
    planned = plan([FakeCell(make_record(seed=seed)) for seed in range(4)], store)
    assert [item.state for item in planned.cells] == ["finished", "finished", "to run", "to run"]
    assert [item.seconds for item in planned.cells] == [None, None, 120.0, 120.0]
    assert planned.cells[2].judged_by == "2 records of this task"
    assert planned.summary() == (
        "4 cells: 2 finished, 2 to run. About 2m00s for 2 of them, 2 at a time (4m00s one after another), "
        "as long as records of the same model took."
    )


def test_other_tasks_tell_it_by_their_size(
    store: Store, make_record: Callable[..., Record], task_file: Callable[..., Path]
) -> None:
    """The record was trained on 9 sentences, the task has 2."""
    store.save(lasting(make_record(task="Tense"), 90.0))
    path = task_file()
    planned = plan([FakeCell(make_record(task="SubNm"), path)], store)
    assert (planned.cells[0].seconds, planned.cells[0].judged_by) == (20.0, "1 record of other tasks, by their size")


@pytest.mark.parametrize(
    ("recorded", "device"),
    [
        ({"model": "base"}, "cpu"),
        ({"settings": {"training": {"patience": 9}}}, "cpu"),
        ({"preset": "paper"}, "cpu"),
        ({"accuracy": None}, "cpu"),
        ({"measure": "random-labels"}, "cpu"),
        ({}, "cuda"),
    ],
)
def test_a_record_of_another_kind_tells_nothing(
    store: Store,
    make_record: Callable[..., Record],
    task_file: Callable[..., Path],
    recorded: dict[str, Any],
    device: str,
) -> None:
    store.save(make_record(seed=1, **recorded))
    assert plan([FakeCell(make_record(seed=0), task_file())], store, device=device).cells[0].seconds is None


def test_a_cell_that_is_being_run(
    store: Store, make_record: Callable[..., Record], task_file: Callable[..., Path]
) -> None:
    cells = [FakeCell(make_record(seed=seed), task_file()) for seed in range(2)]
    leases = Leases.of(store.folder)
    leases.take(cells[1].key)
    assert [item.state for item in plan(cells, store).cells] == ["to run", "being run"]
    leases.close()


def test_a_long_cell_bounds_the_whole() -> None:
    cells = [Planned(f"cell {seconds}", "to run", float(seconds), "1 record of this task", "") for seconds in (10, 50)]
    assert "About 50s for 2 of them, 4 at a time (1m00s one after another)" in RunPlan(cells, 4).summary()
    assert "cell 10" in RunPlan(cells, 4).text()
    assert RunPlan(cells, 4).as_dict()["cells"][1]["seconds"] == 50.0
