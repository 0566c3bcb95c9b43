"""SOMO: was a noun or verb replaced by another one that keeps to the same words?

A replacement has the word class of the original (its tag, or universal tag and features), and its bigrams with the
previous and the next token fall into the same ranges of frequency. Bigrams are counted only around the forms that may
replace or be replaced, and at most MAX_OCCURRENCES occurrences of such forms are looked at, so the table is bounded.

The two labels are treated alike: a sentence is drawn, a word of it is chosen that has a replacement, and only then it is
decided, by lot, whether the replacement takes place. The partition of a sentence is that of the form that stands in the
end, the replacement or the original one, so neither tells the label by its partition.
"""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass
from itertools import accumulate
from random import Random

import numpy as np

from probing.corpus.builders.facts import Facts
from probing.corpus.builders.plans import Drawn, Plan, scale_bounds, widen_bounds
from probing.corpus.builders.sampling import (
    SPLITS,
    CannotBuildError,
    Instance,
    Sizes,
    Splits,
    assign_forms,
    even_out,
    order,
)
from probing.corpus.builders.survey import Survey

FREQUENCIES = (40, 400)
"""Of the original and the replacement, in a corpus of 100 million tokens."""
RANGES = (1, 10, 100, 1000)
"""Bounds of the ranges of bigram frequency."""
MAX_OCCURRENCES = 2_000_000
OVERSAMPLING = 4
"""Sentences drawn for each one needed: not every one has a word with a replacement."""
CLEAR_MAJORITY = 0.6
"""A form belongs to a word class if so large a part of its occurrences does."""
EDGE = ""
"""Stands for what is before the first and after the last token."""


