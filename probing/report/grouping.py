"""Records in groups: a table for each data set and preset, a row for each model, and in it one result for each task.

Results of different data, or of different presets, never share a table.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from probing.errors import ProbingError, unknown
from probing.registry import AGGREGATORS
from probing.results import (
    LABEL_CONTROLS,
    UNTRAINED,
    CellIdentity,
    Control,
    DescriptionLength,
    Record,
    Scores,
    Store,
)
from probing.statistics import Interval, Sample, accuracy_interval, difference_interval, wilson_interval
from probing.tasks import COUNTERPARTS, FAMILIES, TASKS

AVERAGE = "Avg."
"""Name of the column that follows the tasks."""

TRANSLATION = "translation:"
"""Beginning of the registered names of encoders of translation runs."""

LONGEST_MARK = 48
"""Largest number of characters of the settings that tell apart two models of one label."""

Key = TypeVar("Key", bound=Hashable)
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
    interval: Interval
    """95 % interval of the accuracy, as a share."""

    @property
    def gold(self) -> tuple[list[str], Sequence[int]]:
        """Labels, and the index of each test sentence's label; two models are compared only if both agree."""
        return list(self.scores[0].classes), self.scores[0].gold

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
        return wilson_interval(self.majority / 100, len(self.scores[0].gold))


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
    other_records: Sequence[Record]
    """Records of the other measures, failed ones included."""
    controls: Mapping[Control, Mapping[str, TaskResult]]
    """Result on each task with the labels of each control."""
    descriptions: Mapping[str, DescriptionLength]
    """Description length of each task's labels, the mean over seeds."""

    @property
    def bleus(self) -> dict[int, float]:
        """BLEU of the translation run whose encoder is probed, by seed; nothing for any other model."""
        translators = {record.identity.seed: record.identity.translator for record in self.records}
        return {seed: one.bleu for seed, one in sorted(translators.items()) if one and one.bleu is not None}

    def compute_selectivity(self, task: str, control: Control) -> float | None:
        """Return accuracy - control accuracy in percentage points, or None unless both have been measured."""
        if task not in self.results or task not in self.controls[control]:
            return None
        return self.results[task].accuracy - self.controls[control][task].accuracy

    def compute_selectivity_interval(self, task: str, control: Control) -> Interval:
        """Return the 95 % interval of the selectivity, as a share; the two accuracies are of different labels."""
        pair = (self.results[task], self.controls[control][task])
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
    def identity(self) -> CellIdentity:
        """Identity of one cell; all have the same data set and preset."""
        return self.records[0].identity

    @property
    def columns(self) -> list[str]:
        """Columns of the table: the tasks, and their average if there are several."""
        return [*self.families, AVERAGE] if len(self.families) > 1 else list(self.families)

    def find(self, name: str) -> list[ModelResults]:
        """Return the models of this label, or else those of this registered name; case does not matter."""
        wanted = name.lower()
        labelled = [model for model in self.models if model.label.lower() == wanted]
        return labelled or [model for model in self.models if model.name.lower() == wanted]


def load_records(folder: Path, say: Callable[[str], None]) -> list[Record]:
    """Return a folder's records of probing tasks; if it has no accuracies, the error names the command to run.

    A line is said for each damaged file, and one on translations, which have a report of their own.
    """
    found = Store(folder).load(say)
    records = [record for record in found if record.identity.measure != "translation"]
    translations = len(found) - len(records)
    if translations and not records:
        raise ProbingError(f"{folder}: only translations there ({translations}). Use `probe translate report`")
    if not records:
        raise ProbingError(f"{folder}: no results there. Run `probe run --task all --aggregator all` first")
    if all(record.identity.measure != "accuracy" for record in records):
        raise ProbingError(
            f"{folder}: no accuracies there, only controls or description lengths. "
            "Run the same `probe run` command to its end"
        )
    if translations:
        what = "1 translation is" if translations == 1 else f"{translations} translations are"
        say(f"{folder}: {what} left out here. See `probe translate report`")
    return records


def group_results(records: Sequence[Record]) -> list[ResultGroup]:
    """Return a group for every data set and preset; records of other measures join those of accuracy.

    Of a translation run that was trained again with the same seed, only the newest encoder counts.
    """
    groups = []
    for members in _split_by_data(_leave_out_old_runs(records)):
        measured = [record for record in members if record.identity.measure == "accuracy"]
        others = [record for record in members if record.identity.measure != "accuracy"]
        if measured:
            groups.append(ResultGroup(measured, _order_tasks(measured), _make_models(measured, others)))
    return groups


