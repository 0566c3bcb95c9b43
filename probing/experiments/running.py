"""A run: the cells are planned, finished ones are skipped, vectors are computed, the others are run and recorded."""

from __future__ import annotations

import dataclasses
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Generic

import torch
from msgspec import structs

from probing import native
from probing.aggregators import Implementation, describe_routing
from probing.display import Display, Status, format_seconds
from probing.errors import ProbingError
from probing.execution import (
    AnyWork,
    Backend,
    Leases,
    LocalProcesses,
    RunWork,
    Waiting,
    check_backend,
    choose_backend,
    execute,
    find_waiting,
)
from probing.experiments.cells import Cell, describe_chance, run_cell
from probing.experiments.cleanup import sweep_leftovers
from probing.experiments.estimates import RunPlan, make_plan, try_out
from probing.experiments.fitting import Probed, Trained
from probing.experiments.frozen_vectors import FrozenVectors
from probing.experiments.options import Experiment, Place
from probing.experiments.planning import PlannedCells, plan_cells, take_shard
from probing.results import Record, Store, find_record
from probing.storage import resolve_path


@dataclass(frozen=True, slots=True)
class Summary:
    """Numbers of cells by how they ended."""

    finished: int
    skipped: int
    failed: int
    elsewhere: int = 0
    """Number of finished and failed cells that other processes ran on the same results folder."""
    cells: Sequence[Any] = field(default=(), compare=False, repr=False)
    """All cells of the run."""


@dataclass(frozen=True, slots=True)
class Prepared(Generic[AnyWork]):
    """The cells of a run of any kind, those of them that are to be run, and where."""

    cells: Sequence[AnyWork]
    store: Store
    waiting: list[Waiting[Any]]
    backend: Backend

    @property
    def skipped(self) -> int:
        return len(self.cells) - len(self.waiting)


def run(experiment: Experiment, place: Place, display: Display) -> Summary:
    """Train and score the models of an experiment; cells that are recorded already are skipped."""
    with display.listening(), writable(place.results):
        planned = _plan(experiment, place, display)
        vectors = FrozenVectors(recipes=planned.recipes, device=planned.device, display=display, force=place.force)
        vectors.meet(planned.cells)
        cells = vectors.identify(planned.cells)
        ready = prepare_cells(cells, planned.device, place, display, Cell.accepts)
        sweep_before(place.results, display)
        rename_models(cells, ready.store)
        vectors.provide(item.work for item in ready.waiting)
        vectors.recheck(cells)
        return execute_cells(ready, run_cell, display, describe_record, _describe_routing)


def plan(experiment: Experiment, place: Place, display: Display) -> RunPlan:
    """Return the cells that `run` would run with the same options, and an estimate of the time."""
    with display.listening():
        planned = _plan(experiment, place, display)
        vectors = FrozenVectors(recipes=planned.recipes, device=planned.device, display=display)
        ready = prepare_cells(vectors.identify(planned.cells), planned.device, place, display, Cell.accepts)
        return plan_run(ready, run_cell, display, _can_be_tried)


def plan_run(
    ready: Prepared[Any],
    run_one: RunWork[Any],
    display: Display,
    can_be_tried: Callable[[Any], bool] = lambda cell: True,
) -> RunPlan:
    """Return the plan of the cells of a run."""
    backend = ready.backend

    def try_cell(cell: Any) -> float | None:
        if not isinstance(backend, LocalProcesses) or not can_be_tried(cell):  # a cluster's machines are not this one
            return None
        display.say(f"trying {cell.name} for some steps; nothing is kept of it")
        return try_out(cell, run_one, backend.device, backend.threads)

    with backend.open(run_one, len(ready.waiting), display.update) as slots:
        at_a_time = slots.count
    device = str(backend.device)
    return make_plan(ready.cells, ready.waiting, ready.store, device=device, at_a_time=at_a_time, trial=try_cell)


def _can_be_tried(cell: Cell) -> bool:
    """Return whether some steps of a cell can be tried: not a probe's before its vectors are there."""
    return not isinstance(cell.method, Probed) or cell.method.vectors.is_complete


def _plan(experiment: Experiment, place: Place, display: Display) -> PlannedCells:
    """Return the cells of a run, or of a shard of it."""
    check_place(place)
    planned = plan_cells(experiment, place.device, display, results=place.results)
    return dataclasses.replace(planned, cells=take_shard(planned.cells, place.shard))


def check_place(place: Place) -> None:
    """Refuse an unknown backend, and options that do not go with it, before any file is read."""
    check_backend(place.backend, address=place.address, gpus_per_cell=place.gpus_per_cell)


