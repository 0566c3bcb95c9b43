"""Accuracy by phenomenon of the constructed language: intervals and paired tests are those of the probing tasks."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from probing.corpus.language import PHENOMENA
from probing.report.blocks import ARROWS_MEAN, NOTHING, Statement, add_method
from probing.report.significance import TESTS, Verdict, judge
from probing.report.translation.grouping import TranslationGroup, TranslationSystem
from probing.results import ABSENT, RIGHT
from probing.statistics import (
    Comparison,
    Interval,
    Sample,
    SeedPrior,
    accuracy_interval,
    average_comparisons,
    average_interval,
    compare,
    learn_seeds,
)
from probing.translation.settings import ATTENTIONS

AVERAGE = "average"
"""Name of the row that has the mean over an attention's phenomena."""


@dataclass(frozen=True, slots=True)
class PhenomenonScore:
    """Share of the sentences with a phenomenon in which a system has all of it right, in percent."""

    mean: float
    low: float
    """Lower end of the 95 % interval."""
    high: float
    """Upper end of the 95 % interval."""

    @property
    def half(self) -> float:
        """Half of the 95 % interval."""
        return (self.high - self.low) / 2


@dataclass(frozen=True, slots=True, eq=False)
class PhenomenonRow:
    """A phenomenon, or the average of an attention's phenomena, and how well each system translates it."""

    attention: str
    """Attention that has to do the work."""
    name: str
    sentences: int
    """Number of test sentences that have the phenomenon; for an average, the number of phenomena."""
    scores: Mapping[str, PhenomenonScore]
    """Score of each system, by its label."""
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    """Comparison of each system with the baseline, by its label."""

    @property
    def is_average(self) -> bool:
        """Whether the row is the average of an attention's phenomena."""
        return self.name == AVERAGE

    @property
    def description(self) -> str:
        """Explanation of the phenomenon in a sentence."""
        if self.is_average:
            return f"Mean over the {self.sentences} phenomena of {self.attention}."
        return PHENOMENA[self.name].description


def score_phenomena(group: TranslationGroup) -> list[PhenomenonRow]:
    """Return a row for each phenomenon that the group's test set has, and one for the average of each attention.

    A system that was not judged, or on other sentences than the first, is left out. P-values are corrected over all
    rows and systems (Holm).
    """
    samples = _collect_samples(group)
    if not samples:
        return []
    names = [name for name in PHENOMENA if name in next(iter(samples.values()))]
    comparisons = _compare_systems(group, samples, names)
    verdicts = judge(comparisons)
    rows = []
    for attention in ATTENTIONS:
        members = [name for name in names if PHENOMENA[name].attention == attention]
        for name in members:
            size = next(iter(samples.values()))[name].right.shape[1]
            scores = {label: _score(found[name]) for label, found in samples.items()}
            rows.append(PhenomenonRow(attention, name, size, scores, _select(verdicts, attention, name)))
        if members:
            scores = {label: _average([found[name] for name in members]) for label, found in samples.items()}
            rows.append(PhenomenonRow(attention, AVERAGE, len(members), scores, _select(verdicts, attention, AVERAGE)))
    return rows


def explain_phenomena(rows: Sequence[PhenomenonRow]) -> Statement:
    """Return the meaning of the arrows of a table of phenomena, or nothing if no system is compared."""
    tests = dict.fromkeys(TESTS[verdict.test] for row in rows for verdict in row.verdicts.values())
    if not tests:
        return NOTHING
    return add_method(ARROWS_MEAN, f"; by {' or '.join(tests)}, Holm's correction over all rows and systems")


def _collect_samples(group: TranslationGroup) -> dict[str, dict[str, Sample]]:
    """Return for each system the answers on each phenomenon: of all its seeds, on the sentences that have it."""
    judged = {system.label: _list_verdicts(system, group.test) for system in group.list_measured()}
    masks = {label: _mask(found[0]) for label, found in judged.items() if found}
    if not masks:
        return {}
    base = group.base.label if group.base is not None and group.base.label in masks else next(iter(masks))
    return {
        label: {name: _make_sample([one[name] for one in judged[label]]) for name in masks[base]}
        for label in masks
        if all(_mask(one) == masks[base] for one in judged[label])
    }


def _list_verdicts(system: TranslationSystem, test: str) -> list[Mapping[str, str]]:
    """Return each seed's verdicts on the phenomena that are known; none if a seed has not been judged."""
    found = [scores.phenomena or {} for scores in system.list_scores(test)]
    known = [{name: letters for name, letters in one.items() if name in PHENOMENA} for one in found]
    return list(known) if all(known) else []


def _mask(verdicts: Mapping[str, str]) -> dict[str, list[bool]]:
    """Return for each phenomenon which sentences have it."""
    return {name: [letter != ABSENT for letter in letters] for name, letters in verdicts.items()}


def _make_sample(seeds: Sequence[str]) -> Sample:
    """Return the answers of some seeds on the sentences that have a phenomenon."""
    return Sample(np.array([[letter == RIGHT for letter in letters if letter != ABSENT] for letters in seeds]))


def _score(sample: Sample) -> PhenomenonScore:
    return _make_score(sample.mean, accuracy_interval(sample))


def _average(samples: Sequence[Sample]) -> PhenomenonScore:
    means = [sample.mean for sample in samples]
    interval = average_interval(means, [accuracy_interval(sample) for sample in samples])
    return _make_score(sum(means) / len(means), interval)


def _make_score(mean: float, interval: Interval) -> PhenomenonScore:
    return PhenomenonScore(100 * mean, 100 * interval.low, 100 * interval.high)


_Key = tuple[str, str, str]


def _compare_systems(
    group: TranslationGroup, samples: Mapping[str, Mapping[str, Sample]], names: Sequence[str]
) -> dict[_Key, Comparison]:
    """Compare each system with the baseline on each phenomenon and each attention's average."""
    base = samples.get(group.base.label) if group.base is not None else None
    if group.base is None or base is None:
        return {}
    prior = learn_seeds(sample for of_system in samples.values() for sample in of_system.values())
    found: dict[_Key, Comparison] = {}
    for label, ours in samples.items():
        if label != group.base.label:
            for attention, compared in _compare_by_attention(ours, base, names, prior):
                found |= {(label, attention, name): one for name, one in compared.items()}
                found[label, attention, AVERAGE] = average_comparisons(list(compared.values()))
    return found


def _compare_by_attention(
    ours: Mapping[str, Sample], theirs: Mapping[str, Sample], names: Sequence[str], prior: SeedPrior
) -> Iterator[tuple[str, dict[str, Comparison]]]:
    for attention in ATTENTIONS:
        members = [name for name in names if PHENOMENA[name].attention == attention]
        if members:
            yield (
                attention,
                {name: compare(ours[name], theirs[name], stream=_choose_stream(name), prior=prior) for name in members},
            )


@cache
def _choose_stream(name: str) -> int:
    """Return the stream of random numbers of a phenomenon, which does not depend on the others."""
    return zlib.crc32(name.encode())


def _select(verdicts: Mapping[_Key, Verdict], attention: str, name: str) -> dict[str, Verdict]:
    """Return the verdicts of one row, by the system's label."""
    return {label: verdict for (label, *place), verdict in verdicts.items() if place == [attention, name]}