@dataclass(frozen=True, slots=True)
class _Neighbours:
    """Bigrams on one side of the forms, sorted by neighbour: neighbour[i] stood count[i] times beside form[i]."""

    neighbour: np.ndarray
    form: np.ndarray
    range: np.ndarray

    def find(self, neighbour: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the forms (in order) beside a neighbour, and the ranges of their frequencies."""
        start, end = np.searchsorted(self.neighbour, [neighbour, neighbour + 1])
        return self.form[start:end], self.range[start:end]


class _Bigrams:
    """Counts bigrams around the forms, then answers which forms fit between two tokens."""

    def __init__(self, forms: dict[str, str]) -> None:
        self.forms = sorted(forms)
        self.ids = {form: number for number, form in enumerate(self.forms)}
        classes = {kind: number for number, kind in enumerate(sorted(set(forms.values())))}
        self._class = np.array([classes[forms[form]] for form in self.forms])
        self._vocabulary: dict[str, int] = {EDGE: 0}
        self._seen = (array("q"), array("q"))
        self._sides: tuple[_Neighbours, ...] = ()

    def add(self, tokens: tuple[str, ...], place: int) -> None:
        """Count the two bigrams of the form at a place."""
        form = self.ids[tokens[place]]
        for side, neighbour in enumerate(neighbours(tokens, place)):
            number = self._vocabulary.setdefault(neighbour, len(self._vocabulary))
            self._seen[side].append(number * len(self.forms) + form)

    def close(self) -> None:
        """Turn the occurrences into tables."""
        sides = []
        for seen in self._seen:
            pairs, counts = np.unique(np.frombuffer(seen, dtype=np.int64), return_counts=True)
            sides.append(
                _Neighbours(pairs // len(self.forms), pairs % len(self.forms), np.searchsorted(RANGES, counts, "right"))
            )
        self._sides = tuple(sides)
        self._seen = (array("q"), array("q"))

    def replacements(self, tokens: tuple[str, ...], place: int) -> list[str]:
        """Return the forms of the same class whose bigrams are in the same ranges of frequency, in order."""
        original = self.ids[tokens[place]]
        fitting = None
        for side, neighbour in zip(self._sides, neighbours(tokens, place), strict=True):
            forms, ranges = side.find(self._vocabulary.get(neighbour, -1))
            own = ranges[np.searchsorted(forms, original)]
            forms = forms[(ranges == own) & (self._class[forms] == self._class[original])]
            fitting = forms if fitting is None else np.intersect1d(fitting, forms, assume_unique=True)
        assert fitting is not None  # noqa: S101 - there are two sides
        return [self.forms[form] for form in fitting.tolist() if form != original and self.forms[form] not in tokens]


def neighbours(tokens: tuple[str, ...], place: int) -> tuple[str, str]:
    """Return the previous and the next token of a place."""
    return tokens[place - 1] if place else EDGE, tokens[place + 1] if place + 1 < len(tokens) else EDGE


def odd_man_out(survey: Survey, sizes: Sizes) -> Plan:
    """Whether a noun or verb was replaced."""
    counts = survey.forms + survey.initials
    kinds = _word_classes(survey, counts)

    def enough(low: int, high: int) -> bool:
        found = sum(counts[form] for form in kinds if low <= counts[form] <= high)
        return found >= OVERSAMPLING * OVERSAMPLING * sizes.total

    low, high = widen_bounds(*scale_bounds(*FREQUENCIES, survey.tokens), survey.tokens, enough)
    forms = _choose_forms(kinds, counts, low, high)
    if len(forms) < len(SPLITS) + 1:
        raise CannotBuildError(f"only {len(forms)} nouns and verbs occur {low} to {high} times")
    split_of = assign_forms({form: {"": counts[form]} for form in forms}, sizes, [""])
    bigrams = _Bigrams(forms)
    dropped: Counter[str] = Counter()

    def classify(facts: Facts) -> bool | None:
        places = [place for place, kind in facts.words if forms.get(facts.tokens[place]) == kind]
        for place in places:
            bigrams.add(facts.tokens, place)
        if places:
            return True
        dropped["no noun or verb within the bounds of frequency"] += 1
        return None

    def assemble(drawn: Drawn, random: Random) -> Splits:
        bigrams.close()
        pools: dict[str, dict[str, list[Instance]]] = {split: {"C": [], "O": []} for split in SPLITS}
        originals = {facts.tokens for facts in drawn.get(True, [])}
        altered: set[tuple[str, ...]] = set()
        for facts in drawn.get(True, []):
            choice = _choose_word(facts, forms, bigrams, counts, random)
            if choice is None:
                dropped["no replacement fits (of the sentences drawn)"] += 1
                continue
            place, replacement = choice
            label = "C" if random.random() < 0.5 else "O"
            tokens = facts.tokens
            if label == "C":
                tokens = (*tokens[:place], replacement, *tokens[place + 1 :])
                if tokens in originals or tokens in altered:
                    continue
                altered.add(tokens)
            pools[split_of[tokens[place]]][label].append(Instance(label, tokens, tokens[place]))
        return even_out(pools, sizes, random)

    return Plan(
        classify=classify,
        capacity=lambda _: OVERSAMPLING * sizes.total,
        assemble=assemble,
        settings={
            "form_frequency": [low, high],
            "original_form_frequency": list(FREQUENCIES),
            "bigram_ranges": list(RANGES),
            "forms": len(forms),
        },
        dropped=dropped,
    )


def _word_classes(survey: Survey, counts: Counter[str]) -> dict[str, str]:
    """Return the word class of each form that clearly has one."""
    kinds = {}
    for (form, kind), count in survey.words.items():
        if count >= CLEAR_MAJORITY * counts[form]:
            kinds[form] = kind
    return kinds


def _choose_forms(kinds: dict[str, str], counts: Counter[str], low: int, high: int) -> dict[str, str]:
    """Return the forms within the bounds of frequency, in random order as many as the table of bigrams has room for."""
    forms = sorted((form for form in kinds if low <= counts[form] <= high), key=lambda form: order(form, "somo"))
    room = accumulate(counts[form] for form in forms)
    return {form: kinds[form] for form, total in zip(forms, room, strict=True) if total <= MAX_OCCURRENCES}


def _choose_word(
    facts: Facts, forms: dict[str, str], bigrams: _Bigrams, counts: Counter[str], random: Random
) -> tuple[int, str] | None:
    """Return a random place that has a replacement, and a replacement, frequent ones more often, as words occur."""
    places = [place for place, kind in facts.words if forms.get(facts.tokens[place]) == kind]
    random.shuffle(places)
    for place in places:
        found = bigrams.replacements(facts.tokens, place)
        if found:
            return place, random.choices(found, [counts[form] for form in found])[0]
    return None
