"""Notes below a table: failed or missing cells, results at chance, models that were not trained alike."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator, Mapping, Sequence

from probing.errors import quote
from probing.report.chance import find_chance
from probing.report.grouping import ModelResults, ResultGroup, TaskResult, flatten_settings
from probing.report.layers import remove_layer
from probing.report.note import Item, Note, join_some
from probing.results import UNTRAINED, Measure, Record
from probing.statistics import Interval, wilson_interval

SHARED_SECTIONS = ("model", "training", "probe")
"""Sections of settings in which models should be alike; the other sections belong to a single model."""
SPELLED_OUT = 5.0
"""Percentage of spelled-out words above which a note names a translator."""


def find_doubts(group: ResultGroup, swept: Sequence[str] = ()) -> list[str]:
    """Return the notes that a reader of the table should see before believing it.

    `swept` are the settings in which the rows of the table differ on purpose.
    """
    return [
        *_find_failures(group),
        *_find_gaps(group),
        *_find_unequal_settings(group, swept),
        *_find_chance(group),
        *_find_failed_trainings(group),
        *_find_short_trainings(group),
        *_find_disagreement(group),
        *_find_spelled_out(group),
    ]


def find_changed_files(group: ResultGroup, groups: Sequence[ResultGroup]) -> list[str]:
    """Return a note for each task whose file differs from the one in another table with the same caption."""
    files = {record.identity.task: record.identity.data.sha256 for record in group.records}
    namesakes = [other for other in groups if _identify(other) == _identify(group)]
    identities = [record.identity for other in namesakes for record in other.records]
    changed = {
        identity.task
        for identity in identities
        if files.get(identity.task, identity.data.sha256) != identity.data.sha256
    }
    return [
        f"the file of {task} is the one with SHA-256 {sha256[:12]}; another table has another"
        for task, sha256 in files.items()
        if task in changed
    ]


def _identify(group: ResultGroup) -> tuple[str, str | None, str]:
    """Return the data set, the datasheet and the preset, which a caption names."""
    identity = group.identity
    return identity.data.name, identity.data.datasheet, identity.preset


def _list_records(model: ModelResults) -> list[Record]:
    """Return a model's records of all measures."""
    return [*model.records, *model.other_records]


def _find_failures(group: ResultGroup) -> Iterator[Note]:
    """Yield a note for each failed cell."""
    for model in group.models:
        for record in _list_records(model):
            if record.status == "failed":
                cell = f"{record.identity.task} {model.label} seed {record.identity.seed}"
                text = f"{cell}{_describe_measure(record.identity.measure)} failed: {record.error}"
                yield Note("", [_about(model.label, text)])


def _find_gaps(group: ResultGroup) -> Iterator[Note]:
    """Yield a note that names the missing cells: every model should have every seed of every task.

    The same holds for each other measure that was taken of some model.
    """
    seeds = sorted({record.identity.seed for record in group.records})
    measures = dict.fromkeys(record.identity.measure for model in group.models for record in _list_records(model))
    gaps, missing = [], 0
    for measure, model, task in itertools.product(measures, group.models, group.families):
        identities = [record.identity for record in _list_records(model)]
        run = {identity.seed for identity in identities if (identity.task, identity.measure) == (task, measure)}
        if absent := [seed for seed in seeds if seed not in run]:
            missing += len(absent)
            word = "seed" if len(absent) == 1 else "seeds"
            text = f"{model.label} {task} {word} {', '.join(map(str, absent))}{_describe_measure(measure)}"
            gaps.append(_about(model.label, text))
    if gaps:
        verb = "cell of this table has" if missing == 1 else "cells of this table have"
        yield Note(f"{missing} {verb} not been run", gaps)


def _find_unequal_settings(group: ResultGroup, swept: Sequence[str]) -> Iterator[Note]:
    """Yield a note that names the settings in which models differ; those that are swept or in labels are left out."""
    settings = {model.label: flatten_settings(model.records[0]) for model in group.models}
    names = dict.fromkeys(name for values in settings.values() for name in values)
    differing = []
    for name in names:
        if name in swept or name.partition(".")[0] not in SHARED_SECTIONS:
            continue
        by_value: dict[str, list[str]] = {}
        for label, values in settings.items():
            if name in values:
                by_value.setdefault(str(values[name]), []).append(label)
        is_in_labels = all(
            f"{name.partition('.')[2]}={value}" in label for value, labels in by_value.items() for label in labels
        )
        if len(by_value) > 1 and not is_in_labels:
            found = ", ".join(
                f"{value} for {join_some([*map(quote, labels)], ', ')}" for value, labels in by_value.items()
            )
            differing.append(Item(f"{name} is {found}", [*by_value.values()]))
    if differing:
        yield Note("the models were not trained alike", differing)


