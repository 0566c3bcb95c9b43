"""Records in groups: a table for each data set and preset, a row for each model, and in it one result for each task.

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
from probing.results import UNTRAINED, DescriptionLength, Record, Scores, Store
from probing.statistics import Interval, Right, Sample, accuracy_interval, difference_interval, wilson_interval
from probing.tasks import COUNTERPARTS, FAMILIES, TASKS

AVERAGE = "Avg."
"""Name of the column that follows the tasks."""

ModelKey = tuple[str, str, str]
"""Registered name, version and settings of a model; records that share all three share a row."""


@dataclass(frozen=True, slots=True, eq=False)
class TaskResult:
    """Result of one model on one task: the finished records of all seeds, and the sentences that each has right."""

    records: Sequence[Record]
    """Finished records, ordered by seed."""
    scores: Sequence[Scores]
    """Scores of the records, in the same order."""
    sample: Sample
    """Right and wrong answers of all seeds, from which intervals and paired tests are computed."""
    gold: tuple[tuple[str, ...], bytes]
    """Labels, and the index of each test sentence's label as int32; two models are compared only if both agree."""
    interval: Interval
    """95 % interval of the accuracy, as a share."""

    @property
    def right(self) -> Right:
        """Whether each answer is right, of shape (seeds, sentences)."""
        return self.sample.right

    @property
    def accuracy(self) -> float:
        """Test accuracy in percent, the mean over seeds."""
        return statistics.fmean(scores.test_accuracy for scores in self.scores)

    @property
    def majority(self) -> float:
        """Test accuracy of always guessing the most frequent training label, in percent."""
        return self.scores[0].majority_accuracy

    @property
    def majority_interval(self) -> Interval:
        """95 % interval of the majority baseline, as a share."""
        return wilson_interval(self.majority / 100, self.right.shape[1])


@dataclass(frozen=True, slots=True)
class MeanDescriptionLength:
    """Description length of one task's training labels under one model, the mean over seeds."""

    bits: float
    """Codelength of the labels under the model."""
    uniform_bits: float
    """Codelength of the labels under the uniform code."""

    @property
    def compression(self) -> float:
        """Uniform codelength divided by the model's own."""
        return self.uniform_bits / self.bits if self.bits else 1.0


@dataclass(frozen=True, slots=True, eq=False)
class ModelResults:
    """Results of one model with one set of settings: a row of the table."""

    label: str
    """Name in tables, with whatever distinguishes the model from others of the same label."""
    name: str
    """Registered name."""
    records: Sequence[Record]
    """Records of accuracy, failed ones included."""
    results: Mapping[str, TaskResult]
    """Result on each task; a task without a finished record is missing."""
    other_records: Sequence[Record] = ()
    """Records of the other measures, failed ones included."""
    controls: Mapping[str, TaskResult] = field(default_factory=dict)
    """Result on each task when its labels are random."""
    descriptions: Mapping[str, MeanDescriptionLength] = field(default_factory=dict)
    """Description length of each task's labels."""

    def compute_selectivity(self, task: str) -> float | None:
        """Return accuracy - control accuracy in percentage points, or None unless both have been measured."""
        if task not in self.results or task not in self.controls:
            return None
        return self.results[task].accuracy - self.controls[task].accuracy

    def compute_selectivity_interval(self, task: str) -> Interval:
        """Return the 95 % interval of the selectivity, as a share; the two accuracies are on different sentences."""
        pair = (self.results[task], self.controls[task])
        return difference_interval([result.accuracy / 100 for result in pair], [result.interval for result in pair])


@dataclass(frozen=True, slots=True, eq=False)
class ResultGroup:
    """Results that share one table: those of one data set and preset."""

    records: Sequence[Record]
    """Records of accuracy, failed ones included."""
    families: Mapping[str, str]
    """Family of each task, in the table's order."""
    models: Sequence[ModelResults]
    """Rows of the table, in its order."""

    @property
    def columns(self) -> list[str]:
        """Columns of the table: the tasks, and their average if there are several."""
        return [*self.families, AVERAGE] if len(self.families) > 1 else list(self.families)

    def find(self, name: str) -> list[ModelResults]:
        """Return the models of this label, or else those of this registered name; case does not matter."""
        wanted = name.lower()
        labelled = [model for model in self.models if model.label.lower() == wanted]
        return labelled or [model for model in self.models if model.name.lower() == wanted]


