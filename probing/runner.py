"""Plan the cells (task x model x seed), skip the finished ones, run the others, record each."""

from __future__ import annotations

import dataclasses
import datetime
import platform
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from probing import __version__, training
from probing.aggregators.implementation import describe as describe_routing
from probing.config import Config, resolve_config
from probing.corpus.source import Source, choose_source, own_files
from probing.dataset import SPLITS, IndexedTask, Integers, load_task
from probing.display import Display, Status, format_seconds
from probing.errors import ProbingError
from probing.model.classifier import Classifier, build_classifier
from probing.model.description import Description
from probing.model.description import describe as describe_model
from probing.registry import AGGREGATORS, COMPARED, Found
from probing.results import DataIdentity, ModelIdentity, Result, Scores, Store, Timing, make_key, read_result
from probing.tasks import Task
from probing.training import pick_device
from probing.workers import Workers


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One model to be trained and scored on one task with one seed; small enough to be sent to a worker."""

    task: Task
    path: Path
    data: DataIdentity
    aggregator: str
    """What the user named: a built-in, an entry point, `module:Name` or `file.py:Name`."""
    model: ModelIdentity
    preset: str
    config: Config
    seed: int

    @property
    def name(self) -> str:
        own = " (own file)" if self.data.name == "own" and self.task.family != "own" else ""
        return f"{self.task.name}{own} {self.model.label} seed {self.seed}"

    @property
    def key(self) -> str:
        return make_key(
            data=self.data,
            task=self.task.name,
            model=self.model,
            preset=self.preset,
            settings=self.config.as_dict(),
            seed=self.seed,
        )

    def record_path(self, store: Store) -> Path:
        return store.path(
            data=self.data.name,
            task=self.task.name,
            model=self.model.name,
            preset=self.preset,
            seed=self.seed,
            key=self.key,
        )


@dataclass(frozen=True, slots=True)
class Summary:
    """How a run ended, in cells."""

    finished: int
    skipped: int
    failed: int


def run(
    tasks: Sequence[str] = (),
    aggregators: Sequence[str] = ("all",),
    *,
    data: str | None = None,
    data_dir: Path | None = None,
    task_files: Sequence[Path] = (),
    preset: str | None = None,
    config_file: Path | None = None,
    settings: Sequence[str] = (),
    seeds: Sequence[int] = (0,),
    device: str = "auto",
    jobs: int | None = None,
    results: Path = Path("results"),
    force: bool = False,
    display: Display | None = None,
) -> Summary:
    """Train and score one model per task, aggregator and seed; cells that are already recorded are skipped."""
    display = display or Display()
    with display.listening():
        chosen_device = pick_device(device)
        models = find_models(aggregators)
        cells: list[Cell] = []
        for source in _choose_sources(tasks, data, data_dir, task_files):
            used_preset = preset or source.preset
            config = resolve_config(used_preset, config_file=config_file, settings=settings)
            display.say(f"data: {source.name} ({source.reason}); preset: {used_preset}; device: {chosen_device}")
            cells += _plan(source, models, used_preset, config, seeds, display)
        store = Store(results)
        _check_writable(store)
        waiting = [cell for cell in cells if force or not _is_finished(cell, store)]
        workers = Workers.choose(jobs, num_cells=len(cells), device=chosen_device)
        return _execute(waiting, store, workers, display, skipped=len(cells) - len(waiting))


def _execute(waiting: Sequence[Cell], store: Store, workers: Workers, display: Display, *, skipped: int) -> Summary:
    """Run the cells and record each as it comes."""
    total = len(waiting) + skipped
    if skipped:
        display.say(f"{skipped} of {total} cells are already in {store.folder} and skipped (--force runs them again)")
    counts = Counter[str]()
    try:
        if routed := [cell for cell in waiting if cell.model.name != "base"]:  # compile once, before the workers
            display.detail(f"routing: {describe_routing(routed[0].config.routing.implementation, workers.device)}")
        display.detail(f"{workers.jobs} cells at a time, {workers.threads} threads each")
        with display.running(len(waiting)):
            for cell, result in workers.execute(run_cell, waiting, display.update):
                store.save(result)
                counts[result.status] += 1
                display.finish(cell.name, _describe_result(result))
    except KeyboardInterrupt:
        display.warn(
            f"stopped: {counts['finished'] + skipped} of {total} cells are finished and kept in {store.folder}. "
            "The same command goes on with the rest"
        )
        raise
    return Summary(counts["finished"], skipped, counts["failed"])


def find_models(aggregators: Sequence[str]) -> dict[str, ModelIdentity]:
    """Return the models that the aggregators' specifications name; importing them is the check."""
    names = [part.strip() for spec in aggregators for part in spec.split(",")]
    specs = [spec for name in names for spec in (COMPARED if name.lower() == "all" else [name])]
    if not all(specs) or not specs:
        raise ProbingError("no aggregator was named. Name one, or 'all': see `probe aggregators`")
    models = {}
    for spec in specs:
        found = AGGREGATORS.find(spec)
        models[spec] = ModelIdentity(name=found.name, label=found.label, version=found.version)
    return models


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
    models: Mapping[str, ModelIdentity],
    preset: str,
    config: Config,
    seeds: Sequence[int],
    display: Display,
) -> list[Cell]:
    """Read and check every file before anything is trained, and return the cells."""
    cells = []
    for task, path in source.files.items():
        data = load_task(path)
        verified = None
        if source.name == "senteval" and task.blob:
            verified = data.blob == task.blob
            if not verified:
                display.warn(f"warning: {path} is not SentEval's published file (git blob {data.blob[:12]})")
        identity = DataIdentity(
            name=source.name, file=path.name, sha256=data.sha256, verified=verified, datasheet=source.datasheet
        )
        cells += [
            Cell(
                task=task,
                path=path,
                data=identity,
                aggregator=spec,
                model=model,
                preset=preset,
                config=config,
                seed=seed,
            )
            for spec, model in models.items()
            for seed in dict.fromkeys(seeds)
        ]
    return cells


