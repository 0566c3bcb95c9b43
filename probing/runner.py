"""Plan the cells (task x model x seed), skip the finished ones, run the others, record each."""

from __future__ import annotations

import dataclasses
import itertools
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from probing.aggregators.implementation import describe as describe_routing
from probing.backends import Backend, check_backend, choose_backend
from probing.cells import Cell, run_cell
from probing.config import Config, resolve_config
from probing.corpus.source import Source, choose_source, own_files
from probing.dataset import IndexedTask, load_task
from probing.display import Display, format_seconds
from probing.encoders.encoder import Recipe
from probing.errors import ProbingError
from probing.estimates import Plan, make_plan, try_out
from probing.execution import Waiting, execute, find_waiting, rename_rows, run_far_away
from probing.methods import Probed, Trained
from probing.model.description import Description
from probing.model.description import describe as describe_model
from probing.registry import AGGREGATORS
from probing.results import DataIdentity, Measure, Result, Store
from probing.rows import Row, choose_measures, choose_rows
from probing.tasks import Task
from probing.training import pick_device
from probing.vectors import Entry, embed
from probing.workers import Workers

MOST_SEED = 2**32 - 1


@dataclass(frozen=True, slots=True)
class Summary:
    """How a run ended, in cells."""

    finished: int
    skipped: int
    failed: int
    elsewhere: int = 0
    """How many of the finished and failed ones were run by other processes on the same results folder."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The cells of a run, or of a shard of it, and what makes the vectors of the frozen ones."""

    cells: list[Cell]
    recipes: dict[Path, Recipe]
    device: torch.device

    def take(self, shard: tuple[int, int] | None) -> Chosen:
        """Return one of several parts: the same at every time, of equal sizes, each with some of every kind."""
        if shard is None:
            return self
        number, count = shard
        keys = sorted(cell.key for cell in self.cells)[number - 1 :: count]
        return dataclasses.replace(self, cells=[cell for cell in self.cells if cell.key in keys])


@dataclass(frozen=True, slots=True)
class _Prepared:
    chosen: Chosen
    store: Store
    waiting: list[Waiting]
    backend: Backend

    @property
    def skipped(self) -> int:
        return len(self.chosen.cells) - len(self.waiting)


def run(*, results: Path = Path("results"), display: Display | None = None, **options: Any) -> Summary:
    """Train and score what the options of `prepare` and `choose_cells` name; recorded cells are skipped."""
    display = display or Display()
    with display.listening(), writable(results):
        ready = prepare(results=results, display=display, **options)
        rename_rows(ready.chosen.cells, ready.store)
        _embed([item.cell for item in ready.waiting], ready.chosen.recipes, ready.chosen.device, display)
        return _execute(ready, display)


def plan(*, display: Display | None = None, **options: Any) -> Plan:
    """Return what `run` would do with the same options, and how long it would take."""
    display = display or Display()
    with display.listening():
        ready = prepare(display=display, **options)
        with ready.backend.open(run_cell, len(ready.waiting), display.update) as slots:
            at_a_time = slots.count
        return make_plan(
            ready.chosen.cells,
            ready.waiting,
            ready.store,
            device=str(ready.backend.device),
            at_a_time=at_a_time,
            trial=partial(_try_out, backend=ready.backend, display=display),
        )


def _try_out(cell: Cell, *, backend: Backend, display: Display) -> float | None:
    if not isinstance(backend, Workers):  # a cluster's machines are not this one
        return None
    display.say(f"trying {cell.name} for some steps; nothing is kept of it")
    return try_out(cell, backend.device, backend.threads)


def prepare(
    *,
    results: Path = Path("results"),
    force: bool = False,
    shard: tuple[int, int] | None = None,
    jobs: int | None = None,
    backend: str = "loky",
    address: str | None = None,
    gpus_per_cell: float = 0.0,
    display: Display,
    **what: Any,
) -> _Prepared:
    """Return the cells, those of them that are to be run, and where."""
    check_backend(backend, address=address, gpus_per_cell=gpus_per_cell)  # before any file is read
    chosen, store = choose_cells(display=display, **what).take(shard), Store(results)
    place = choose_backend(
        backend,
        address=address,
        gpus_per_cell=gpus_per_cell,
        jobs=jobs,
        num_cells=len(chosen.cells),
        device=chosen.device,
    )
    return _Prepared(chosen, store, find_waiting(chosen.cells, store, force=force, on_damaged=display.warn), place)


