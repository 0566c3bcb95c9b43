"""A run: the cells are planned, finished ones are skipped, vectors are computed, the others are run and recorded."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import torch
from msgspec import structs

from probing.aggregators import describe_routing
from probing.display import Display, Status, format_seconds
from probing.encoders import Recipe, VectorEntry, embed
from probing.errors import ProbingError
from probing.execution import (
    Backend,
    Leases,
    LocalProcesses,
    Waiting,
    check_backend,
    choose_backend,
    execute,
    find_waiting,
)
from probing.experiments.cells import Cell, run_cell
from probing.experiments.cleanup import sweep_leftovers
from probing.experiments.estimates import RunPlan, make_plan, try_out
from probing.experiments.fitting import Probed, Trained
from probing.experiments.options import Experiment, Place
from probing.experiments.planning import PlannedCells, plan_cells
from probing.results import Record, Store, find_record
from probing.storage import resolve_path
from probing.tasks import load_task


@dataclass(frozen=True, slots=True)
class Summary:
    """Numbers of cells by how they ended."""

    finished: int
    skipped: int
    failed: int
    elsewhere: int = 0
    """Number of finished and failed cells that other processes ran on the same results folder."""
    cells: Sequence[Cell] = field(default=(), compare=False, repr=False)
    """All cells of the run."""


@dataclass(frozen=True, slots=True)
class _Prepared:
    planned: PlannedCells
    store: Store
    waiting: list[Waiting[Cell]]
    backend: Backend

    @property
    def skipped(self) -> int:
        return len(self.planned.cells) - len(self.waiting)


def run(experiment: Experiment, place: Place, display: Display) -> Summary:
    """Train and score the models of an experiment; cells that are recorded already are skipped."""
    with display.listening(), writable(place.results):
        ready = _prepare(experiment, place, display)
        if swept := sweep_leftovers(place.results):
            display.detail(f"{swept} temporary files of processes that were killed are deleted")
        _rename_models(ready.planned.cells, ready.store)
        waiting = [item.work for item in ready.waiting]
        _embed(waiting, ready.planned.recipes, ready.planned.device, display)
        return _execute(ready, display)


def plan(experiment: Experiment, place: Place, display: Display) -> RunPlan:
    """Return the cells that `run` would run with the same options, and an estimate of the time."""
    with display.listening():
        ready = _prepare(experiment, place, display)
        with ready.backend.open(run_cell, len(ready.waiting), display.update) as slots:
            at_a_time = slots.count
        return make_plan(
            ready.planned.cells,
            ready.waiting,
            ready.store,
            device=str(ready.backend.device),
            at_a_time=at_a_time,
            trial=partial(_try_out, backend=ready.backend, display=display),
        )


def _try_out(cell: Cell, *, backend: Backend, display: Display) -> float | None:
    if not isinstance(backend, LocalProcesses):  # a cluster's machines are not this one
        return None
    display.say(f"trying {cell.name} for some steps; nothing is kept of it")
    return try_out(cell, backend.device, backend.threads)


def _prepare(experiment: Experiment, place: Place, display: Display) -> _Prepared:
    """Return the cells, those of them that are to be run, and the backend."""
    check_backend(place.backend, address=place.address, gpus_per_cell=place.gpus_per_cell)  # before any file is read
    planned, store = plan_cells(experiment, place.device, display).take(place.shard), Store(place.results)
    backend = choose_backend(
        place.backend,
        address=place.address,
        gpus_per_cell=place.gpus_per_cell,
        jobs=place.jobs,
        num_works=len(planned.cells),
        device=planned.device,
    )
    waiting = find_waiting(planned.cells, store, force=place.force, on_damaged=display.warn)
    return _Prepared(planned, store, waiting, backend)


def _rename_models(cells: Sequence[Cell], store: Store) -> None:
    """Give the records of cells the labels that their models have now; the numbers stay."""
    for cell in cells:
        record = find_record(cell.record_path(store.folder), cell.key)
        if record is not None and record.identity.model.label != cell.identity.model.label:
            store.save(structs.replace(record, identity=cell.identity))


def _embed(waiting: Sequence[Cell], recipes: dict[Path, Recipe], device: torch.device, display: Display) -> None:
    """Compute the frozen vectors that cells need; each encoder is loaded once, for all its tasks."""
    missing: dict[int, dict[Path, tuple[Recipe, Cell, VectorEntry]]] = {}
    for cell in {cell.method.vectors.folder: cell for cell in waiting if isinstance(cell.method, Probed)}.values():
        assert isinstance(cell.method, Probed)
        entry = cell.method.vectors
        recipe = recipes[entry.folder]
        damaged = entry.find_damaged(load_task(cell.path)) if entry.is_complete else []
        if damaged:
            blocks = "1 block" if len(damaged) == 1 else f"{len(damaged)} blocks"
            display.warn(f"{cell.task.name} {recipe.label}: {blocks} of cached vectors are damaged and computed again")
        if damaged or not entry.is_complete:
            missing.setdefault(id(recipe), {})[entry.folder] = (recipe, cell, entry)
    for group in missing.values():
        encoder = None
        for recipe, cell, entry in group.values():
            encoder = recipe.load(device) if encoder is None else encoder
            task = load_task(cell.path)
            total, started = sum(len(split) for split in task.splits.values()), time.monotonic()
            try:
                with display.counting(f"{cell.task.name} {recipe.label}: embedding", total) as on_progress:
                    embed(entry, encoder, cell.task, task, on_progress)
            except KeyboardInterrupt:
                display.warn(f"stopped while {cell.task.name} was embedded. The same command goes on where it stopped")
                raise
            took = format_seconds(time.monotonic() - started)
            display.say(f"{cell.task.name} {recipe.label}: {total:,} sentences embedded, {took}")


def _execute(ready: _Prepared, display: Display) -> Summary:
    """Run the cells and record each as it ends."""
    waiting, store, skipped, total = ready.waiting, ready.store, ready.skipped, len(ready.planned.cells)
    if skipped:
        display.say(f"{skipped} of {total} cells are already in {store.folder} and skipped (--force runs them again)")
    counts = Counter[str]()
    try:
        if isinstance(ready.backend, LocalProcesses):
            _compile([item.work for item in waiting], ready.backend.device, display)
            display.detail(ready.backend.description)
            run_one = partial(run_cell, results=resolve_path(store.folder))
        else:
            display.say(ready.backend.description)
            run_one = partial(run_remotely, results=resolve_path(store.folder))
        ends = execute(waiting, store, ready.backend, run_one, display)
        with display.running([(item.work.name, item.work.size) for item in waiting]), closing(ends):
            for ended in ends:
                counts[ended.record.status] += 1
                counts["elsewhere"] += not ended.here
                by_whom = "" if ended.here else " (by another process)"
                display.finish(ended.work.name, _describe_record(ended.record) + by_whom)
    except KeyboardInterrupt:
        display.warn(
            f"stopped: {counts['finished'] + skipped} of {total} cells are finished and kept in {store.folder}. "
            "The same command goes on with the rest"
        )
        raise
    if counts["elsewhere"]:
        display.say(f"{total} cells: {skipped} were there, {counts['elsewhere']} were run by other processes meanwhile")
    return Summary(counts["finished"], skipped, counts["failed"], counts["elsewhere"], ready.planned.cells)


def run_remotely(cell: Cell, device: torch.device, on_status: Callable[[Status], None], *, results: Path) -> Record:
    """Run a cell on another machine, with checkpoints if it sees the results folder: then it sees the cell's lease."""
    shared = Leases.of(results).is_taken(cell.key)
    return run_cell(cell, device, on_status, results=results if shared else None)