def _leave_out_old_runs(records: Sequence[Record]) -> list[Record]:
    """Return the records without those of translation runs that were trained again with the same seed."""
    every = list(records)
    keys = {id(one): (*_identify_model(one), one.identity.seed) for one in every if one.identity.translator}
    newest: dict[tuple[object, ...], tuple[str, str]] = {}
    for record in every:
        if key := keys.get(id(record)):
            found = (record.timing.finished_at, record.identity.model.version)
            newest[key] = max(newest.get(key, found), found)
    versions = {name: newest[key][1] for name, key in keys.items()}
    return [one for one in every if versions.get(id(one), one.identity.model.version) == one.identity.model.version]


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
    """Return a record's settings, named as section.name, with those of the translation run that was probed.

    How often a failed training may be started again is none of them: seeds of one model can differ in it.
    """
    sections = dict(record.identity.settings)
    if translator := record.identity.translator:
        data = f"{translator.data.name} {translator.data.sha256[:12]}"
        own = {"data": data, "languages": translator.languages, "preset": translator.preset}
        for section, values in translator.settings.items():
            own |= {f"{section}.{name}": value for name, value in values.items()}
        sections["translator"] = own
    flat = {f"{section}.{name}": value for section, values in sections.items() for name, value in values.items()}
    flat.pop("training.retries", None)
    return flat


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
    by_model, others_by_model = _split(records, _identify_model), _split(other_records, _identify_model)
    labels = label_models({key: by_model[key][0] for key in sorted(by_model, key=_order_model)})
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
                controls={
                    control: _make_results([record for record in others if record.identity.measure == control])
                    for control in LABEL_CONTROLS
                },
                descriptions=_make_descriptions(others),
            )
        )
    return models


def _split(records: Sequence[Record], get_key: Callable[[Record], Key]) -> dict[Key, list[Record]]:
    """Return the records of each key."""
    found: dict[Key, list[Record]] = {}
    for record in records:
        found.setdefault(get_key(record), []).append(record)
    return found


def _identify_model(record: Record) -> ModelKey:
    """Return what the seeds of a model have in common; each seed of a translation run is another version."""
    model = record.identity.model
    version = "" if record.identity.translator else model.version
    return model.name, version, repr(flatten_settings(record))


def _order_model(key: ModelKey) -> tuple[int, int, str, str, str]:
    """Return the key by which rows are sorted: built-in aggregators first, an untrained control below its model.

    Translation runs have the order of their aggregators.
    """
    builtins = list(AGGREGATORS.builtins)
    name = key[0].removesuffix(UNTRAINED)
    aggregator = name.removeprefix(TRANSLATION).partition(" ")[0] if name.startswith(TRANSLATION) else ""
    places = [builtins.index(one) if one in builtins else len(builtins) for one in (name, aggregator)]
    return (places[0], places[1], *key)


def label_models(first_records: Mapping[ModelKey, Record]) -> dict[ModelKey, str]:
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
        if len(", ".join(marks)) > LONGEST_MARK:
            marks = [_choose_mark(key, namesakes)]
        labels[key] = f"{label} ({', '.join(marks)})" if marks else label
    return labels


def _choose_mark(key: ModelKey, namesakes: Sequence[ModelKey]) -> str:
    """Return one word that tells a model from others of its label: its registered name, or else its number."""
    names = [other[0] for other in namesakes]
    return key[0] if names.count(key[0]) == 1 else f"#{namesakes.index(key) + 1}"


def _make_results(records: Sequence[Record]) -> dict[str, TaskResult]:
    """Return a model's result on each task that has a finished record."""
    finished = [record for record in records if record.scores is not None]
    by_task = _split(finished, lambda record: record.identity.task)
    return {task: _make_result(members) for task, members in by_task.items()}


def _make_result(members: Sequence[Record]) -> TaskResult:
    """Return a model's result on one task from the finished records of its seeds, which must have the same labels."""
    records = sorted(members, key=lambda record: record.identity.seed)
    scores = [record.scores for record in records if record.scores is not None]
    gold = scores[0].gold
    if any(one.gold != gold or list(one.classes) != list(scores[0].classes) for one in scores):
        identity = records[0].identity
        seeds = ", ".join(str(record.identity.seed) for record in records)
        raise ProbingError(
            f"the records of {identity.task} {identity.model.label}, seeds {seeds}, have different test labels for the "
            "same file. Run the cells again with --force"
        )
    sample = Sample(np.stack([np.asarray(one.predictions) for one in scores]) == gold)
    return TaskResult(records, scores, sample, accuracy_interval(sample))


def _make_descriptions(records: Sequence[Record]) -> dict[str, DescriptionLength]:
    """Return a model's description length on each task where it was measured, the mean over seeds."""
    descriptions = {}
    for task, members in _split(records, lambda record: record.identity.task).items():
        lengths = [one.scores.description for one in members if one.scores and one.scores.description]
        if lengths:
            bits, uniform_bits = statistics.fmean(length.bits for length in lengths), lengths[0].uniform_bits
            compression = uniform_bits / bits if bits else 1.0
            descriptions[task] = DescriptionLength(
                bits=bits, uniform_bits=uniform_bits, compression=compression, pieces=[]
            )
    return descriptions
