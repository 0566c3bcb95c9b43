"""SOMO: was a noun or verb replaced by another one that keeps to the same words?

A replacement has the word class of the original (its tag, or universal tag and features), and its bigrams with the
previous and the next token fall into the same ranges of frequency. Bigrams are counted only around the forms that may
replace or be replaced, and at most MAX_OCCURRENCES occurrences of such forms are looked at, so the table is bounded.

The two labels are treated alike: a sentence is drawn, a word of it is chosen that has a replacement, and only then is
it decided whether the replacement takes place. The partition of a sentence is that of the form that stands there in the
end, the replacement or the original one, and in each partition these forms are equally frequent under both labels.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, count
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
OCCURRENCES_NEEDED = 16
"""Occurrences of the forms for each sentence asked for: with fewer, few words have a replacement that fits."""
OVERSAMPLING = 8
"""Sentences drawn for each one asked for: in real text, half of them have no word with a replacement, and others no
counterpart of their target's frequency."""
LEAST_SPARE = 5000
"""Sentences drawn besides those asked for, at the least."""
CACHED = 20_000
"""Answers kept for neighbours that come up again, such as `the`."""
CLEAR_MAJORITY = 0.6
"""A form belongs to a word class if so large a part of its occurrences does."""
EDGE = ""
"""Stands for what is before the first and after the last token."""

Cell = tuple[str, int]
"""A split, and the range of frequency that the target falls into."""
Pools = dict[str, dict[str, list[Instance]]]
"""Split -> label -> instances."""


class _Neighbours:
    """Bigrams on one side of the forms: which neighbour stood beside which form, and how often."""

    def __init__(self, occurrences: array[int], kinds: np.ndarray, neighbours: int) -> None:
        """Take each occurrence as neighbour x forms + form, and the word classes of the forms."""
        pairs, times = np.unique(np.frombuffer(occurrences, dtype=np.int64), return_counts=True)
        neighbour, self._form = np.divmod(pairs, len(kinds))
        self._starts = neighbour.searchsorted(np.arange(neighbours + 1)).tolist()
        self._range = np.searchsorted(RANGES, times, "right")
        self._kinds = kinds
        self._fit = lru_cache(maxsize=CACHED)(self._find)

    def fit(self, neighbour: int, form: int) -> np.ndarray:
        """Return the forms of a form's class whose bigrams with its neighbour are in the same range as its own."""
        start, end = self._starts[neighbour], self._starts[neighbour + 1]
        own = start + int(self._form[start:end].searchsorted(form))
        return self._fit(neighbour, int(self._range[own]), int(self._kinds[form]))

    def _find(self, neighbour: int, range: int, kind: int) -> np.ndarray:
        start, end = self._starts[neighbour], self._starts[neighbour + 1]
        forms = self._form[start:end]
        fitting: np.ndarray = forms[(self._range[start:end] == range) & (self._kinds[forms] == kind)]
        return fitting


