"""Work in this process, or several works at a time in processes of their own, which share the threads."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import joblib
import torch

from probing.display import Status
from probing.execution.channel import Channel, listening
from probing.execution.work import AnyWork, RunWork, Slots
from probing.plugin_imports import importing_safely
from probing.results import Record
from probing.signals import end_with, shielded, terminable, unshielded

SECONDS_TO_STOP = 2.5
"""Time for checkpoints when a run is stopped; after it the processes are ended, whatever they do."""
SECONDS_IDLE = 300
"""Time without work after which a process ends; a new one starts when it is needed."""


@dataclass(frozen=True, slots=True)
class LocalProcesses:
    """Processes of this machine: how many works run at a time, and with how many threads each."""

    jobs: int
    threads: int
    device: torch.device

    @classmethod
    def choose(cls, jobs: int | None, *, num_works: int, device: torch.device) -> LocalProcesses:
        """Divide the machine among works; by default one work per core, on a GPU one at a time.

        The number of all works counts, not of those that are left: threads can change a result's last digits, and
        going on after an interruption must not.
        """
        cores = joblib.cpu_count()
        if jobs is None:
            jobs = 1 if device.type != "cpu" else max(1, min(cores, num_works))
        return cls(jobs, max(1, cores // jobs), device)

    @property
    def description(self) -> str:
        return f"{self.jobs} cells at a time, {self.threads} threads each"

    @contextmanager
    def open(self, run_work: RunWork[AnyWork], num_works: int, on_status: Callable[[Status], None]) -> Iterator[Slots]:
        """Provide room for works; an error or Ctrl-C ends the processes, after a checkpoint if that is quick."""
        if self.jobs == 1 or num_works <= 1:
            yield _Here(run_work, self, on_status)
            return
        with listening(on_status) as channel:
            slots = _Processes(run_work, self, channel)
            try:
                yield slots
            except BaseException:
                slots.stop()
                raise


@dataclass(frozen=True, slots=True)
class _Here:
    """This process: a work has ended when `submit` returns."""

    run_work: RunWork[Any]
    processes: LocalProcesses
    on_status: Callable[[Status], None]
    count: int = 1

    def submit(self, work: Any) -> Future[Record]:
        torch.set_num_threads(self.processes.threads)
        future: Future[Record] = Future()
        future.set_result(self.run_work(work, self.processes.device, self.on_status))
        return future

    def is_loss(self, error: BaseException) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class _Processes:
    """Processes of joblib's executor, which is kept for the next run and replaced when a process has died."""

    run_work: RunWork[Any]
    processes: LocalProcesses
    channel: Channel
    begun: list[Future[Record]] = field(default_factory=list)

    @property
    def count(self) -> int:
        return self.processes.jobs

    def submit(self, work: Any) -> Future[Record]:
        arguments = (self.run_work, work, self.processes.device, self.processes.threads, self.channel)
        # Ctrl-C reaches the processes that start here, too, but only this process ends them.
        with importing_safely(), shielded():
            future: Future[Record] = self._executor().submit(_run_in_worker, *arguments)
        self.begun.append(future)
        return future

    def is_loss(self, error: BaseException) -> bool:
        return isinstance(error, BrokenExecutor)

    def stop(self) -> None:
        """Wait for the works' checkpoints, as long as a user would, then end the processes."""
        executor = self._executor()
        try:
            for pid in list(executor._processes):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)
            wait(self.begun, timeout=SECONDS_TO_STOP)
        finally:
            executor.shutdown(wait=True, kill_workers=True)

    def _executor(self) -> Any:
        # An idle process has no channel to notice by that the run was killed; it watches its parent instead.
        return joblib.externals.loky.get_reusable_executor(
            self.processes.jobs, timeout=SECONDS_IDLE, initializer=end_with, initargs=(os.getpid(),)
        )


def _run_in_worker(
    run_work: RunWork[AnyWork], work: AnyWork, device: torch.device, threads: int, channel: Channel
) -> Record:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the main process as well, which ends this one
    logging.getLogger("probing").setLevel(logging.ERROR)  # the main process logs it
    torch.set_num_threads(threads)
    with channel.calling() as tell, terminable(), unshielded():
        return run_work(work, device, tell)
