"""Runs cells one after another, or several at a time in processes of their own, with the threads divided among them."""

from __future__ import annotations

import logging
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any, TypeVar

import joblib
import torch

from probing.display import Status

Cell = TypeVar("Cell")
Outcome = TypeVar("Outcome")
RunCell = Callable[[Cell, torch.device, Callable[[Status], None]], Outcome]


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

    def execute(
        self, run_cell: RunCell[Cell, Outcome], cells: Sequence[Cell], on_status: Callable[[Status], None]
    ) -> Iterator[tuple[Cell, Outcome]]:
        """Yield each cell with its outcome, as it comes."""
        if self.jobs == 1 or len(cells) <= 1:
            for cell in cells:
                torch.set_num_threads(self.threads)
                yield cell, run_cell(cell, self.device, on_status)
        else:
            yield from self._execute_in_processes(run_cell, cells, on_status)

    def _execute_in_processes(
        self, run_cell: RunCell[Cell, Outcome], cells: Sequence[Cell], on_status: Callable[[Status], None]
    ) -> Iterator[tuple[Cell, Outcome]]:
        with _interrupts_ignored():
            server = get_context("spawn").Manager()
        with server as manager:
            statuses = manager.Queue()
            listener = threading.Thread(target=_listen, args=(statuses, on_status), daemon=True)
            listener.start()
            parallel = joblib.Parallel(n_jobs=self.jobs, return_as="generator_unordered", batch_size=1)
            job = joblib.delayed(_run_in_worker)
            with _interrupts_ignored():
                outcomes = parallel(job(run_cell, cell, self.device, self.threads, statuses) for cell in cells)
            try:
                for outcome in outcomes:  # noqa: UP028 - `yield from` would close the outcomes before we can
                    yield outcome
            except BaseException:
                with warnings.catch_warnings():  # joblib would warn of the cells that are given up
                    warnings.simplefilter("ignore")
                    outcomes.close()
                joblib.externals.loky.get_reusable_executor().shutdown(wait=False, kill_workers=True)
                raise
            finally:
                statuses.put(None)
                listener.join(timeout=5)


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Let processes that start meanwhile ignore Ctrl-C for life: it reaches the whole group, and this one ends them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _listen(statuses: Any, on_status: Callable[[Status], None]) -> None:
    while (status := statuses.get()) is not None:
        on_status(status)


def _run_in_worker(
    run_cell: RunCell[Cell, Outcome], cell: Cell, device: torch.device, threads: int, statuses: Any
) -> tuple[Cell, Outcome]:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # in workers that were started later, too
    logging.getLogger("probing").setLevel(logging.ERROR)  # The main process has said it.
    torch.set_num_threads(threads)
    return cell, run_cell(cell, device, statuses.put)
