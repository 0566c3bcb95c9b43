"""Records in groups: a table for each data set and preset, in it a row for each model, in that a cell for each task.

Results of different data, or of different presets, never share a table.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from probing.errors import ProbingError, unknown
from probing.registry import AGGREGATORS
from probing.results.record import DescriptionLength, Record, Scores
from probing.results.store import Store
from probing.statistics.intervals import Interval, accuracy_interval, difference_interval, wilson_interval
from probing.statistics.resampling import Right, Sample
from probing.tasks.table import COUNTERPARTS, FAMILIES, TASKS

AVERAGE = "Avg."
"""The column after the tasks'."""


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """One model on one task: the finished records of its seeds, and which test sentences each has right."""

    records: Sequence[Record]
    scores: Sequence[Scores]
    sample: Sample
    gold: tuple[tuple[str, ...], bytes]
    """The labels, and each test sentence's place among them: what must agree where models are paired."""
    interval: Interval

    @property
    def right(self) -> Right:
        """(seeds, sentences)"""
        return self.sample.right

    @property
    def accuracy(self) -> float:
        """The mean over seeds, in percent."""
        return statistics.fmean(scores.test_accuracy for scores in self.scores)

    @property
    def majority(self) -> float:
        return self.scores[0].majority_accuracy

    @property
    def majority_interval(self) -> Interval:
        return wilson_interval(self.majority / 100, self.right.shape[1])


@dataclass(frozen=True, slots=True)
class MeanDescriptionLength:
    """What one model needs to code the training labels of one task, the mean over seeds."""

    bits: float
    uniform_bits: float

    @property
    def compression(self) -> float:
        return self.uniform_bits / self.bits if self.bits else 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A row: one model with one way of being set up."""

    label: str
    """As tables call it: by what sets it apart from others of the same name."""
    name: str
    """As it is registered."""
    results: Sequence[Record]
    """Of accuracy, with the failed ones."""
    cells: Mapping[str, Cell]
    """By task; what has not been measured is missing."""
    others: Sequence[Record] = ()
    """Of other measures, with the failed ones."""
    controls: Mapping[str, Cell] = field(default_factory=dict)
    """By task: the same model on random labels."""
    descriptions: Mapping[str, MeanDescriptionLength] = field(default_factory=dict)
    """By task."""

    def selectivity(self, task: str) -> float | None:
        """Return accuracy - control accuracy in percentage points, if both have been measured."""
        if task not in self.cells or task not in self.controls:
            return None
        return self.cells[task].accuracy - self.controls[task].accuracy

    def selectivity_interval(self, task: str) -> Interval:
        """Return the interval of the selectivity as a share: the two are measured on different sentences."""
        measured = (self.cells[task], self.controls[task])
        return difference_interval([cell.accuracy / 100 for cell in measured], [cell.interval for cell in measured])


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """What goes into one table."""

    results: Sequence[Record]
    families: Mapping[str, str]
    """Task -> family, in the table's order."""
    models: Sequence[Model]

    @property
    def columns(self) -> list[str]:
        return [*self.families, AVERAGE] if len(self.families) > 1 else list(self.families)

    def find(self, name: str) -> list[Model]:
        """Return the models that a label or a registered name stands for, in any case; labels come first."""
        wanted = name.lower()
        labelled = [model for model in self.models if model.label.lower() == wanted]
        return labelled or [model for model in self.models if model.name.lower() == wanted]


def load_records(folder: Path, on_damaged: Callable[[str], None]) -> list[Record]:
    """Return a folder's records; where there is nothing to report, say what to run."""
    results = Store(folder).load(on_damaged)
    if not results:
        raise ProbingError(f"{folder}: no results there. Run `probe run --task all --aggregator all` first")
    if all(result.identity.measure != "accuracy" for result in results):
        raise ProbingError(
            f"{folder}: no accuracies there, only controls or description lengths. "
            "Run the same `probe run` command to its end"
        )
    return results


def group_results(results: Sequence[Record]) -> list[Group]:
    """Return a group for every data set and preset; records of other measures go with those of accuracy."""
    groups = []
    for members in _split_by_data(results):
        measured = [result for result in members if result.identity.measure == "accuracy"]
        others = [result for result in members if result.identity.measure != "accuracy"]
        if measured:
            groups.append(Group(measured, _order_tasks(measured), _make_models(measured, others)))
    return groups


def find_model(groups: Sequence[Group], name: str) -> list[Model | None]:
    """Return for each group the one model that a name stands for, or none; it must be in one of them."""
    found = [group.find(name) for group in groups]
    if not any(found):
        raise unknown("model", name, dict.fromkeys(model.label for group in groups for model in group.models))
    for models in found:
        if len(models) > 1:
            labels = ", ".join(repr(model.label) for model in models)
            raise ProbingError(f"model {name!r} is not the only one of this name. Choose one of {labels}")
    return [models[0] if models else None for models in found]


def _split_by_data(results: Sequence[Record]) -> list[list[Record]]:
    """Split records so that in each group a task always has the same file."""
    groups: list[tuple[tuple[str, str | None, str], dict[str, str], list[Record]]] = []
    for result in sorted(results, key=lambda r: (r.identity.data.name, r.identity.preset, r.timing.finished_at, r.key)):
        name = (result.identity.data.name, result.identity.data.datasheet, result.identity.preset)
        for group_name, files, members in groups:
            if group_name == name and files.setdefault(result.identity.task, result.identity.data.sha256) == result.identity.data.sha256:
                members.append(result)
                break
        else:
            groups.append((name, {result.identity.task: result.identity.data.sha256}, [result]))
    return [members for _, _, members in groups]