def prepare_cells(
    cells: list[AnyWork],
    device: torch.device,
    place: Place,
    display: Display,
    accepts: Callable[[AnyWork, Record], bool] = lambda cell, record: True,
) -> Prepared[AnyWork]:
    """Return which of the cells are to be run, and where; a finished record that is not accepted is made again."""
    store = Store(place.results)
    backend = choose_backend(
        place.backend,
        address=place.address,
        gpus_per_cell=place.gpus_per_cell,
        jobs=place.jobs,
        num_works=len(cells),
        device=device,
    )
    waiting = find_waiting(cells, store, force=place.force, accepts=accepts, on_damaged=display.warn)
    return Prepared(cells, store, waiting, backend)


def sweep_before(results: Path, display: Display) -> None:
    """Delete what killed processes left, before a run."""
    if swept := sweep_leftovers(results):
        display.detail(f"{swept} temporary files of processes that were killed are deleted")


def rename_models(cells: Sequence[Any], store: Store) -> None:
    """Give the records of cells the labels that their models have now; the numbers stay."""
    for cell in cells:
        record = find_record(cell.record_path(store.folder), cell.key)
        if record is not None and record.identity.model.label != cell.identity.model.label:
            store.save(structs.replace(record, identity=cell.identity))


def execute_cells(
    ready: Prepared[AnyWork],
    run_one: Callable[..., Record],
    display: Display,
    describe: Callable[[Record], str],
    describe_work: Callable[[Sequence[AnyWork], torch.device], str] = lambda works, device: "",
) -> Summary:
    """Run the cells and record each as it ends; the functions describe a record, and what is run here, in words."""
    waiting, store, skipped, total = ready.waiting, ready.store, ready.skipped, len(ready.cells)
    if skipped:
        display.say(f"{skipped} of {total} cells are already in {store.folder} and skipped (--force runs them again)")
    counts = Counter[str]()
    try:
        if isinstance(ready.backend, LocalProcesses):
            if text := describe_work([item.work for item in waiting], ready.backend.device):
                display.detail(text)
            display.detail(ready.backend.description)
            here = partial(run_one, results=resolve_path(store.folder))
        else:
            display.say(ready.backend.description)
            here = partial(run_remotely, run_one=run_one, results=resolve_path(store.folder))
        ends = execute(waiting, store, ready.backend, here, display)
        with display.running([(item.work.name, item.work.size) for item in waiting]), closing(ends):
            for ended in ends:
                counts[ended.record.status] += 1
                counts["elsewhere"] += not ended.here
                by_whom = "" if ended.here else " (by another process)"
                display.finish(ended.work.name, describe(ended.record) + by_whom)
    except KeyboardInterrupt:
        display.warn(
            f"stopped: {counts['finished'] + skipped} of {total} cells are finished and kept in {store.folder}. "
            "The same command goes on with the rest"
        )
        raise
    if counts["elsewhere"]:
        display.say(f"{total} cells: {skipped} were there, {counts['elsewhere']} were run by other processes meanwhile")
    return Summary(counts["finished"], skipped, counts["failed"], counts["elsewhere"], ready.cells)


def run_remotely(
    cell: Any,
    device: torch.device,
    on_status: Callable[[Status], None],
    *,
    run_one: Callable[..., Record],
    results: Path,
) -> Record:
    """Run a cell on another machine, with checkpoints if it sees the results folder: then it sees the cell's lease."""
    shared = Leases.of(results).is_taken(cell.key)
    return run_one(cell, device, on_status, results=results if shared else None)


def _describe_routing(cells: Sequence[Cell], device: torch.device) -> str:
    """Compile the kernels before the processes start, each of which would compile them otherwise."""
    trained = [cell.method for cell in cells if isinstance(cell.method, Trained)]
    routings = [method.config.routing.implementation for method in trained if method.aggregator != "base"]
    return load_kernels(routings, device) if trained else ""


def load_kernels(routings: Sequence[Implementation], device: torch.device) -> str:
    """Load what trainings with these implementations of routings need, and describe the first of them."""
    if device.type == "cpu":
        native.load_for_training(routing=any(each != "reference" for each in routings))
    return f"routing: {describe_routing(routings[0], device)}" if routings else ""


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


def describe_record(record: Record) -> str:
    """Return the outcome of a probing cell in a line."""
    took = format_seconds(record.timing.seconds)
    if record.scores is None:
        return f"failed after {took}: {record.error}"
    scores = record.scores
    if (coded := scores.description) is not None:
        return f"compression {coded.compression:.2f}, {coded.bits / 1000:.2f} kbit, {took}"
    stuck = f"; {describe_chance(scores)}" if record.never_left_chance else ""
    return (
        f"test {scores.test_accuracy:.2f} (majority {scores.majority_accuracy:.2f}), dev {scores.dev_accuracy:.2f} "
        f"in epoch {scores.best_epoch} of {len(scores.curve)}, {took}, {record.timing.tokens_per_second:,.0f} tokens/s"
        f"{stuck}"
    )