def choose_cells(
    tasks: Sequence[str] = (),
    aggregators: Sequence[str] | None = None,
    encoders: Sequence[str] = (),
    *,
    layer: str | None = None,
    pooling: str | None = None,
    dtype: str | None = None,
    probe: str | None = None,
    fine_tune: bool = False,
    controls: Sequence[str] = (),
    baselines: bool = False,
    mdl: bool = False,
    data: str | None = None,
    data_dir: Path | None = None,
    task_files: Sequence[Path] = (),
    preset: str | None = None,
    config_file: Path | None = None,
    settings: Sequence[str] = (),
    seeds: Sequence[int] = (0,),
    device: str = "auto",
    display: Display,
) -> Chosen:
    """Return a cell for each task, aggregator or encoder, and seed; every file is read and checked on the way.

    Seed by seed: a run that is stopped leaves the whole table of the seeds that it came to.
    """
    chosen_device = pick_device(device)
    for seed in seeds:
        if not 0 <= seed <= MOST_SEED:
            raise ProbingError(f"a seed must be a whole number from 0 to {MOST_SEED}. Got {seed}")
    rows = choose_rows(
        aggregators,
        encoders,
        layer=layer,
        pooling=pooling,
        dtype=dtype,
        probe=probe,
        fine_tune=fine_tune,
        controls=controls,
        baselines=baselines,
    )
    measures = choose_measures(controls, mdl=mdl)
    cells: list[Cell] = []
    recipes: dict[Path, Recipe] = {}
    for source in _choose_sources(tasks, data, data_dir, task_files):
        used_preset = preset or source.preset
        config = resolve_config(used_preset, config_file=config_file, settings=settings)
        loaded = {task: _load(path, display) for task, path in source.files.items()}
        display.say(f"data: {source.name} ({source.reason}); preset: {used_preset}; device: {chosen_device}")
        for cell, recipe in _plan(source, loaded, rows, measures, used_preset, config, seeds, display):
            cells.append(cell)
            if recipe is not None and isinstance(cell.method, Probed):
                recipes[cell.method.vectors.folder] = recipe
    cells.sort(key=lambda cell: seeds.index(cell.seed))
    return Chosen(cells, recipes, chosen_device)


def _load(path: Path, display: Display) -> IndexedTask:
    with display.measuring(f"reading {path.name}, percent") as on_share:
        return load_task(path, on_share)


def _embed(waiting: Sequence[Cell], recipes: dict[Path, Recipe], device: torch.device, display: Display) -> None:
    """Compute the frozen vectors that cells wait for; each encoder is loaded once, for all its tasks."""
    missing: dict[int, dict[Path, tuple[Recipe, Cell, Entry]]] = {}
    for cell in waiting:
        if isinstance(cell.method, Probed) and not cell.method.vectors.is_complete:
            entry = cell.method.vectors
            recipe = recipes[entry.folder]
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
    """Run the cells and record each as it comes."""
    waiting, store, skipped, total = ready.waiting, ready.store, ready.skipped, len(ready.chosen.cells)
    if skipped:
        display.say(f"{skipped} of {total} cells are already in {store.folder} and skipped (--force runs them again)")
    counts = Counter[str]()
    try:
        if isinstance(ready.backend, Workers):
            _compile(waiting, ready.backend.device, display)
            display.detail(ready.backend.description)
            run_one = partial(run_cell, results=store.folder.resolve())
        else:
            display.say(ready.backend.description)
            run_one = partial(run_far_away, results=store.folder.resolve())
        ends = execute(waiting, store, ready.backend, run_one, display)
        cells = [(item.cell.name, item.cell.path.stat().st_size) for item in waiting]
        with display.running(cells), closing(ends):
            for ended in ends:
                counts[ended.result.status] += 1
                counts["elsewhere"] += not ended.here
                by_whom = "" if ended.here else " (by another process)"
                display.finish(ended.cell.name, _describe_result(ended.result) + by_whom)
    except KeyboardInterrupt:
        display.warn(
            f"stopped: {counts['finished'] + skipped} of {total} cells are finished and kept in {store.folder}. "
            "The same command goes on with the rest"
        )
        raise
    if counts["elsewhere"]:
        display.say(f"{total} cells: {skipped} were there, {counts['elsewhere']} were run by other processes meanwhile")
    return Summary(counts["finished"], skipped, counts["failed"], counts["elsewhere"])


