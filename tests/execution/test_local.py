from __future__ import annotations

import os
import threading

import joblib
import pytest
import torch

from probing.display import Status
from probing.errors import ProbingError
from probing.execution.local import LocalProcesses

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def _threads():
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def run_cell():
    """Return a small computation; a function made here travels to other processes whole."""

    def run(cell, device, on_status):
        import os

        import torch

        from probing.display import Status
        from probing.errors import ProbingError

        if cell == "bad":
            raise ProbingError(f"{cell}: a mistake")
        for epoch in (1, 2):
            on_status(Status(work=f"cell {cell}", fraction=epoch / 2, text=f"epoch {epoch}", milestone=True))
        torch.manual_seed(cell)
        return os.getpid(), torch.get_num_threads(), str(device), torch.randn(3).tolist()

    return run


def run_all(workers, run_cell, cells):
    statuses = []
    with workers.open(run_cell, len(cells), statuses.append) as slots:
        futures = [(cell, slots.submit(cell)) for cell in cells]
        outcomes = {cell: future.result() for cell, future in futures}
    return outcomes, sorted((status.work, int(2 * status.fraction)) for status in statuses)


@pytest.mark.parametrize(
    ("jobs", "cells", "device", "expected"),
    [
        (None, 30, "cpu", (8, 1)),
        (None, 3, "cpu", (3, 2)),
        (None, 1, "cpu", (1, 8)),
        (None, 0, "cpu", (1, 8)),
        (None, 30, "cuda", (1, 8)),
        (2, 30, "cpu", (2, 4)),
        (2, 30, "cuda", (2, 4)),
        (99, 30, "cpu", (99, 1)),
    ],
)
def test_the_machine_is_divided_among_the_cells(monkeypatch, jobs, cells, device, expected):
    monkeypatch.setattr(joblib, "cpu_count", lambda: 8)
    workers = LocalProcesses.choose(jobs, num_works=cells, device=torch.device(device))
    assert (workers.jobs, workers.threads) == expected
    assert workers.device == torch.device(device)


def test_in_this_process_and_in_two_others_the_outcomes_are_the_same(run_cell):
    cells = [3, 1, 2]
    here, statuses_here = run_all(LocalProcesses(1, 1, CPU), run_cell, cells)
    there, statuses_there = run_all(LocalProcesses(2, 1, CPU), run_cell, cells)
    assert list(here) == cells
    assert sorted(there) == sorted(cells)
    assert {cell: outcome[1:] for cell, outcome in here.items()} == {cell: there[cell][1:] for cell in cells}
    assert {outcome[0] for outcome in here.values()} == {os.getpid()}
    assert os.getpid() not in {outcome[0] for outcome in there.values()}
    assert statuses_here == statuses_there == [(f"cell {cell}", epoch) for cell in (1, 2, 3) for epoch in (1, 2)]


def test_one_cell_needs_no_other_process(run_cell):
    outcomes, statuses = run_all(LocalProcesses(2, 1, CPU), run_cell, [5])
    assert outcomes[5][0] == os.getpid()
    assert len(statuses) == 2


def test_no_cells(run_cell):
    assert run_all(LocalProcesses(2, 1, CPU), run_cell, []) == ({}, [])


def test_cells_have_the_threads_that_were_promised(run_cell):
    for workers, cells in ((LocalProcesses(1, 2, CPU), [1]), (LocalProcesses(2, 2, CPU), [1, 2])):
        outcomes, _ = run_all(workers, run_cell, cells)
        assert {outcome[1] for outcome in outcomes.values()} == {2}


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_mistake_in_a_worker_surfaces_as_it_is(run_cell, jobs):
    with pytest.raises(ProbingError) as caught:
        run_all(LocalProcesses(jobs, 1, CPU), run_cell, [1, "bad", 2])
    assert str(caught.value) == "bad: a mistake"


def test_a_run_that_is_given_up_leaves_no_threads_and_no_processes(run_cell):
    """It comes after a failed run, and so shows as well that the next run is not harmed."""
    processes = []

    def give_up():
        with LocalProcesses(2, 1, CPU).open(run_cell, 3, print) as slots:
            processes.append(slots.submit(1).result()[0])
            os.kill(processes[0], 0)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        give_up()
    with pytest.raises(ProcessLookupError):
        os.kill(processes[0], 0)
    assert "channels" not in {thread.name for thread in threading.enumerate()}


def test_a_process_that_dies_is_a_loss_and_the_next_cell_has_another(run_cell):
    def die(cell, device, on_status):
        import os

        os.kill(os.getpid(), 9)

    with LocalProcesses(2, 1, CPU).open(die, 2, print) as slots:
        error = slots.submit(1).exception()
        assert slots.is_loss(error)
        assert slots.is_loss(slots.submit(2).exception())
    assert not slots.is_loss(ProbingError("a mistake"))
    outcomes, _ = run_all(LocalProcesses(2, 1, CPU), run_cell, [1, 2])
    assert sorted(outcomes) == [1, 2]


def test_statuses_are_what_the_display_takes(run_cell):
    for workers in (LocalProcesses(1, 1, CPU), LocalProcesses(2, 1, CPU)):
        received = []
        with workers.open(run_cell, 2, received.append) as slots:
            slots.submit(1).result()
        assert received == [
            Status(work="cell 1", fraction=epoch / 2, text=f"epoch {epoch}", milestone=True) for epoch in (1, 2)
        ]