def load_records(folder: Path, on_damaged: Callable[[str], None]) -> list[Record]:
    """Return a folder's records; if it has no accuracies, the error names the command to run."""
    records = Store(folder).load(on_damaged)
    if not records:
        raise ProbingError(f"{folder}: no results there. Run `probe run --task all --aggregator all` first")
    if all(record.identity.measure != "accuracy" for record in records):
        raise ProbingError(
            f"{folder}: no accuracies there, only controls or description lengths. "
            "Run the same `probe run` command to its end"
        )
    return records


def group_results(records: Sequence[Record]) -> list[ResultGroup]:
    """Return a group for every data set and preset; records of other measures join those of accuracy."""
    groups = []
    for members in _split_by_data(records):
        measured = [record for record in members if record.identity.measure == "accuracy"]
        others = [record for record in members if record.identity.measure != "accuracy"]
        if measured:
            groups.append(ResultGroup(measured, _order_tasks(measured), _make_models(measured, others)))
    return groups


def find_model(groups: Sequence[ResultGroup], name: str) -> list[ModelResults | None]:
    """Return each group's model of this label or registered name; at least one group must have it, and only once."""
    found = [group.find(name) for group in groups]
    if not any(found):
        raise unknown("model", name, dict.fromkeys(model.label for group in groups for model in group.models))
    for models in found:
        if len(models) > 1:
            labels = ", ".join(repr(model.label) for model in models)
            raise ProbingError(f"model {name!r} is not the only one of this name. Choose one of {labels}")
    return [models[0] if models else None for models in found]


def flatten_settings(record: Record) -> dict[str, object]:
    """Return a record's settings, named as section.name."""
    sections = record.identity.settings.items()
    return {f"{section}.{name}": value for section, values in sections for name, value in values.items()}


def _split_by_data(records: Sequence[Record]) -> list[list[Record]]:
    """Split records so that a task has the same file throughout a group."""
    groups: list[tuple[tuple[str, str | None, str], dict[str, str], list[Record]]] = []
    for record in sorted(records, key=_order_record):
        task, data = record.identity.task, record.identity.data
        title = (data.name, data.datasheet, record.identity.preset)
        for group_title, files, members in groups:
            if group_title == title and files.setdefault(task, data.sha256) == data.sha256:
                members.append(record)
                break
        else:
            groups.append((title, {task: data.sha256}, [record]))
    return [members for _, _, members in groups]


def _order_record(record: Record) -> tuple[str, str, str, str]:
    """Return the key by which records are sorted before they are grouped."""
    return record.identity.data.name, record.identity.preset, record.timing.finished_at, record.key


def _order_tasks(records: Sequence[Record]) -> dict[str, str]:
    """Return the family of each task, in the order of the paper's table; a user's own tasks come last."""
    known = [task.name for task in TASKS + COUNTERPARTS]
    found = {record.identity.task: record.identity.family for record in records}

    def order(task: str) -> tuple[int, int, str]:
        families: Sequence[str] = FAMILIES
        return (families.index(found[task]), known.index(task) if task in known else len(known), task)

    return {task: found[task] for task in sorted(found, key=order)}


def _make_models(records: Sequence[Record], other_records: Sequence[Record]) -> list[ModelResults]:
    """Return the rows of a table, in its order."""
    by_model, others_by_model = _split_by_model(records), _split_by_model(other_records)
    labels = _label_models({key: by_model[key][0] for key in sorted(by_model, key=_order_model)})
    models = []
    for key, label in labels.items():
        others = others_by_model.get(key, [])
        models.append(
            ModelResults(
                label=label,
                name=key[0],
                records=by_model[key],
                results=_make_results(by_model[key]),
                other_records=others,
                controls=_make_results([record for record in others if record.identity.measure == "random-labels"]),
                descriptions=_make_descriptions(others),
            )
        )
    return models


