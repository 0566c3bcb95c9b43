"""The front door for Python: evaluate an encoder, train the paper's models, look at the results."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from probing.display import Display
from probing.errors import ProbingError
from probing.experiments.options import DataOptions, Experiment, ModelOptions, Place, SettingOptions
from probing.report.formats import render
from probing.report.frame import make_frame, make_wide_frame
from probing.report.grouping import find_model, group_results, load_records
from probing.report.html import render_html
from probing.report.writing import write_file
from probing.results import Record, find_record
from probing.storage import check_path, pausing_garbage_collection
from probing.tasks import get_task, is_spelling

Names = str | Sequence[str]
Seeds = int | Sequence[int]


class Text(str):
    """A text that a Python prompt shows as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True, slots=True)
class Figure:
    """Accuracy of one model on one task, the mean over its seeds."""

    accuracy: float
    """Test accuracy in percent."""
    low: float
    """Lower end of the 95 % interval, in percent."""
    high: float
    """Upper end of the 95 % interval, in percent."""
    seeds: tuple[int, ...]

    def __float__(self) -> float:
        return self.accuracy


@dataclass(frozen=True, slots=True, repr=False)
class Results:
    """Records of some models on some tasks; it shows itself as the comparison table."""

    records: Sequence[Record]

    @classmethod
    def load(cls, folder: str | Path) -> Results:
        """Return the records of a results folder; a damaged record is named in a warning and left out."""
        return cls(_load(folder))

    @property
    def models(self) -> list[str]:
        """Labels of the models, in the table's order."""
        return list(dict.fromkeys(model.label for group in group_results(self.records) for model in group.models))

    @property
    def tasks(self) -> list[str]:
        """Names of the tasks, in the table's order."""
        return list(dict.fromkeys(task for group in group_results(self.records) for task in group.families))

    def table(self, compare: str | None = None, *, against_paper: bool = False, format: str = "table") -> Text:
        """Return the table as text, or as markdown, latex, csv or json; `compare` marks differences from a model."""
        return Text(render(self.records, format, against_paper=against_paper, reference=compare))

    def to_dataframe(self, format: Literal["long", "wide"] = "long") -> pd.DataFrame:
        """Return a DataFrame: long, a row for each cell and seed, or wide, like the table."""
        if format not in ("long", "wide"):
            raise ProbingError(f"format must be 'long' or 'wide'. Got {format!r}")
        return make_frame(self.records) if format == "long" else make_wide_frame(self.records)

    def to_html(
        self, path: str | Path | None = None, *, compare: str | None = None, against_paper: bool = False
    ) -> str:
        """Return the report as one page, and write it to a file if a path is given."""
        page = render_html(self.records, against_paper=against_paper, reference=compare)
        if path is not None:
            write_file(Path(path), f"{page}\n".encode(errors="replace"))
        return page

    def __getitem__(self, key: tuple[str, str]) -> Figure:
        """Return the figure of a model, by its label or registered name, on a task."""
        if not isinstance(key, tuple) or len(key) != 2:
            raise ProbingError(f"results[MODEL, TASK] takes a model and a task. Got {key!r}")
        name, task = key
        task = get_task(task).name if is_spelling(task) else task
        groups = group_results(self.records)
        found = [
            model.results[task] for model in find_model(groups, name) if model is not None and task in model.results
        ]
        if not found:
            raise ProbingError(f"{name} has no result on {task!r}. Tasks: {', '.join(self.tasks)}")
        if len(found) > 1:
            raise ProbingError(f"{name} has results on {task} with several data sets or presets. See table()")
        (result,) = found
        seeds = tuple(record.identity.seed for record in result.records)
        return Figure(result.accuracy, 100 * result.interval.low, 100 * result.interval.high, seeds)

    def __repr__(self) -> str:
        return self.table() if self.records else "no results"

    def _repr_html_(self) -> str:
        """Return the table as a notebook shows it."""
        return render(self.records, "notebook") if self.records else "no results"