def _find_chance(group: ResultGroup) -> Iterator[Note]:
    """Yield a note that names the results that are not significantly above the majority baseline."""
    found = [_about(label, f"{label} on {', '.join(tasks)}") for label, tasks in find_chance(group).items()]
    if found:
        yield Note("not distinguishable from always guessing the most frequent label", found)


def _find_failed_trainings(group: ResultGroup) -> Iterator[Note]:
    """Yield notes that name the trainings that never left chance, and those that were started again."""
    records = [(model.label, record) for model in group.models for record in model.records]
    stuck = [_about(label, _name_cell(label, record)) for label, record in records if record.never_left_chance]
    if stuck:
        yield Note("in no epoch significantly better on dev than always guessing the most frequent label", stuck)
    again = [
        _about(label, f"{_name_cell(label, record)} (failed with {', '.join(map(str, record.scores.failed_seeds))})")
        for label, record in records
        if record.scores and record.scores.failed_seeds
    ]
    if again:
        yield Note("started again with another seed, because the training before failed", again)


def _find_short_trainings(group: ResultGroup) -> Iterator[Note]:
    """Yield a note that names the trainings whose best epoch is the last that their settings allow."""
    found = [
        _about(model.label, _name_cell(model.label, record))
        for model in group.models
        for record in model.records
        if record.best_is_last
    ]
    if found:
        allowed = "the last allowed epoch is the best one, so that more epochs could be better (training.max_epochs)"
        yield Note(allowed, found)


def _about(label: str, text: str) -> Item:
    """Return an item of a note that is about a single model."""
    return Item(text, [[label]])


def _name_cell(label: str, record: Record) -> str:
    return f"{label} {record.identity.task} seed {record.identity.seed}"


def _find_disagreement(group: ResultGroup) -> Iterator[Note]:
    """Yield a note that names the results whose dev and test accuracy have intervals that do not overlap."""
    found = []
    for model in group.models:
        for task, result in _list_results(group, model):
            dev = statistics.fmean(scores.dev_accuracy for scores in result.scores)
            if not _compute_dev_interval(result, dev).overlaps(result.interval):
                text = f"{model.label} {task} (dev {dev:.2f}, test {result.accuracy:.2f})"
                found.append(_about(model.label, text))
    if found:
        yield Note("dev and test accuracy disagree by more than their 95 % intervals allow", found)


def _find_spelled_out(group: ResultGroup) -> Iterator[Note]:
    """Yield a note that names the translators whose subwords spell out many words of the tasks."""
    shares: dict[str, dict[str, float]] = {}
    rows: dict[str, dict[str, None]] = {}
    for model in group.models:
        for record in model.records:
            translator = record.identity.translator
            if translator and translator.spelled_out > SPELLED_OUT:
                name = remove_layer(model.label).removesuffix(f",{UNTRAINED}")
                tasks = shares.setdefault(name, {})
                tasks[record.identity.task] = max(translator.spelled_out, tasks.get(record.identity.task, 0.0))
                rows.setdefault(name, {})[model.label] = None
    names: dict[str, list[str]] = {}
    for name, found in shares.items():
        names.setdefault(_spell_shares(found), []).append(name)
    if names:
        yield Note(
            f"more than {SPELLED_OUT:.0f} % of the words are spelled out character by character, because the "
            "translator's subwords do not have them",
            [
                Item(
                    f"{text} for {join_some([*map(quote, some)], ', ')}", [[row for name in some for row in rows[name]]]
                )
                for text, some in names.items()
            ],
        )


def _spell_shares(shares: Mapping[str, float]) -> str:
    """Return the percentages of some tasks; of many, the smallest and the largest."""
    if len(shares) <= 2:
        return ", ".join(f"{share:.1f} % on {task}" for task, share in shares.items())
    low, high = (f"{bound(shares.values()):.1f}" for bound in (min, max))
    return f"{low if low == high else f'{low} to {high}'} % on {len(shares)} tasks"


def _describe_measure(measure: Measure) -> str:
    """Return the name of a measure in brackets, or nothing for accuracy."""
    return "" if measure == "accuracy" else f" ({measure.replace('-', ' ')})"


def _compute_dev_interval(result: TaskResult, dev: float) -> Interval:
    """Return the interval of the mean dev accuracy over sentences alone, because records keep no dev predictions."""
    sentences = sum(counts.dev for counts in result.scores[0].classes.values())
    return wilson_interval(min(1.0, dev / 100), max(1, sentences))


def _list_results(group: ResultGroup, model: ModelResults) -> list[tuple[str, TaskResult]]:
    """Return a model's tasks and results, in the table's order."""
    return [(task, model.results[task]) for task in group.families if task in model.results]