def _check_writable(store: Store) -> None:
    try:
        store.folder.mkdir(parents=True, exist_ok=True)
        probe = store.folder / ".writable"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ProbingError(f"--results {store.folder}: results cannot be written there ({error.strerror})") from None


def _is_finished(cell: Cell, store: Store) -> bool:
    path = cell.record_path(store)
    if not path.is_file():
        return False
    try:
        result = read_result(path)
    except ProbingError:
        return False
    return result.key == cell.key and result.status == "finished"


def run_cell(cell: Cell, device: torch.device, on_status: Callable[[Status], None]) -> Result:
    """Train and score one cell; a training that breaks down gives a failed record."""
    started = time.monotonic()
    scores, error, tokens = None, None, 0
    try:
        scores, tokens = _train_and_score(cell, device, on_status)
    except training.NonFiniteLossError as problem:
        error = str(problem)
    seconds = time.monotonic() - started
    return Result(
        task=cell.task.name,
        family=cell.task.family,
        seed=cell.seed,
        preset=cell.preset,
        data=cell.data,
        model=cell.model,
        settings=cell.config.as_dict(),
        status="failed" if error else "finished",
        error=error,
        scores=scores,
        timing=Timing(
            seconds=round(seconds, 3),
            tokens_per_second=round(tokens / seconds, 1),
            finished_at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        ),
        where={
            "probing": __version__,
            "torch": torch.__version__,
            "python": platform.python_version(),
            "device": str(device),
            "threads": torch.get_num_threads(),
        },
        key=cell.key,
    )


def _train_and_score(cell: Cell, device: torch.device, on_status: Callable[[Status], None]) -> tuple[Scores, int]:
    task = load_task(cell.path)
    if task.sha256 != cell.data.sha256:
        raise ProbingError(f"{cell.path}: the file changed while the run went on. Start the run again")
    settings = dataclasses.asdict(cell.config.training)
    vocabulary_size = task.vocabulary_size(
        min_frequency=settings.pop("min_frequency"), max_vocabulary=settings.pop("max_vocabulary")
    )
    splits = {name: task.limit(name, vocabulary_size) for name in SPLITS}
    torch.manual_seed(cell.seed)
    if device.type == "cuda":
        torch.use_deterministic_algorithms(True, warn_only=True)
    found = AGGREGATORS.find(cell.aggregator)
    model = build_model(found, cell.config, vocabulary_size=vocabulary_size, num_classes=len(task.labels)).to(device)
    started = time.monotonic()

    def report(progress: training.Progress) -> None:
        on_status(_status(cell, progress, time.monotonic() - started))

    outcome = training.train(
        model, splits["tr"], splits["va"], seed=cell.seed, device=device, on_progress=report, **settings
    )
    predictions = training.predict(model, splits["te"], device)
    return Scores(
        dev_accuracy=outcome.dev_accuracy,
        test_accuracy=training.accuracy(predictions, splits["te"]),
        majority_accuracy=task.majority_accuracy("te"),
        best_epoch=outcome.best_epoch,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        vocabulary_size=vocabulary_size,
        curve=[dataclasses.asdict(epoch) for epoch in outcome.curve],
        classes=_count_classes(task, predictions),
        gold=splits["te"].labels.tolist(),
        predictions=predictions.tolist(),
    ), outcome.tokens


def _status(cell: Cell, progress: training.Progress, seconds: float) -> Status:
    return Status(
        cell=cell.name,
        epoch=progress.epoch,
        max_epochs=progress.max_epochs,
        fraction=(progress.epoch - 1 + progress.fraction) / progress.max_epochs,
        loss=progress.loss,
        dev_accuracy=progress.dev_accuracy,
        tokens_per_second=progress.tokens / max(seconds, 1e-9),
        epoch_ended=progress.epoch_ended,
    )


def _count_classes(task: IndexedTask, predictions: Integers) -> dict[str, dict[str, int]]:
    """Return each label's instances by split, and how many of its test instances were right."""
    gold = task.splits["te"].labels
    columns = {name: task.class_counts(split) for split, name in SPLITS.items()}
    columns["right"] = np.bincount(gold[gold == predictions], minlength=len(task.labels))
    return {
        label: {name: int(counts[number]) for name, counts in columns.items()}
        for number, label in enumerate(task.labels)
    }


def build_model(aggregator: Found, config: Config, *, vocabulary_size: int, num_classes: int) -> Classifier:
    """Build the classifier that a configuration describes."""
    settings: dict[str, Any] = dataclasses.asdict(config.model) | dataclasses.asdict(config.routing)
    return build_classifier(aggregator.object, vocabulary_size=vocabulary_size, num_classes=num_classes, **settings)


def _describe_result(result: Result) -> str:
    took = format_seconds(result.timing.seconds)
    if result.scores is None:
        return f"failed after {took}: {result.error}"
    scores = result.scores
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