def evaluate(
    model: Any,
    *,
    tasks: Names = "all",
    name: str | None = None,
    version: str | None = None,
    tokenizer: Any = None,
    layers: str | int | Sequence[int] = "last",
    pooling: str = "mean",
    texts: bool | None = None,
    encoder_options: Mapping[str, Any] | None = None,
    probe: str = "mlp",
    data: str | Path | None = None,
    seeds: Seeds = 1,
    controls: Names = (),
    baselines: bool = False,
    mdl: bool = False,
    jobs: int | None = None,
    device: str = "auto",
    results: str | Path = "results",
    force: bool = False,
    quiet: bool = False,
) -> Results:
    """Probe an encoder on the tasks and return the results.

    `model` is an object with `encode`, a function, a transformers model with its tokenizer, a path, or a
    specification as of `probe run --encoder`. An object is identified by `name` and `version`; without a version
    its vectors and results are not kept. Models that take strings are recognised by their library or by the
    annotation of `encode`; `texts` says it explicitly. `encoder_options` are options of a model that is named, such as
    {"batch_size": 8, "prompt": "query: {text}"}: see `probe run --help`. `tasks` are names of tasks or "all", `seeds` a
    number of seeds or a list of them.
    """
    options: dict[str, Any] = {"probe": probe, "controls": _list(controls), "baselines": baselines, "mdl": mdl}
    experiment_data = DataOptions(tasks=_list(tasks), data=None if data is None else str(check_path(data)))
    settings = SettingOptions(seeds=_list_seeds(seeds))
    place = Place(results=check_path(results), device=device, jobs=jobs, force=force)
    display = Display(verbosity=-1 if quiet else 0)
    if isinstance(model, str | Path):
        if version is not None or tokenizer is not None or texts is not None:
            raise ProbingError("version, tokenizer and texts go with an object. A path or specification has its own")
        spec = _find_spec(model)
        options["encoders"] = [f"{name}={spec}" if name else spec]
        chosen = {"layer": _spell_layer(layers), "pooling": pooling}
        defaults = {"layer": "last", "pooling": "mean"}
        changed = {option: value for option, value in chosen.items() if value != defaults[option]}
        options["encoder_options"] = {**changed, **(encoder_options or {})}
        return _run(Experiment(models=ModelOptions(**options), data=experiment_data, settings=settings), place, display)
    if encoder_options:
        raise ProbingError("encoder_options go with a path or specification. Set them on the object")
    from probing.encoders import forget_vectors, is_unversioned, make_object_recipe  # they import torch

    recipe = make_object_recipe(
        model, name=name, version=version, tokenizer=tokenizer, layers=layers, pooling=pooling, texts=texts
    )
    options["recipes"] = [recipe]
    experiment = Experiment(models=ModelOptions(**options), data=experiment_data, settings=settings)
    with _keeping_mode(model):
        if not is_unversioned(recipe):
            return _run(experiment, place, display)
        display.say(
            f"{recipe.label} has no version, so its vectors and results are not kept. Give version=… to keep them"
        )
        with tempfile.TemporaryDirectory() as folder:
            try:
                return _run(experiment, Place(results=Path(folder), device=device, jobs=jobs), display)
            finally:
                forget_vectors(recipe.version)


def train(
    aggregators: Names = "all",
    *,
    tasks: Names = "all",
    data: str | Path | None = None,
    preset: str | None = None,
    settings: Mapping[str, Any] | None = None,
    seeds: Seeds = 1,
    controls: Names = (),
    baselines: bool = False,
    mdl: bool = False,
    jobs: int | None = None,
    device: str = "auto",
    results: str | Path = "results",
    force: bool = False,
    quiet: bool = False,
) -> Results:
    """Train the paper's encoder with some aggregators on the tasks and return the results.

    `aggregators` are names as of `probe run --aggregator`, or "all"; `settings` are changes of the preset such as
    {"training.max_epochs": 5}. Cells that are recorded already are not trained again.
    """
    experiment = Experiment(
        models=ModelOptions(aggregators=_list(aggregators), controls=_list(controls), baselines=baselines, mdl=mdl),
        data=DataOptions(tasks=_list(tasks), data=None if data is None else str(check_path(data))),
        settings=SettingOptions(
            preset=preset,
            settings=[f"{key}={_spell_value(value)}" for key, value in (settings or {}).items()],
            seeds=_list_seeds(seeds),
        ),
    )
    place = Place(results=check_path(results), device=device, jobs=jobs, force=force)
    return _run(experiment, place, Display(verbosity=-1 if quiet else 0))


def load_results(folder: str | Path, format: Literal["long", "wide"] = "long") -> pd.DataFrame:
    """Return a results folder as a DataFrame: long, a row for each cell and seed, or wide, like the table."""
    return Results(_load(folder)).to_dataframe(format)


def _load(folder: str | Path) -> list[Record]:
    if not check_path(folder).is_dir():
        raise ProbingError(f"{folder}: there is no such folder. Name one that `probe run --results` wrote")
    damaged: list[str] = []
    with pausing_garbage_collection():
        records = load_records(Path(folder), damaged.append)
    for line in damaged:
        warnings.warn(line, stacklevel=3)  # where the caller of the front door is
    return records


def _run(experiment: Experiment, place: Place, display: Display) -> Results:
    from probing.experiments import running  # imports torch

    cells = running.run(experiment, place, display).cells
    found = (find_record(cell.record_path(place.results), cell.key) for cell in cells)
    return Results([record for record in found if record is not None])


@contextmanager
def _keeping_mode(model: Any) -> Iterator[None]:
    """Put a module back into training mode afterwards if it was in it."""
    module = model[0] if isinstance(model, tuple) else model
    training = getattr(module, "training", False) is True
    try:
        yield
    finally:
        if training:
            module.train()


def _find_spec(model: str | Path) -> str:
    """Return the specification that a path stands for; any other text is a specification already."""
    path = check_path(model)
    if path.is_dir():
        kind = "sentence-transformers" if (path / "modules.json").is_file() else "huggingface"
        return f"{kind}:{path}"
    if path.suffix in (".npy", ".npz", ".safetensors") and path.is_file():
        return f"precomputed:{path}"
    if path.suffix == ".py":
        raise ProbingError(f"{path}: name the encoder in the file, as {path}:MyEncoder")
    return str(model)


def _list(names: Names) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _list_seeds(seeds: Seeds) -> tuple[int, ...]:
    if isinstance(seeds, int):
        if seeds < 1:
            raise ProbingError(f"seeds must be a number of seeds from 1, or a list of them. Got {seeds}")
        return tuple(range(seeds))
    if not seeds:
        raise ProbingError("seeds is empty. Give a number of seeds, or a list of them")
    return tuple(seeds)


def _spell_layer(layers: str | int | Sequence[int]) -> str:
    return str(layers) if isinstance(layers, str | int) else ",".join(map(str, layers))


def _spell_value(value: Any) -> str:
    if isinstance(value, str) or not isinstance(value, Sequence):
        return str(value)
    return ",".join(map(str, value))
