"""Runs cells and records each as it comes, sharing the work with other processes on the same results folder."""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

import torch

from probing.backends import Backend
from probing.cells import Cell, run_cell
from probing.checkpoints import discard, list_records
from probing.display import Display, Status
from probing.errors import ProbingError
from probing.leases import Lease, Leases, Owner
from probing.results import ADVICE, Result, Store, read_result
from probing.workers import RunCell, Slots

SECONDS_BETWEEN_LOOKS = 0.5
"""While nothing ends here: whether another process has finished a cell, or died."""
ATTEMPTS = 3
"""How often a cell is begun whose worker dies."""

Look = tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Waiting:
    """A cell to be run, and the record that was there before: none, a failed or damaged one, or one to be replaced."""

    cell: Cell
    key: str
    path: Path
    seen: Look
    anew: bool = False
    """Whether it begins at the beginning, whatever checkpoint there is."""

    def read_new(self) -> Result | None:
        """Return the cell's record if one was written since."""
        return None if _look(self.path) == self.seen else _read(self.path, self.key)


@dataclass(frozen=True, slots=True)
class Ended:
    """A cell that has ended, and whether it was run here or by another process."""

    cell: Cell
    result: Result
    here: bool


def find_waiting(
    cells: Iterable[Cell], store: Store, *, force: bool, on_damaged: Callable[[str], None] = lambda line: None
) -> list[Waiting]:
    """Return the cells without a whole record of their success, or all; damaged records are named."""
    waiting = []
    for cell in cells:
        key, path = cell.key, cell.record_path(store)
        seen = _look(path)
        result = None if force or seen is None else _read(path, key, on_damaged)
        if result is None or result.status != "finished":
            waiting.append(Waiting(cell, key, path, seen, anew=force))
    return waiting


def rename_rows(cells: Iterable[Cell], store: Store) -> None:
    """Give the records of cells the names that their rows have now; the numbers stay."""
    for cell in cells:
        result = _read(cell.record_path(store), cell.key)
        if result is not None and result.model.label != cell.model.label:
            store.save(dataclasses.replace(result, model=cell.model))


def execute(
    waiting: Sequence[Waiting], store: Store, backend: Backend, run_cell: RunCell[Cell, Result], display: Display
) -> Generator[Ended, None, None]:
    """Yield each cell when its record is there; what others run is waited for, and taken over if they die."""
    with (
        closing(Leases.of(store.folder)) as leases,
        backend.open(run_cell, len(waiting), display.update) as slots,
    ):
        _discard_finished(store, waiting, leases)
        yield from _Execution(store, slots, display, leases, list(waiting)).run()


def _discard_finished(store: Store, waiting: Iterable[Waiting], leases: Leases) -> None:
    """Remove checkpoints that a killed process left beside a finished record; not those that somebody needs."""
    ahead, running = {item.path for item in waiting}, leases.list_taken()
    for record in list_records(store.folder):
        if record in ahead or not record.is_file():
            continue
        with suppress(ProbingError):  # a damaged record is no record
            result = read_result(record)
            if result.status == "finished" and result.key not in running:
                discard(record)


def run_far_away(cell: Cell, device: torch.device, on_status: Callable[[Status], None], *, results: Path) -> Result:
    """Run a cell on another machine, with checkpoints if it sees the results folder: then the lease is there."""
    shared = Leases.of(results).is_taken(cell.key)
    return run_cell(cell, device, on_status, results=results if shared else None)


@dataclass(slots=True)
class _Execution:
    store: Store
    slots: Slots
    display: Display
    leases: Leases
    waiting: list[Waiting]
    running: dict[Future[Result], tuple[Waiting, Lease]] = field(default_factory=dict)
    attempts: Counter[str] = field(default_factory=Counter)
    told: set[str] = field(default_factory=set)
    """Processes of which the user knows that their cells are waited for."""

    def run(self) -> Iterator[Ended]:
        while self.waiting or self.running:
            yield from self._begin()
            if self.running:
                done, _ = wait(self.running, timeout=SECONDS_BETWEEN_LOOKS, return_when=FIRST_COMPLETED)
                for future in done:
                    yield from self._end(future)
            elif self.waiting:
                time.sleep(SECONDS_BETWEEN_LOOKS)

    def _begin(self) -> Iterator[Ended]:
        """Fill the free slots with cells that nobody runs; drop those that others have ended."""
        owners: set[str] = set()
        for item in list(self.waiting):
            if len(self.running) >= self.slots.count:
                return
            if (result := item.read_new()) is None:
                lease = self.leases.take(item.key)
                if not isinstance(lease, Lease):
                    owners.add(lease.name if isinstance(lease, Owner) else "another process")
                    continue
                result = item.read_new()  # it may have come after the first look
                if result is None:
                    self._submit(item, lease)
                    continue
                self.leases.release(lease)
            self.waiting.remove(item)
            yield Ended(item.cell, result, here=False)
        self._tell(owners)

    def _submit(self, item: Waiting, lease: Lease) -> None:
        if lease.taken_from is not None:
            self.display.say(f"{item.cell.name}: taken over from {lease.taken_from.name}, which has ended")
        self.waiting.remove(item)
        if item.anew and not self.attempts[item.key]:  # a second attempt goes on from what this run has written
            discard(item.path)
        self.attempts[item.key] += 1
        self.running[self.slots.submit(item.cell)] = (item, lease)

    def _end(self, future: Future[Result]) -> Iterator[Ended]:
        item, lease = self.running.pop(future)
        error = future.exception()
        if error is not None and not self.slots.is_loss(error):
            raise error
        if error is not None:
            self._lose(item)
        elif not self.leases.is_held(lease):
            self.display.warn(f"{item.cell.name}: another process took it over while this one was not heard of")
            self.waiting.append(item)
        else:
            self.store.save(future.result())
            discard(item.path)
            yield Ended(item.cell, future.result(), here=True)
        self.leases.release(lease)

    def _lose(self, item: Waiting) -> None:
        if self.attempts[item.key] == ATTEMPTS:
            raise ProbingError(
                f"{item.cell.name}: the process that ran it died, {ATTEMPTS} times in a row. Was the memory used up? "
                "Try fewer cells at a time (--jobs)"
            )
        self.display.warn(f"{item.cell.name}: the process that ran it died; it is run again")
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


def _read(path: Path, key: str, on_damaged: Callable[[str], None] = lambda line: None) -> Result | None:
    try:
        result = read_result(path)
    except ProbingError as error:
        on_damaged(f"{str(error).removesuffix(ADVICE)}. Its cell counts as not run yet")
        return None
    return result if result.key == key else None