def _order_tasks(results: Sequence[Record]) -> dict[str, str]:
    """Return task -> family, in the order of the paper's table, a user's own tasks last."""
    known = [task.name for task in TASKS + COUNTERPARTS]
    found = {result.identity.task: result.identity.family for result in results}

    def place(task: str) -> tuple[int, int, str]:
        families: Sequence[str] = FAMILIES
        return (families.index(found[task]), known.index(task) if task in known else len(known), task)

    return {task: found[task] for task in sorted(found, key=place)}


def _make_models(results: Sequence[Record], others: Sequence[Record]) -> list[Model]:
    """Return the rows: a model with one way of being set up, labelled by what sets it apart."""
    groups, other_groups = _split_by_model(results), _split_by_model(others)
    builtins = list(AGGREGATORS.builtins)

    def place(key: tuple[str, str, str]) -> tuple[int, str, str, str]:
        name = key[0].removesuffix(" untrained")  # a control stands below its model
        return (builtins.index(name) if name in builtins else len(builtins), *key)

    ordered = sorted(groups, key=place)
    settings = {key: flatten_settings(groups[key][0]) for key in ordered}
    models = []
    for key in ordered:
        label = groups[key][0].identity.model.label
        twins = [settings[other] for other in ordered if groups[other][0].identity.model.label == label]
        differing = [name for name in settings[key] if len({str(twin.get(name)) for twin in twins}) > 1]
        marks = [f"{name.partition('.')[2]}={settings[key][name]}" for name in differing]
        same = [k for k in ordered if k != key and groups[k][0].identity.model.label == label and settings[k] == settings[key]]
        if any(other[0] != key[0] for other in same):
            marks.append(key[0])
        if any(other[0] == key[0] for other in same):
            marks.append(f"version {key[1][:8]}")
        full_label = f"{label} ({', '.join(marks)})" if marks else label
        other = other_groups.get(key, [])
        models.append(
            Model(
                full_label,
                key[0],
                groups[key],
                _make_cells(groups[key]),
                other,
                _make_cells([result for result in other if result.identity.measure == "random-labels"]),
                _make_descriptions(other),
            )
        )
    return models


def _split_by_model(results: Sequence[Record]) -> dict[tuple[str, str, str], list[Record]]:
    groups: dict[tuple[str, str, str], list[Record]] = {}
    spelled: dict[int, str] = {}  # records that were read together share their settings
    for result in results:
        settings = spelled.get(id(result.identity.settings)) or repr(flatten_settings(result))
        spelled[id(result.identity.settings)] = settings
        groups.setdefault((result.identity.model.name, result.identity.model.version, settings), []).append(result)
    return groups


def flatten_settings(result: Record) -> dict[str, object]:
    """Return the settings by section.name."""
    return {f"{section}.{name}": value for section, values in result.identity.settings.items() for name, value in values.items()}


def _make_cells(results: Sequence[Record]) -> dict[str, Cell]:
    by_task: dict[str, list[tuple[Record, Scores]]] = {}
    for result in results:
        if result.scores is not None:
            by_task.setdefault(result.identity.task, []).append((result, result.scores))
    return {task: _make_cell(sorted(pairs, key=lambda pair: pair[0].identity.seed)) for task, pairs in by_task.items()}


def _make_descriptions(results: Sequence[Record]) -> dict[str, MeanDescriptionLength]:
    by_task: dict[str, list[DescriptionLength]] = {}
    for result in results:
        if result.scores is not None and result.scores.description is not None:
            by_task.setdefault(result.identity.task, []).append(result.scores.description)
    return {
        task: MeanDescriptionLength(statistics.fmean(one.bits for one in found), found[0].uniform_bits)
        for task, found in by_task.items()
    }


def _make_cell(pairs: Sequence[tuple[Record, Scores]]) -> Cell:
    first, first_scores = pairs[0]
    labels = list(first_scores.classes)
    for result, scores in pairs:
        if len(scores.gold) != len(scores.predictions) or not scores.gold:
            raise ProbingError(
                f"the record of {result.identity.task} {result.identity.model.label} seed {result.identity.seed} has {len(scores.gold)} test "
                f"labels and {len(scores.predictions)} predictions. Run the cell again with --force"
            )
        if scores.gold != first_scores.gold or list(scores.classes) != labels:
            seeds = ", ".join(str(result.identity.seed) for result, _ in pairs)
            raise ProbingError(
                f"the records of {first.identity.task} {first.identity.model.label}, seeds {seeds}, have different test labels for the "
                "same file. Run the cells again with --force"
            )
    gold = np.asarray(first_scores.gold, dtype=np.int32)
    sample = Sample(np.stack([np.asarray(scores.predictions) for _, scores in pairs]) == first_scores.gold)
    return Cell(
        records=[result for result, _ in pairs],
        scores=[scores for _, scores in pairs],
        sample=sample,
        gold=(tuple(labels), gold.tobytes()),
        interval=accuracy_interval(sample),
    )
