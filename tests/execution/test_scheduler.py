"""Cells are divided among all that share a results folder: none runs twice at a time, none is lost."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from probing.display import Display
from probing.errors import ProbingError
from probing.execution import scheduler as execution
from probing.execution.leases import Lease, Leases, Owner
from probing.execution.scheduler import Ended, execute, find_waiting
from probing.results.record import Record
from probing.results.store import Store
from probing.training.checkpoints import checkpoint_folder
from tests.studies import load, write_answers

QUIET = Display(verbosity=-1)


@dataclass(frozen=True)
class FakeCell:
    """A cell that is run by looking up its result."""

    result: Record

    @property
    def key(self) -> str:
        return self.result.key

    @property
    def name(self) -> str:
        return f"seed {self.result.identity.seed}"

    def record_path(self, results: Path) -> Path:
        return self.result.path(results)


class DiedError(Exception):
    """What a slot says when its process has died."""


@dataclass
class FakeWorkers:
    """Slots that run a cell when they are asked to, some of which die."""

    count: int = 1
    deaths: int = 0
    begun: list[int] = field(default_factory=list)
    during: Callable[[FakeCell], None] = lambda cell: None

    def open(self, run_cell: Any, num_works: int, on_status: Any) -> FakeWorkers:
        return self

    def __enter__(self) -> FakeWorkers:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def submit(self, cell: FakeCell) -> Future[Record]:
        self.begun.append(cell.result.identity.seed)
        future: Future[Record] = Future()
        self.during(cell)
        if self.deaths:
            self.deaths -= 1
            future.set_exception(DiedError())
        else:
            future.set_result(cell.result)
        return future

    def is_loss(self, error: BaseException) -> bool:
        return isinstance(error, DiedError)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "results")


@pytest.fixture
def cells(make_record: Callable[..., Record]) -> list[Any]:
    return [FakeCell(make_record(seed=seed)) for seed in range(3)]


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "SECONDS_BETWEEN_LOOKS", 0.01)


def execute_all(
    cells: list[Any], store: Store, workers: Any, *, force: bool = False, display: Display = QUIET
) -> list[Ended]:
    return list(execute(find_waiting(cells, store, force=force), store, workers, lambda *_: cells[0].result, display))


def test_each_cell_is_recorded_and_then_not_run_again(cells: list[Any], store: Store) -> None:
    ended = execute_all(cells, store, FakeWorkers())
    assert [(item.work, item.here) for item in ended] == [(cell, True) for cell in cells]
    assert [result.identity.seed for result in load(store.folder)] == [0, 1, 2]
    assert execute_all(cells, store, FakeWorkers()) == []
    assert len(execute_all(cells, store, FakeWorkers(), force=True)) == 3
    assert not (store.folder / ".leases").exists()


def test_a_lease_is_held_while_a_cell_runs_and_until_its_record_is_there(cells: list[Any], store: Store) -> None:
    leases = Leases.of(store.folder)
    owners = []
    ended = execute_all(cells, store, FakeWorkers(during=lambda cell: owners.append(leases.take(cell.key))))
    assert owners == [Owner.current()] * 3
    assert len(ended) == 3


def test_what_another_process_finishes_meanwhile_is_not_run(cells: list[Any], store: Store) -> None:
    """The other one finishes the last cell while the first one runs here."""
    workers = FakeWorkers(during=lambda cell: store.save(cells[2].result) and None)
    ended = execute_all(cells, store, workers)
    assert workers.begun == [0, 1]
    assert [(item.work.result.identity.seed, item.here) for item in ended] == [(0, True), (1, True), (2, False)]


@pytest.mark.parametrize("accuracy", [80.0, None])
def test_with_force_what_another_process_has_run_again_meanwhile_is_not_run(
    cells: list[Any], store: Store, make_record: Callable[..., Record], accuracy: float | None
) -> None:
    for cell in cells:
        store.save(cell.result)
    again = make_record(seed=2, accuracy=accuracy)
    assert again.key == cells[2].key
    workers = FakeWorkers(during=lambda cell: store.save(again) and None)
    ended = execute_all(cells, store, workers, force=True)
    assert workers.begun == [0, 1]
    assert (ended[2].record, ended[2].here) == (again, False)


def test_with_force_a_cell_begins_anew_and_a_second_attempt_goes_on(cells: list[Any], store: Store) -> None:
    checkpoint = checkpoint_folder(cells[0].record_path(store.folder)) / "training.safetensors"
    found: list[bool] = []

    def look(cell: Any) -> None:
        found.append(checkpoint.is_file())
        checkpoint.parent.mkdir(parents=True, exist_ok=True)
        checkpoint.write_bytes(b"")

    look(cells[0])
    execute_all(cells[:1], store, FakeWorkers(during=look))
    look(cells[0])
    execute_all(cells[:1], store, FakeWorkers(during=look, deaths=1), force=True)
    assert found == [False, True, False, False, True]


def test_a_cell_that_another_process_runs_is_waited_for(
    cells: list[Any], store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = Leases.of(store.folder)
    lease = other.take(cells[1].key)
    assert isinstance(lease, Lease)
    looks = []

    def sleep(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 3:
            store.save(cells[1].result)
            other.close()

    monkeypatch.setattr(execution.time, "sleep", sleep)
    workers = FakeWorkers()
    ended = execute_all(cells, store, workers, display=Display())
    assert workers.begun == [0, 2]
    assert [(item.work.result.identity.seed, item.here) for item in ended] == [(0, True), (2, True), (1, False)]
    said = capsys.readouterr().err
    assert said.count(f"1 cell is being run by process {os.getpid()} on ") == 1


def test_a_cell_whose_owner_gives_up_is_run_here(
    cells: list[Any], store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Leases.of(store.folder)
    other.take(cells[0].key)
    monkeypatch.setattr(execution.time, "sleep", lambda seconds: other.close())
    workers = FakeWorkers()
    execute_all(cells, store, workers)
    assert workers.begun == [1, 2, 0]


def test_a_lost_lease_means_that_the_outcome_is_not_written(
    cells: list[Any], store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    """As when this machine slept so long that another took the cell over and finished it."""

    def sleep_long(cell: FakeCell) -> None:
        if cell is cells[0] and not cell.result.path(store.folder).exists():
            next((store.folder / ".leases").glob(f"{cell.key}.*")).unlink()
            store.save(cell.result)

    ended = execute_all(cells, store, FakeWorkers(during=sleep_long))
    assert {item.work.result.identity.seed: item.here for item in ended} == {0: False, 1: True, 2: True}
    assert "seed 0: another process took it over" in capsys.readouterr().err


def test_a_dead_workers_cell_is_run_again(cells: list[Any], store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    workers = FakeWorkers(deaths=2)
    assert len(execute_all(cells, store, workers)) == 3
    assert workers.begun == [0, 0, 0, 1, 2]
    assert "seed 0: the process that ran it died; it is run again" in capsys.readouterr().err


def test_a_cell_that_kills_its_workers_is_given_up(cells: list[Any], store: Store) -> None:
    with pytest.raises(ProbingError, match=r"seed 0: the process that ran it died, 3 times in a row.*--jobs"):
        execute_all(cells, store, FakeWorkers(deaths=9))
    assert not (store.folder / ".leases").exists()


def test_a_mistake_ends_the_run_and_releases_the_leases(cells: list[Any], store: Store) -> None:
    def fail(cell: FakeCell) -> None:
        raise ProbingError("a mistake")

    with pytest.raises(ProbingError, match="a mistake"):
        execute_all(cells, store, FakeWorkers(during=fail))
    assert not (store.folder / ".leases").exists()


def test_only_checkpoints_that_nobody_needs_are_removed(
    cells: list[Any], store: Store, make_record: Callable[..., Record]
) -> None:
    """Of cells that this run does not have: finished, failed, with a damaged record, and being run again elsewhere."""
    finished, damaged, running = (make_record(task=task) for task in ("SubNm", "ObjNm", "SOMO"))
    failed = make_record(task="CoIn", accuracy=None)
    paths = [store.save(result) for result in (finished, failed, damaged, running)]
    paths[2].write_text("{", encoding="utf-8")
    for path in paths:
        checkpoint_folder(path).mkdir(parents=True)
    leases = Leases.of(store.folder)
    leases.take(running.key)
    execute_all(cells, store, FakeWorkers())
    leases.close()
    assert [checkpoint_folder(path).exists() for path in paths] == [False, True, True, True]


@pytest.mark.parametrize("finished", [0, 1, 3], ids=["before its record", "after its record", "after the last record"])
def test_what_a_killed_process_held_is_gone_after_the_next_run(cells: list[Any], store: Store, finished: int) -> None:
    """A process may die at any moment from taking a lease to releasing it; so may one that is waited for."""
    for cell in cells[:finished]:
        store.save(cell.result)
    child = os.fork()
    if child == 0:
        leases = Leases.of(store.folder)
        os._exit(0 if all(isinstance(leases.take(cell.key), Lease) for cell in cells) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(list((store.folder / ".leases").iterdir())) == 3
    execute_all(cells, store, FakeWorkers())
    assert sorted(path.suffix for path in store.folder.iterdir()) == [".json"] * 3


def test_a_damaged_record_is_made_again(cells: list[Any], store: Store) -> None:
    path = store.save(cells[0].result)
    path.write_text(path.read_text(encoding="utf-8")[:100], encoding="utf-8")
    execute_all(cells, store, FakeWorkers())
    assert len(load(store.folder)) == 3


NURSERY = '''
"""Four processes on one results folder, of which some are killed and replaced; logs when each cell ran."""
import json, os, random, sys, time
from pathlib import Path

from probing.experiments import running
from probing.results import Store
from tests import studies

task_file, results, log, kills = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
settings = json.loads(sys.argv[5])
lines = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def note(what, key=""):
    os.write(lines, json.dumps([time.monotonic(), os.getpid(), what, key]).encode() + b"\\n")


def run():
    real, save = running.run_cell, Store.save

    def logged(cell, *rest, **options):
        note("begin", cell.key)
        result = real(cell, *rest, **options)
        note("end", cell.key)
        return result

    def save_logged(store, result):
        path = save(store, result)
        note("saved", result.key)
        return path

    running.run_cell, Store.save = logged, save_logged
    return studies.run(
        aggregators=["base", "simple", "em"], task_files=[task_file], settings=settings, preset="mini", seeds=range(4),
        device="cpu", jobs=1, results=results,
    )


def start():
    child = os.fork()
    if child == 0:
        summary = run()
        os._exit(0 if summary.finished + summary.skipped == 12 and not summary.failed else 1)
    return child


draw, children = random.Random(int(sys.argv[6])), [start() for _ in range(min(4, max(1, kills)))]
for _ in range(kills):
    time.sleep(draw.uniform(0.1, 1.0))
    victim = draw.choice(children)
    note(f"killed {victim}")
    os.kill(victim, 9)
    os.waitpid(victim, 0)
    children[children.index(victim)] = start()
sys.exit(sum(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children))
'''


def run_nursery(task_file: Path, results: Path, kills: int) -> list[list[Any]]:
    """Run the cells in one process, or in four of which so many are killed; return what was logged."""
    settings = {"model_dim": 16, "num_heads": 2, "num_capsules": 8, "feed_forward_dim": 16, "head_dim": 16}
    chosen = [f"model.{name}={value}" for name, value in settings.items()]
    chosen += ["model.num_layers=1", "training.max_epochs=4", "training.patience=4", "training.min_frequency=1"]
    log = results.with_suffix(".log")
    command = [sys.executable, "-c", NURSERY, task_file, results, log, kills, json.dumps(chosen), 1]
    ended = subprocess.run([str(part) for part in command], timeout=200, stderr=subprocess.PIPE, text=True)
    assert ended.returncode == 0, ended.stderr[-3000:]
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


def find_intervals(log: list[list[Any]]) -> dict[str, list[tuple[float, float]]]:
    """Return when each cell was run: from its beginning to its end, or to its process's being killed."""
    intervals: dict[str, list[tuple[float, float]]] = {}
    for place, (begin, process, what, key) in enumerate(log):
        if what == "begin":
            later = log[place + 1 :]
            end = next(
                line[0] for line in later if line[1:] in ([process, "end", key], [line[1], f"killed {process}", ""])
            )
            intervals.setdefault(key, []).append((begin, end))
    return {key: sorted(times) for key, times in intervals.items()}


@pytest.mark.slow
def test_four_processes_and_random_kills_give_what_one_process_gives(tmp_path: Path) -> None:
    task_file = write_answers(tmp_path, (400, 50, 50), longest=9)
    run_nursery(task_file, tmp_path / "alone", kills=0)
    log = run_nursery(task_file, tmp_path / "shared", kills=8)

    intervals = find_intervals(log)
    assert len(intervals) == 12
    for key, times in intervals.items():
        assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(times)), key
        assert sum(line[2:] == ["saved", key] for line in log) <= 1
    assert sum(len(times) for times in intervals.values()) > 12, "no kill came in the middle of a cell"
    assert len({line[1] for line in log if line[2] == "saved"}) >= 4
    alone, shared = load(tmp_path / "alone"), load(tmp_path / "shared")
    assert [(result.key, result.scores) for result in alone] == [(result.key, result.scores) for result in shared]
    assert sorted(path.suffix for path in (tmp_path / "shared").iterdir()) == [".json"] * 12, list(
        (tmp_path / "shared").rglob("*")
    )
