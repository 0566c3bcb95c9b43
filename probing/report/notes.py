"""Doubts about a table, in words: what failed or is missing, what is at chance, what was not trained alike."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator, Sequence

from probing.errors import quote
from probing.report.grouping import Cell, Group, Model, flatten_settings
from probing.results.record import Measure
from probing.statistics.intervals import Interval, wilson_interval

SHARED_SECTIONS = ("model", "training", "probe")
"""The settings that models have in common; those of other sections are a model's own affair."""
NAMED = 6
"""So many items of a list are named; of the others, how many there are."""


def find_doubts(group: Group) -> list[str]:
    """Return what a reader of the table should know before believing it."""
    return [
        *_find_failures(group),
        *_find_gaps(group),
        *_find_unequal_settings(group),
        *_find_chance(group),
        *_find_disagreement(group),
    ]


def find_changed_files(group: Group, groups: Sequence[Group]) -> list[str]:
    """Return a note for each task whose file differs from the one in another table with the same caption."""
    files = {r.identity.task: r.identity.data.sha256 for r in group.results}
    changed = {
        r.identity.task
        for other in groups
        if _named(other) == _named(group)
        for r in other.results
        if files.get(r.identity.task, r.identity.data.sha256) != r.identity.data.sha256
    }
    return [
        f"the file of {task} is the one with SHA-256 {sha256[:12]}; another table has another"
        for task, sha256 in files.items()
        if task in changed
    ]


def _named(group: Group) -> tuple[str, str | None, str]:
    first = group.results[0]
    return first.identity.data.name, first.identity.data.datasheet, first.identity.preset


def _find_failures(group: Group) -> Iterator[str]:
    for model in group.models:
        for result in (*model.results, *model.others):
            if result.status == "failed":
                yield f"{result.identity.task} {model.label} seed {result.identity.seed}{_name(result.identity.measure)} failed: {result.error}"


def _find_gaps(group: Group) -> Iterator[str]:
    """Say which cells are missing for a table without gaps, where every model has every seed of every task.

    The same holds for each other measure that was taken of some model.
    """
    seeds = sorted({result.identity.seed for result in group.results})
    measures = dict.fromkeys(result.identity.measure for model in group.models for result in (*model.results, *model.others))
    gaps, missing = [], 0
    for measure, model, task in itertools.product(measures, group.models, group.families):
        found = (*model.results, *model.others)
        run = {result.identity.seed for result in found if (result.identity.task, result.identity.measure) == (task, measure)}
        if absent := [seed for seed in seeds if seed not in run]:
            missing += len(absent)
            word = "seed" if len(absent) == 1 else "seeds"
            gaps.append(f"{model.label} {task} {word} {', '.join(map(str, absent))}{_name(measure)}")
    if gaps:
        verb = "cell of this table has" if missing == 1 else "cells of this table have"
        yield f"{missing} {verb} not been run: {_list(gaps)}"


def _find_unequal_settings(group: Group) -> Iterator[str]:
    """Say which settings differ between models that have them, unless the rows' labels say it."""
    settings = {model.label: flatten_settings(model.results[0]) for model in group.models}
    names = dict.fromkeys(name for values in settings.values() for name in values)
    differing = []
    for name in names:
        if name.partition(".")[0] not in SHARED_SECTIONS:
            continue
        by_value: dict[str, list[str]] = {}
        for label, values in settings.items():
            if name in values:
                by_value.setdefault(str(values[name]), []).append(label)
        said = all(
            f"{name.partition('.')[2]}={value}" in label for value, labels in by_value.items() for label in labels
        )
        if len(by_value) > 1 and not said:
            found = ", ".join(f"{value} for {_list([*map(quote, labels)], ', ')}" for value, labels in by_value.items())
            differing.append(f"{name} is {found}")
    if differing:
        yield f"the models were not trained alike: {_list(differing)}"


def _find_chance(group: Group) -> Iterator[str]:
    """Say which cells are not above the baseline that always gives the most frequent label."""
    found = []
    for model in group.models:
        tasks = [task for task, cell in _cells(group, model) if cell.interval.low <= cell.majority_interval.high]
        if tasks:
            found.append(f"{model.label} on {', '.join(tasks)}")
    if found:
        yield f"at chance, for the 95 % interval reaches down to the majority's: {_list(found)}"


def _find_disagreement(group: Group) -> Iterator[str]:
    """Say where dev and test accuracy cannot both be right about the same thing."""
    found = []
    for model in group.models:
        for task, cell in _cells(group, model):
            dev = statistics.fmean(scores.dev_accuracy for scores in cell.scores)
            if not _dev_interval(cell, dev).overlaps(cell.interval):
                found.append(f"{model.label} {task} (dev {dev:.2f}, test {cell.accuracy:.2f})")
    if found:
        yield f"dev and test accuracy disagree by more than their 95 % intervals allow: {_list(found)}"


def _name(measure: Measure) -> str:
    return "" if measure == "accuracy" else f" ({measure.replace('-', ' ')})"


def _dev_interval(cell: Cell, dev: float) -> Interval:
    """Return the interval of the mean dev accuracy; records keep no dev predictions, so only over sentences."""
    sentences = sum(counts.dev for counts in cell.scores[0].classes.values())
    return wilson_interval(min(1.0, dev / 100), max(1, sentences))


def _cells(group: Group, model: Model) -> Iterator[tuple[str, Cell]]:
    for task in group.families:
        if task in model.cells:
            yield task, model.cells[task]


def _list(items: Sequence[str], separator: str = "; ") -> str:
    more = len(items) - NAMED
    return separator.join(items[:NAMED]) + (f"{separator}and {more} more" if more > 0 else "")