class _Bigrams:
    """Counts bigrams around the forms, then answers which forms fit between two tokens."""

    def __init__(self, forms: Mapping[str, str], counts: Mapping[str, int]) -> None:
        self._forms = sorted(forms)
        self._kinds = forms
        self._ids = {form: number for number, form in enumerate(self._forms)}
        kinds = {kind: number for number, kind in enumerate(sorted(set(forms.values())))}
        self._kind = np.array([kinds[forms[form]] for form in self._forms])
        self._count = np.array([counts[form] for form in self._forms])
        self._bins = [round(2 * math.log2(count)) for count in self._count.tolist()]
        # A token that is looked up for the first time gets the next number.
        self._vocabulary: defaultdict[str, int] = defaultdict(count().__next__)
        self._seen = (array("q"), array("q"))
        self._sides: list[_Neighbours] = []

    def places(self, facts: Facts) -> list[int]:
        """Return the places of a sentence whose word may be replaced."""
        kinds = self._kinds
        return [
            place
            for place, kind in enumerate(facts.kinds.split(" "))
            if kind != "-" and kinds.get(facts.tokens[place]) == kind
        ]

    def frequency_bin(self, form: str) -> int:
        """Return the range of frequency, half an octave wide, that a form falls into."""
        return self._bins[self._ids[form]]

    def add(self, tokens: tuple[str, ...], place: int) -> None:
        """Count the two bigrams of the form at a place."""
        form = self._ids[tokens[place]]
        left, right = neighbours(tokens, place)
        self._seen[0].append(self._vocabulary[left] * len(self._forms) + form)
        self._seen[1].append(self._vocabulary[right] * len(self._forms) + form)

    def close(self) -> None:
        """Turn the occurrences into tables."""
        self._sides = [_Neighbours(seen, self._kind, len(self._vocabulary)) for seen in self._seen]
        self._seen = (array("q"), array("q"))

    def replace(self, tokens: tuple[str, ...], place: int, random: Random) -> str | None:
        """Return a form of the same class whose bigrams are in the same ranges of frequency, if there is one.

        Among several, frequent ones come up more often, as they do in the corpus: else rare words would tell the label.
        """
        original = self._ids[tokens[place]]
        left, right = (
            side.fit(self._vocabulary[neighbour], original)
            for side, neighbour in zip(self._sides, neighbours(tokens, place), strict=True)
        )
        fitting = _intersect(left, right) if len(left) < len(right) else _intersect(right, left)
        fitting = fitting[fitting != original]
        while len(fitting):
            weights = self._count[fitting].cumsum()
            chosen = int(fitting[weights.searchsorted(random.random() * weights[-1], "right")])
            if self._forms[chosen] not in tokens:
                return self._forms[chosen]
            fitting = fitting[fitting != chosen]
        return None


def _intersect(short: np.ndarray, long: np.ndarray) -> np.ndarray:
    """Return what two ascending arrays share: quicker than numpy's own where one of them is short."""
    places = long.searchsorted(short)
    places[places == len(long)] = 0
    shared: np.ndarray = short[long[places] == short]
    return shared


def neighbours(tokens: tuple[str, ...], place: int) -> tuple[str, str]:
    """Return the previous and the next token of a place."""
    return tokens[place - 1] if place else EDGE, tokens[place + 1] if place + 1 < len(tokens) else EDGE


def odd_man_out(survey: Survey, sizes: Sizes) -> Plan:
    """Whether a noun or verb was replaced."""
    counts = survey.forms + survey.initials
    kinds = _word_classes(survey, counts)

    occurrences = sum(counts[form] for form in kinds)

    def look(low: int, high: int) -> tuple[bool, float]:
        found = sum(counts[form] for form in kinds if low <= counts[form] <= high)
        return found >= OCCURRENCES_NEEDED * sizes.total, found / max(1, occurrences)

    low, high = widen_bounds(*scale_bounds(*FREQUENCIES, survey.tokens), survey.tokens, look)
    forms = _choose_forms(kinds, counts, low, high)
    if len(forms) < len(SPLITS) + 1:
        raise CannotBuildError(f"only {len(forms)} nouns and verbs occur {low} to {high} times")
    bigrams = _Bigrams(forms, counts)
    split_of = assign_forms({form: {"": counts[form]} for form in forms}, sizes, [""])
    dropped: Counter[str] = Counter()

    def classify(facts: Facts) -> bool | None:
        places = bigrams.places(facts)
        for place in places:
            bigrams.add(facts.tokens, place)
        if places:
            return True
        dropped["no noun or verb within the bounds of frequency"] += 1
        return None

    def assemble(drawn: Drawn, random: Random) -> Splits:
        bigrams.close()
        return even_out(_alter(drawn.get(True, ()), bigrams, split_of, sizes, random, dropped), sizes, random)

    return Plan(
        classify=classify,
        capacity=lambda _: max(OVERSAMPLING * sizes.total, sizes.total + LEAST_SPARE),
        assemble=assemble,
        settings={
            "form_frequency": [low, high],
            "original_form_frequency": list(FREQUENCIES),
            "bigram_ranges": list(RANGES),
            "forms": len(forms),
        },
        dropped=dropped,
    )


