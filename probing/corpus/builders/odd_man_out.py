"""SOMO: whether a noun or verb was replaced by another that fits its neighbours.

A replacement has the word class of the original (its tag, or universal tag and features), and its bigrams with the
previous and the next token are in the same ranges of frequency. Bigrams are counted in the whole corpus, in sentences
of any length, around the forms that may replace or be replaced. These are so few that they occur at most
MAX_OCCURRENCES times, so the table is bounded and exact.

The two labels are treated alike: a sentence is drawn, one of its words that has a replacement is chosen, and only then
is it decided whether to replace it. The target is the form in the final sentence, replaced or not. It decides the split
of the sentence, and in each split the targets are equally frequent under both labels.
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

from probing.corpus.builders.annotations import Annotations
from probing.corpus.builders.drawing import Drawn, SamplingDesign, scale_bounds, widen_bounds
from probing.corpus.builders.sampling import CannotBuildError, Pools, Sizes, assign_forms, even_out, order
from probing.corpus.builders.survey import Survey
from probing.corpus.instances import Instance, Splits
from probing.tasks import SPLITS

FREQUENCIES = (40, 400)
"""Bounds of the frequency of the original and the replacement, in a corpus of 100 million tokens."""
RANGES = (1, 10, 100, 1000)
"""Bounds of the ranges of bigram frequency."""
MAX_OCCURRENCES = 2_000_000
"""Largest number of occurrences of forms around which bigrams are counted."""
OCCURRENCES_NEEDED = 16
"""Occurrences of the forms for each sentence to build: with fewer, few words have a replacement that fits."""
OVERSAMPLING = 8
"""Sentences drawn for each one to build: in real text, half of them have no word with a replacement, and others no
counterpart with a target of the same frequency."""
LEAST_SPARE = 5000
"""Smallest number of sentences drawn in addition to those to build."""
CACHED = 20_000
"""Number of answers kept for frequent neighbours such as `the`."""
CLEAR_MAJORITY = 0.6
"""Smallest share of a form's occurrences that must be of one word class for the form to belong to it."""
EDGE = ""
"""Neighbour of the first and of the last token at the edge of the sentence."""

TargetBin = tuple[str, int]
"""Split, and the range of frequency of the target."""


class _SideBigrams:
    """Counts of the bigrams of all forms with their neighbours on one side."""

    def __init__(self, occurrences: array[int], kinds: np.ndarray, neighbours: int) -> None:
        """Count the occurrences, each given as neighbour x number of forms + form; `kinds` are the forms' classes."""
        pairs, times = np.unique(np.frombuffer(occurrences, dtype=np.int64), return_counts=True)
        neighbour, self._form = np.divmod(pairs, len(kinds))
        self._starts = neighbour.searchsorted(np.arange(neighbours + 1)).tolist()
        self._range = np.searchsorted(RANGES, times, "right")
        self._kinds = kinds
        self._fit = lru_cache(maxsize=CACHED)(self._find)

    def fit(self, neighbour: int, form: int) -> np.ndarray:
        """Return the forms of the same class whose bigrams with the neighbour are in the same range of frequency."""
        start, end = self._starts[neighbour], self._starts[neighbour + 1]
        own = start + int(self._form[start:end].searchsorted(form))
        return self._fit(neighbour, int(self._range[own]), int(self._kinds[form]))

    def _find(self, neighbour: int, range: int, kind: int) -> np.ndarray:
        start, end = self._starts[neighbour], self._starts[neighbour + 1]
        forms = self._form[start:end]
        fitting: np.ndarray = forms[(self._range[start:end] == range) & (self._kinds[forms] == kind)]
        return fitting