def _compile(cells: Sequence[Cell], device: torch.device, display: Display) -> None:
    """Compile the routing kernels before the processes start, each of which would compile them otherwise."""
    trained = [cell.method for cell in cells if isinstance(cell.method, Trained)]
    if routed := [method for method in trained if method.aggregator != "base"]:
        display.detail(f"routing: {describe_routing(routed[0].config.routing.implementation, device)}")


@contextmanager
def writable(results: Path) -> Iterator[None]:
    """Make the results folder unless it exists, and remove it again if nothing was written to it."""
    new = not results.exists()
    try:
        results.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=results):
            pass
    except OSError as error:
        raise ProbingError(f"--results {results}: results cannot be written there ({error.strerror})") from None
    try:
        yield
    finally:
        if new:
            with suppress(OSError):  # it is not empty
                results.rmdir()


def _describe_record(record: Record) -> str:
    took = format_seconds(record.timing.seconds)
    if record.scores is None:
        return f"failed after {took}: {record.error}"
    scores = record.scores
    if (coded := scores.description) is not None:
        return f"compression {coded.compression:.2f}, {coded.bits / 1000:.2f} kbit, {took}"
    return (
        f"test {scores.test_accuracy:.2f} (majority {scores.majority_accuracy:.2f}), dev {scores.dev_accuracy:.2f} "
        f"in epoch {scores.best_epoch} of {len(scores.curve)}, {took}, {record.timing.tokens_per_second:,.0f} tokens/s"
    )
