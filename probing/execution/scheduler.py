"""The scheduler: it runs works and records each as it ends, and shares them with other processes on the same folder."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic

from probing.display import Display
from probing.errors import ProbingError
from probing.execution.leases import Lease, Leases, Owner
from probing.execution.work import AnyWork, Backend, RunWork, Slots
from probing.results import Record, Store, find_record, read_record
from probing.training import discard_checkpoints, list_checkpointed_records

SECONDS_BETWEEN_LOOKS = 0.5
"""Time between two looks at whether another process has finished a work, or died."""
ATTEMPTS = 3
"""Number of times that a work is begun if its process dies."""

Look = tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Waiting(Generic[AnyWork]):
    """A work to be run, and the state of its record file: none, failed, damaged, or to be replaced."""

    work: AnyWork
    key: str
    path: Path
    seen: Look
    anew: bool = False
    """Whether it begins at the beginning even if there is a checkpoint."""

    def read_new(self) -> Record | None:
        """Return the record if one was written since."""
        return None if _look(self.path) == self.seen else find_record(self.path, self.key)


@dataclass(frozen=True, slots=True)
class Ended(Generic[AnyWork]):
    """A work that has ended, and whether it was run here or by another process."""

    work: AnyWork
    record: Record
    here: bool


def find_waiting(
    works: Iterable[AnyWork],
    store: Store,
    *,
    force: bool,
    accepts: Callable[[AnyWork, Record], bool] = lambda work, record: True,
    on_damaged: Callable[[str], None] = lambda line: None,
) -> list[Waiting[AnyWork]]:
    """Return the works without an accepted record of success, or all of them if forced; damaged records are named."""
    waiting = []
    for work in works:
        key, path = work.key, work.record_path(store.folder)
        seen = _look(path)
        record = None if force or seen is None else find_record(path, key, on_damaged)
        if record is None or record.status != "finished" or not accepts(work, record):
            waiting.append(Waiting(work, key, path, seen, anew=force))
    return waiting


def execute(
    waiting: Sequence[Waiting[AnyWork]], store: Store, backend: Backend, run_work: RunWork[AnyWork], display: Display
) -> Generator[Ended[AnyWork], None, None]:
    """Yield each work when its record is there; works of other processes are waited for, or taken over if they die."""
    with (
        closing(Leases.of(store.folder)) as leases,
        backend.open(run_work, len(waiting), display.update) as slots,
    ):
        leases.sweep(keep={item.key for item in waiting})
        _discard_finished(store, waiting, leases)
        yield from _Execution(store, slots, display, leases, list(waiting)).run()
        leases.sweep()


def _discard_finished(store: Store, waiting: Iterable[Waiting[Any]], leases: Leases) -> None:
    """Remove checkpoints that a killed process left beside a finished record, unless another process needs them."""
    ahead, running = {item.path for item in waiting}, leases.list_taken()
    for record in list_checkpointed_records(store.folder):
        if record in ahead or not record.is_file():
            continue
        with suppress(ProbingError):  # a damaged record is no record
            found = read_record(record)
            if found.status == "finished" and found.key not in running:
                discard_checkpoints(record)


@dataclass(slots=True)
class _Execution(Generic[AnyWork]):
    store: Store
    slots: Slots
    display: Display
    leases: Leases
    waiting: list[Waiting[AnyWork]]
    running: dict[Future[Record], tuple[Waiting[AnyWork], Lease]] = field(default_factory=dict)
    attempts: Counter[str] = field(default_factory=Counter)
    told: set[str] = field(default_factory=set)
    """Names of processes that the user was told about."""

    def run(self) -> Iterator[Ended[AnyWork]]:
        while self.waiting or self.running:
            yield from self._begin()
            if self.running:
                done, _ = wait(self.running, timeout=SECONDS_BETWEEN_LOOKS, return_when=FIRST_COMPLETED)
                for future in done:
                    yield from self._end(future)
            elif self.waiting:
                time.sleep(SECONDS_BETWEEN_LOOKS)

    def _begin(self) -> Iterator[Ended[AnyWork]]:
        """Fill the free slots with works that nobody runs; drop works that others have ended."""
        owners: set[str] = set()
        for item in list(self.waiting):
            if len(self.running) >= self.slots.count:
                return
            if (record := item.read_new()) is None:
                lease = self.leases.take(item.key)
                if not isinstance(lease, Lease):
                    owners.add(lease.name if isinstance(lease, Owner) else "another process")
                    continue
                record = item.read_new()  # it may have come after the first look
                if record is None:
                    self._submit(item, lease)
                    continue
                self.leases.release(lease)
            self.waiting.remove(item)
            yield Ended(item.work, record, here=False)
        self._tell(owners)

    def _submit(self, item: Waiting[AnyWork], lease: Lease) -> None:
        if lease.taken_from is not None:
            self.display.say(f"{item.work.name}: taken over from {lease.taken_from.name}, which has ended")
        self.waiting.remove(item)
        if item.anew and not self.attempts[item.key]:  # a second attempt goes on from what this run has written
            discard_checkpoints(item.path)
        self.attempts[item.key] += 1
        self.running[self.slots.submit(item.work)] = (item, lease)

    def _end(self, future: Future[Record]) -> Iterator[Ended[AnyWork]]:
        item, lease = self.running.pop(future)
        error = future.exception()
        if error is not None and not self.slots.is_loss(error):
            raise error
        if error is not None:
            self._lose(item)
        elif not self.leases.is_held(lease):
            self.display.warn(f"{item.work.name}: another process took it over after this one missed its heartbeats")
            self.waiting.append(item)
        else:
            self.store.save(future.result())
            discard_checkpoints(item.path)
            yield Ended(item.work, future.result(), here=True)
        self.leases.release(lease)

    def _lose(self, item: Waiting[AnyWork]) -> None:
        if self.attempts[item.key] == ATTEMPTS:
            raise ProbingError(
                f"{item.work.name}: the process that ran it died, {ATTEMPTS} times in a row. Was the memory used up? "
                "Try fewer cells at a time (--jobs)"
            )
        self.display.warn(f"{item.work.name}: the process that ran it died; it is run again")
        self.waiting.insert(0, item)

    def _tell(self, owners: set[str]) -> None:
        if owners - self.told and not self.running:
            count = f"{len(self.waiting)} cells are" if len(self.waiting) > 1 else "1 cell is"
            self.display.say(f"{count} being run by {', '.join(sorted(owners))}; waiting")
            self.told = owners


def _look(path: Path) -> Look:
    try:
        about = path.stat()
    except OSError:
        return None
    return about.st_ino, about.st_mtime_ns