class _Bigrams:
    """Counts the bigrams around the forms, and finds replacements for a form."""

    def __init__(self, forms: Mapping[str, str], counts: Mapping[str, int]) -> None:
        self._forms = sorted(forms)
        self._kinds = forms
        self._ids = {form: number for number, form in enumerate(self._forms)}
        kinds = {kind: number for number, kind in enumerate(sorted(set(forms.values())))}
        self._kind = np.array([kinds[forms[form]] for form in self._forms])
        self._count = np.array([counts[form] for form in self._forms])
        self._bins = [round(2 * math.log2(count)) for count in self._count.tolist()]
        # A new token gets the next number.
        self._vocabulary: defaultdict[str, int] = defaultdict(count().__next__)
        self._seen = (array("q"), array("q"))
        self._sides: list[_SideBigrams] = []

    def places(self, sentence: Annotations) -> list[int]:
        """Return the positions of the words that may be replaced."""
        kinds = self._kinds
        return [
            place
            for place, kind in enumerate(sentence.kinds.split(" "))
            if kind != "-" and kinds.get(sentence.tokens[place]) == kind
        ]

    def frequency_bin(self, form: str) -> int:
        """Return the number of a form's range of frequency; from one range to the next, it grows by the root of 2."""
        return self._bins[self._ids[form]]

    def add(self, tokens: tuple[str, ...]) -> None:
        """Count the two bigrams of each form in a sentence, whatever its class is there."""
        for place in [place for place, token in enumerate(tokens) if token in self._ids]:
            form = self._ids[tokens[place]]
            left, right = find_neighbours(tokens, place)
            self._seen[0].append(self._vocabulary[left] * len(self._forms) + form)
            self._seen[1].append(self._vocabulary[right] * len(self._forms) + form)

    def close(self) -> None:
        """Turn the occurrences into tables, after the last one was added."""
        self._sides = [_SideBigrams(seen, self._kind, len(self._vocabulary)) for seen in self._seen]
        self._seen = (array("q"), array("q"))

    def replace(self, tokens: tuple[str, ...], place: int, random: Random) -> str | None:
        """Return a form of the same class whose bigrams are in the same ranges of frequency, if there is one.

        Among several, frequent ones are chosen more often, as in the corpus: otherwise rare words would give away the
        label.
        """
        original = self._ids[tokens[place]]
        left, right = (
            side.fit(self._vocabulary[neighbour], original)
            for side, neighbour in zip(self._sides, find_neighbours(tokens, place), strict=True)
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
    """Return the numbers in both of two ascending arrays: faster than numpy's function if one of them is short."""
    places = long.searchsorted(short)
    places[places == len(long)] = 0
    shared: np.ndarray = short[long[places] == short]
    return shared


def find_neighbours(tokens: tuple[str, ...], place: int) -> tuple[str, str]:
    """Return the tokens before and after a position."""
    return tokens[place - 1] if place else EDGE, tokens[place + 1] if place + 1 < len(tokens) else EDGE


def odd_man_out(survey: Survey, sizes: Sizes) -> SamplingDesign:
    """Return the design of SOMO: whether a noun or verb was replaced."""
    counts = survey.forms + survey.initials
    # The word class of a form, if a clear majority of its occurrences is of this class.
    kinds = {form: kind for (form, kind), count in survey.words.items() if count >= CLEAR_MAJORITY * counts[form]}
    occurrences = sum(counts[form] for form in kinds)

    def look(low: int, high: int) -> tuple[bool, float]:
        found = sum(counts[form] for form in kinds if low <= counts[form] <= high)
        return found >= OCCURRENCES_NEEDED * sizes.total, found / max(1, occurrences)

    low, high = widen_bounds(*scale_bounds(*FREQUENCIES, survey.tokens), survey.tokens, look)
    forms = _choose_forms(kinds, counts, low, high)
    if len(forms) < len(SPLITS) + 1:
        raise CannotBuildError(f"only {len(forms)} nouns and verbs occur {low} to {high} times")
    bigrams = _Bigrams(forms, counts)
    split_of = _assign_words(forms, counts, sizes)
    dropped: Counter[str] = Counter()

    def classify(sentence: Annotations) -> bool | None:
        bigrams.add(sentence.tokens)
        if bigrams.places(sentence):
            return True
        dropped["no noun or verb within the bounds of frequency"] += 1
        return None

    def assemble(drawn: Drawn, random: Random) -> Splits:
        for tokens in survey.other_sentences():
            bigrams.add(tokens)
        bigrams.close()
        return even_out(_alter(drawn.get(True, ()), bigrams, split_of, sizes, random, dropped), sizes, random)

    return SamplingDesign(
        classify=classify,
        capacity=lambda _: max(OVERSAMPLING * sizes.total, sizes.total + LEAST_SPARE),
        assemble=assemble,
        settings={
            "form_frequency": [low, high],
            "original_form_frequency": list(FREQUENCIES),
            "bigram_ranges": list(RANGES),
            "bigrams": "of tokens as written, counted in sentences of any length",
            "forms": len(forms),
        },
        dropped=dropped,
    )


def _alter(
    sentences: Iterable[Annotations],
    bigrams: _Bigrams,
    split_of: Mapping[str, str],
    sizes: Sizes,
    random: Random,
    dropped: Counter[str],
) -> Pools:
    """Return as many changed and original sentences as needed, with equally frequent targets."""
    needs = {split: size // 2 + 1 for split, size in sizes.by_split().items()}
    bins: dict[TargetBin, dict[str, list[Instance]]] = {}
    filled = dict.fromkeys(SPLITS, 0)
    taken: set[tuple[str, ...]] = set()
    for sentence in sentences:
        if all(filled[split] >= needs[split] for split in SPLITS):
            break
        choice = _choose_replacement(sentence, bigrams, random)
        if choice is None:
            dropped["no replacement fits (of the sentences drawn)"] += 1
            continue
        place, replacement = choice
        forms = {"O": sentence.tokens[place], "C": replacement}
        bins_of = {label: (split_of[form], bigrams.frequency_bin(form)) for label, form in forms.items()}
        label = _choose_label(bins_of, bins, random)
        target_bin = bins_of[label]
        tokens = (*sentence.tokens[:place], forms[label], *sentence.tokens[place + 1 :])
        if filled[target_bin[0]] >= needs[target_bin[0]] or not taken.isdisjoint((tokens, sentence.tokens)):
            continue
        taken.update((tokens, sentence.tokens))
        pool = bins.setdefault(target_bin, {"C": [], "O": []})
        pool[label].append(Instance(label, tokens, tokens[place]))
        filled[target_bin[0]] += len(pool[label]) <= len(pool["O" if label == "C" else "C"])
    return _pair(bins, random)


def _choose_label(
    bins_of: Mapping[str, TargetBin], bins: Mapping[TargetBin, Mapping[str, Sequence[Instance]]], random: Random
) -> str:
    """Return the label that has fewer instances than the other in its bin; if both or neither has, a random one."""
    short = []
    for label, target_bin in bins_of.items():
        pool = bins.get(target_bin, {"C": (), "O": ()})
        if len(pool[label]) < len(pool["O" if label == "C" else "C"]):
            short.append(label)
    return short[0] if len(short) == 1 else random.choice("CO")


def _pair(bins: Mapping[TargetBin, Mapping[str, list[Instance]]], random: Random) -> Pools:
    """Return as many changed as original sentences of each bin, so that frequency does not give away the label."""
    pairs: dict[str, list[tuple[Instance, Instance]]] = {split: [] for split in SPLITS}
    for (split, _), pool in sorted(bins.items()):
        pairs[split].extend(zip(pool["C"], pool["O"], strict=False))
    pools: dict[str, dict[str, list[Instance]]] = {}
    for split, found in pairs.items():
        random.shuffle(found)
        pools[split] = {"C": [changed for changed, _ in found], "O": [original for _, original in found]}
    return pools


def _choose_replacement(sentence: Annotations, bigrams: _Bigrams, random: Random) -> tuple[int, str] | None:
    """Return the position of a random word that has a replacement, and the replacement."""
    places = bigrams.places(sentence)
    random.shuffle(places)
    for place in places:
        replacement = bigrams.replace(sentence.tokens, place, random)
        if replacement is not None:
            return place, replacement
    return None


def _assign_words(forms: Iterable[str], counts: Mapping[str, int], sizes: Sizes) -> dict[str, str]:
    """Return form -> split; forms that differ by capitals only, as at the beginning of a sentence, stay together."""
    words: Counter[str] = Counter()
    for form in forms:
        words[form.lower()] += counts[form]
    split_of = assign_forms({word: {"": count} for word, count in words.items()}, sizes, [""])
    return {form: split_of[form.lower()] for form in forms}


def _choose_forms(kinds: Mapping[str, str], counts: Mapping[str, int], low: int, high: int) -> dict[str, str]:
    """Return random forms within the bounds of frequency -> word class, as many as the table of bigrams can hold."""
    forms = sorted((form for form in kinds if low <= counts[form] <= high), key=lambda form: order(form, "somo"))
    room = accumulate(counts[form] for form in forms)
    return {form: kinds[form] for form, total in zip(forms, room, strict=True) if total <= MAX_OCCURRENCES}