def _split_by_model(records: Sequence[Record]) -> dict[ModelKey, list[Record]]:
    """Return the records of each model."""
    by_model: dict[ModelKey, list[Record]] = {}
    spelled: dict[int, str] = {}  # records that were read together share their settings
    for record in records:
        identity = record.identity
        settings = spelled.get(id(identity.settings)) or repr(flatten_settings(record))
        spelled[id(identity.settings)] = settings
        by_model.setdefault((identity.model.name, identity.model.version, settings), []).append(record)
    return by_model


def _order_model(key: ModelKey) -> tuple[int, str, str, str]:
    """Return the key by which rows are sorted: built-in aggregators first, an untrained control below its model."""
    builtins = list(AGGREGATORS.builtins)
    name = key[0].removesuffix(UNTRAINED)
    return (builtins.index(name) if name in builtins else len(builtins), *key)


def _label_models(first_records: Mapping[ModelKey, Record]) -> dict[ModelKey, str]:
    """Return the label of each model, with whatever distinguishes it from others of the same label."""
    settings = {key: flatten_settings(record) for key, record in first_records.items()}
    labels = {}
    for key, record in first_records.items():
        label = record.identity.model.label
        namesakes = [other for other, first in first_records.items() if first.identity.model.label == label]
        differing = [name for name in settings[key] if len({str(settings[one].get(name)) for one in namesakes}) > 1]
        marks = [f"{name.partition('.')[2]}={settings[key][name]}" for name in differing]
        alike = [other for other in namesakes if other != key and settings[other] == settings[key]]
        if any(other[0] != key[0] for other in alike):
            marks.append(key[0])
        if any(other[0] == key[0] for other in alike):
            marks.append(f"version {key[1][:8]}")
        labels[key] = f"{label} ({', '.join(marks)})" if marks else label
    return labels


def _make_results(records: Sequence[Record]) -> dict[str, TaskResult]:
    """Return a model's result on each task that has a finished record."""
    by_task: dict[str, list[tuple[Record, Scores]]] = {}
    for record in records:
        if record.scores is not None:
            by_task.setdefault(record.identity.task, []).append((record, record.scores))
    return {
        task: _make_result(sorted(pairs, key=lambda pair: pair[0].identity.seed)) for task, pairs in by_task.items()
    }


def _make_descriptions(records: Sequence[Record]) -> dict[str, MeanDescriptionLength]:
    """Return a model's description length on each task where it was measured."""
    by_task: dict[str, list[DescriptionLength]] = {}
    for record in records:
        if record.scores is not None and record.scores.description is not None:
            by_task.setdefault(record.identity.task, []).append(record.scores.description)
    return {
        task: MeanDescriptionLength(statistics.fmean(length.bits for length in lengths), lengths[0].uniform_bits)
        for task, lengths in by_task.items()
    }


def _make_result(pairs: Sequence[tuple[Record, Scores]]) -> TaskResult:
    """Return a model's result on one task from the finished records of its seeds, which must have the same labels."""
    first, first_scores = pairs[0]
    labels = list(first_scores.classes)
    for record, scores in pairs:
        identity = record.identity
        if len(scores.gold) != len(scores.predictions) or not scores.gold:
            raise ProbingError(
                f"the record of {identity.task} {identity.model.label} seed {identity.seed} has {len(scores.gold)} "
                f"test labels and {len(scores.predictions)} predictions. Run the cell again with --force"
            )
        if scores.gold != first_scores.gold or list(scores.classes) != labels:
            seeds = ", ".join(str(record.identity.seed) for record, _ in pairs)
            raise ProbingError(
                f"the records of {first.identity.task} {first.identity.model.label}, seeds {seeds}, have different "
                "test labels for the same file. Run the cells again with --force"
            )
    gold = np.asarray(first_scores.gold, dtype=np.int32)
    sample = Sample(np.stack([np.asarray(scores.predictions) for _, scores in pairs]) == first_scores.gold)
    return TaskResult(
        records=[record for record, _ in pairs],
        scores=[scores for _, scores in pairs],
        sample=sample,
        gold=(tuple(labels), gold.tobytes()),
        interval=accuracy_interval(sample),
    )