def _compile(waiting: Sequence[Waiting], device: torch.device, display: Display) -> None:
    """Compile the routing before the workers start, each of which would do it otherwise."""
    trained = [item.cell.method for item in waiting if isinstance(item.cell.method, Trained)]
    if routed := [method for method in trained if method.aggregator != "base"]:
        display.detail(f"routing: {describe_routing(routed[0].config.routing.implementation, device)}")


def _choose_sources(
    tasks: Sequence[str], data: str | None, data_dir: Path | None, task_files: Sequence[Path]
) -> list[Source]:
    sources = []
    if tasks or not task_files:
        sources.append(choose_source(tasks or ["all"], data=data, data_dir=data_dir))
    if task_files:
        sources.append(own_files(task_files))
    return sources


def _plan(
    source: Source,
    loaded: Mapping[Task, IndexedTask],
    rows: Sequence[Row],
    measures: Sequence[Measure],
    preset: str,
    config: Config,
    seeds: Sequence[int],
    display: Display,
) -> Iterator[tuple[Cell, Recipe | None]]:
    """Yield the cells."""
    for task, path in source.files.items():
        data = loaded[task]
        verified = None
        if source.name == "senteval" and task.blob:
            verified = data.blob == task.blob
            if not verified:
                display.warn(f"warning: {path} is not SentEval's published file (git blob {data.blob[:12]})")
        identity = DataIdentity(
            name=source.name, file=path.name, sha256=data.sha256, verified=verified, datasheet=source.datasheet
        )
        for measure, row, seed in itertools.product(measures, rows, dict.fromkeys(seeds)):
            cell = Cell(
                task=task,
                path=path,
                data=identity,
                method=row.method(data, config, seed),
                model=row.identity,
                preset=preset,
                seed=seed,
                measure=measure,
            )
            yield cell, row.recipe and row.recipe(seed)


@contextmanager
def writable(results: Path) -> Iterator[None]:
    """Make the folder of the results, unless it is there, and take it away again if nothing comes into it."""
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


def _describe_result(result: Result) -> str:
    took = format_seconds(result.timing.seconds)
    if result.scores is None:
        return f"failed after {took}: {result.error}"
    scores = result.scores
    if (coded := scores.description) is not None:
        return f"compression {coded.compression:.2f}, {coded.bits / 1000:.2f} kbit, {took}"
    return (
        f"test {scores.test_accuracy:.2f} (majority {scores.majority_accuracy:.2f}), dev {scores.dev_accuracy:.2f} "
        f"in epoch {scores.best_epoch} of {len(scores.curve)}, {took}, {result.timing.tokens_per_second:,.0f} tokens/s"
    )


def describe(
    aggregator: str,
    *,
    preset: str,
    config_file: Path | None = None,
    settings: Sequence[str] = (),
    vocabulary_size: int,
    num_classes: int,
) -> Description:
    """Describe the model that a preset and some settings make."""
    found = AGGREGATORS.find(aggregator)
    config = resolve_config(preset, config_file=config_file, settings=settings)
    sizes = dataclasses.asdict(config.model)
    return describe_model(
        found.object, name=found.name, vocabulary_size=vocabulary_size, num_classes=num_classes, **sizes
    )