def _alter(
    sentences: Iterable[Facts],
    bigrams: _Bigrams,
    split_of: Mapping[str, str],
    sizes: Sizes,
    random: Random,
    dropped: Counter[str],
) -> Pools:
    """Return changed and original sentences until there are as many as asked for, alike in their targets' frequency."""
    needs = {split: size // 2 + 1 for split, size in sizes.by_split().items()}
    cells: dict[Cell, dict[str, list[Instance]]] = {}
    filled = dict.fromkeys(SPLITS, 0)
    taken: set[tuple[str, ...]] = set()
    for facts in sentences:
        if all(filled[split] >= needs[split] for split in SPLITS):
            break
        choice = _choose_word(facts, bigrams, random)
        if choice is None:
            dropped["no replacement fits (of the sentences drawn)"] += 1
            continue
        place, replacement = choice
        forms = {"O": facts.tokens[place], "C": replacement}
        cells_of = {label: (split_of[form], bigrams.frequency_bin(form)) for label, form in forms.items()}
        label = _choose_label(cells_of, cells, random)
        cell = cells_of[label]
        tokens = facts.tokens if label == "O" else (*facts.tokens[:place], replacement, *facts.tokens[place + 1 :])
        if filled[cell[0]] >= needs[cell[0]] or not taken.isdisjoint((tokens, facts.tokens)):
            continue
        taken.update((tokens, facts.tokens))
        pool = cells.setdefault(cell, {"C": [], "O": []})
        pool[label].append(Instance(label, tokens, tokens[place]))
        filled[cell[0]] += len(pool[label]) <= len(pool["O" if label == "C" else "C"])
    return _pair(cells, random)


def _choose_label(
    cells_of: Mapping[str, Cell], cells: Mapping[Cell, Mapping[str, Sequence[Instance]]], random: Random
) -> str:
    """Return the label that is short of instances where it would fall; by lot, if both or neither is."""
    short = []
    for label, cell in cells_of.items():
        pool = cells.get(cell, {"C": (), "O": ()})
        if len(pool[label]) < len(pool["O" if label == "C" else "C"]):
            short.append(label)
    return short[0] if len(short) == 1 else random.choice("CO")


def _pair(cells: Mapping[Cell, Mapping[str, list[Instance]]], random: Random) -> Pools:
    """Return as many changed as original sentences of each frequency, so that frequency does not tell the label."""
    pairs: dict[str, list[tuple[Instance, Instance]]] = {split: [] for split in SPLITS}
    for (split, _), pool in sorted(cells.items()):
        pairs[split].extend(zip(pool["C"], pool["O"], strict=False))
    pools: Pools = {}
    for split, found in pairs.items():
        random.shuffle(found)
        pools[split] = {"C": [changed for changed, _ in found], "O": [original for _, original in found]}
    return pools


def _choose_word(facts: Facts, bigrams: _Bigrams, random: Random) -> tuple[int, str] | None:
    """Return a random place that has a replacement, and the replacement."""
    places = bigrams.places(facts)
    random.shuffle(places)
    for place in places:
        replacement = bigrams.replace(facts.tokens, place, random)
        if replacement is not None:
            return place, replacement
    return None


def _word_classes(survey: Survey, counts: Mapping[str, int]) -> dict[str, str]:
    """Return the word class of each form that clearly has one."""
    return {form: kind for (form, kind), count in survey.words.items() if count >= CLEAR_MAJORITY * counts[form]}


def _choose_forms(kinds: Mapping[str, str], counts: Mapping[str, int], low: int, high: int) -> dict[str, str]:
    """Return the forms within the bounds of frequency, in random order as many as the table of bigrams has room for."""
    forms = sorted((form for form in kinds if low <= counts[form] <= high), key=lambda form: order(form, "somo"))
    room = accumulate(counts[form] for form in forms)
    return {form: kinds[form] for form, total in zip(forms, room, strict=True) if total <= MAX_OCCURRENCES}
