"""Runs cells in this process, or several at a time in processes of their own, with the threads divided among them."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import joblib
import torch

from probing.display import Status
from probing.interruption import end_with, shielded, terminable, unshielded
from probing.lifeline import Line, listening

Cell = TypeVar("Cell")
Outcome = TypeVar("Outcome")
RunCell = Callable[[Cell, torch.device, Callable[[Status], None]], Outcome]

SECONDS_TO_STOP = 2.5
"""For checkpoints, when a run is stopped; then the processes are ended whatever they do."""
SECONDS_IDLE = 300
"""After so long without a cell a process ends; a later one starts anew."""


class Slots(Protocol):
    """Room for some cells at a time."""

    @property
    def count(self) -> int:
        """How many cells can run now."""

    def submit(self, cell: Any) -> Future[Any]:
        """Begin a cell; called by one thread only."""

    def is_loss(self, error: BaseException) -> bool:
        """Return whether the error says that the process which ran a cell has died."""


@dataclass(frozen=True, slots=True)
class Workers:
    """How many cells run at a time, and with how many threads each."""

    jobs: int
    threads: int
    device: torch.device

    @classmethod
    def choose(cls, jobs: int | None, *, num_cells: int, device: torch.device) -> Workers:
        """Divide the machine among cells; by default one cell per core, on a GPU one at a time.

        The number of all cells counts, not of those still to be run: threads can change a result's last digits,
        and going on after an interruption must not.
        """
        cores = joblib.cpu_count()
        if jobs is None:
            jobs = 1 if device.type != "cpu" else max(1, min(cores, num_cells))
        return cls(jobs, max(1, cores // jobs), device)

    @property
    def description(self) -> str:
        return f"{self.jobs} cells at a time, {self.threads} threads each"

    @contextmanager
    def open(
        self, run_cell: RunCell[Cell, Outcome], num_cells: int, on_status: Callable[[Status], None]
    ) -> Iterator[Slots]:
        """Give room for so many cells; an error or Ctrl-C ends the processes, after a checkpoint if that is quick."""
        if self.jobs == 1 or num_cells <= 1:
            yield _Here(run_cell, self, on_status)
            return
        with listening(on_status) as line:
            slots = _Processes(run_cell, self, line)
            try:
                yield slots
            except BaseException:
                slots.stop()
                raise


@dataclass(frozen=True, slots=True)
class _Here:
    """This process: a cell that is begun has ended when `submit` returns."""

    run_cell: RunCell[Any, Any]
    workers: Workers
    on_status: Callable[[Status], None]
    count: int = 1

    def submit(self, cell: Any) -> Future[Any]:
        torch.set_num_threads(self.workers.threads)
        future: Future[Any] = Future()
        future.set_result(self.run_cell(cell, self.workers.device, self.on_status))
        return future

    def is_loss(self, error: BaseException) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class _Processes:
    """Processes of this machine, by joblib's executor: it is kept for the next run, and replaced when one has died."""

    run_cell: RunCell[Any, Any]
    workers: Workers
    line: Line
    begun: list[Future[Any]] = field(default_factory=list)

    @property
    def count(self) -> int:
        return self.workers.jobs

    def submit(self, cell: Any) -> Future[Any]:
        executor = self._executor()
        with shielded():  # Ctrl-C reaches the processes that start here, too, and it is this one that ends them
            future: Future[Any] = executor.submit(
                _run_in_worker, self.run_cell, cell, self.workers.device, self.workers.threads, self.line
            )
        self.begun.append(future)
        return future

    def is_loss(self, error: BaseException) -> bool:
        return isinstance(error, BrokenExecutor)

    def stop(self) -> None:
        """Let the cells write their checkpoints, as long as a user would wait, and end the processes."""
        executor = self._executor()
        try:
            for pid in list(executor._processes):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)
            wait(self.begun, timeout=SECONDS_TO_STOP)
        finally:
            executor.shutdown(wait=True, kill_workers=True)

    def _executor(self) -> Any:
        # While a process has no cell, it has no line either, by which it would notice that the run was killed.
        return joblib.externals.loky.get_reusable_executor(
            self.workers.jobs, timeout=SECONDS_IDLE, initializer=end_with, initargs=(os.getpid(),)
        )


def _run_in_worker(
    run_cell: RunCell[Cell, Outcome], cell: Cell, device: torch.device, threads: int, line: Line
) -> Outcome:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the main process as well, which ends this one
    logging.getLogger("probing").setLevel(logging.ERROR)  # The main process has said it.
    torch.set_num_threads(threads)
    with line.calling() as tell, terminable(), unshielded():
        return run_cell(cell, device, tell)
