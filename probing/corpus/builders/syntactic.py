"""Syntactic tasks, of which the first two have counterparts for dependency trees.

TrDep: the depth of the tree; ToCo: the constituents below the sentence node; BShif: whether two tokens were swapped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from random import Random

import numpy as np

from probing.corpus.builders.annotations import QUOTES, Annotations, bag_of_words, is_word
from probing.corpus.builders.drawing import Drawn, SamplingDesign, label_sentences
from probing.corpus.builders.sampling import (
    NEARLY,
    SCARCE,
    CannotBuildError,
    Sizes,
    choose_imbalance,
    deal,
    describe_choice,
    limit,
    measure_information,
    scale_down,
    shuffle,
)
from probing.corpus.builders.survey import Survey
from probing.corpus.instances import Instance, Splits
from probing.statistics import pearson
from probing.tasks import SPLITS

DEPTHS = (5, 12)
"""Smallest and largest depth of TrDep."""
LENGTHS = (6, 23)
"""Smallest and largest number of tokens in TrDep."""
VARIANCES = (10.0, 30.0)
"""Variances of depth and length in the Gaussian that the sample of TrDep follows."""
MAX_CORRELATION = 0.10
"""Largest correlation of depth and length in the whole sample; the rule for a file allows 0.15."""
TILTS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0, 4.0)
"""Tilts to try: more tilt makes a larger sample of a small corpus, but with fewer of the shallow and deep trees."""
ENOUGH_TILT = 1.0
"""Tilt from which on a sample of any size is accepted."""
MIN_DEPTH_SAMPLE = 30
"""Smallest number of sentences of TrDep."""

FREQUENT = 19
"""Number of classes of ToCo besides OTHER."""
LEAST_SENTENCES = 12
"""Smallest number of sentences of a class of ToCo."""
OTHER = "OTHER"
"""Label of all sequences that are not a class of their own."""

ShapeCounts = dict[tuple[int, int], int]
"""Depth and length -> number of sentences."""


def tree_depth(survey: Survey, sizes: Sizes) -> SamplingDesign:
    """Return the design of TrDep: the depth of the tree, in a sample in which it hardly correlates with length."""
    depths = _widest_window(survey.shapes) if survey.dependencies else DEPTHS
    available = {
        (depth, length): count
        for (depth, length), count in sorted(survey.shapes.items())
        if depths[0] <= depth <= depths[1] and LENGTHS[0] <= length <= LENGTHS[1]
    }
    cells, tilt = decorrelate(available, sizes.total)
    dropped: Counter[str] = Counter()

    def classify(sentence: Annotations) -> tuple[int, int] | None:
        cell = (sentence.depth, len(sentence.tokens))
        if cell in available:
            return cell
        outside = "length" if not LENGTHS[0] <= cell[1] <= LENGTHS[1] else "depth"
        dropped[f"{outside} out of bounds"] += 1
        return None

    def assemble(drawn: Drawn, random: Random) -> Splits:
        found = [
            Instance(str(cell[0]), sentence.tokens) for cell in sorted(available) for sentence in drawn.get(cell, ())
        ]
        return _deal_evenly(found, sizes, random)

    return SamplingDesign(
        classify=classify,
        capacity=lambda cell: cells.get(cell, 0),  # type: ignore[call-overload]
        assemble=assemble,
        settings={
            "depths": f"{depths[0]}-{depths[1]}",
            "lengths": f"{LENGTHS[0]}-{LENGTHS[1]}",
            "variances": {"depth": VARIANCES[0], "length": VARIANCES[1]},
            "tilt": tilt,
        },
        dropped=dropped,
    )


def _widest_window(shapes: Mapping[tuple[int, int], int]) -> tuple[int, int]:
    """Return the lowest and highest of the eight successive depths with most sentences; they depend on the language."""
    by_depth: Counter[int] = Counter()
    for (depth, length), count in shapes.items():
        if LENGTHS[0] <= length <= LENGTHS[1]:
            by_depth[depth] += count
    width = DEPTHS[1] - DEPTHS[0] + 1
    start = max(
        range(1, max(by_depth, default=1) + 1), key=lambda low: (sum(by_depth[low + i] for i in range(width)), -low)
    )
    return start, start + width - 1


def decorrelate(available: Mapping[tuple[int, int], int], size: int) -> tuple[ShapeCounts, float]:
    """Return the number of sentences to draw of each depth and length, and the tilt of the Gaussian.

    As far as the corpus allows, the sample follows a Gaussian with the corpus' means and independent dimensions. If
    depth and length still correlate, because no short sentence is deep, the Gaussian is tilted: deep short sentences
    and flat long ones get more weight. If that does not suffice, the sample is made smaller.
    """
    if not available:
        raise CannotBuildError("no sentences within the bounds of depth and length")
    keys = sorted(available)
    limits = np.array([available[key] for key in keys], dtype=float)
    depths, lengths = (np.array([key[axis] for key in keys], dtype=float) for axis in (0, 1))
    z = [
        (values - np.average(values, weights=limits)) / np.sqrt(variance)
        for values, variance in zip((depths, lengths), VARIANCES, strict=True)
    ]
    wanted = min(size, int(limits.sum()))
    for tilt in TILTS:
        weights = np.exp(-(z[0] ** 2 + z[1] ** 2) / 2 - tilt * z[0] * z[1])
        least, most = 0, wanted
        while least < most:
            middle = (least + most + 1) // 2
            correlation = pearson(depths, lengths, _fill(limits, weights, middle))
            fits = correlation is None or correlation <= MAX_CORRELATION
            least, most = (middle, most) if fits else (least, middle - 1)
        if least >= MIN_DEPTH_SAMPLE and (least == wanted or tilt >= ENOUGH_TILT):
            return dict(zip(keys, _fill(limits, weights, least).astype(int).tolist(), strict=True)), tilt
    raise CannotBuildError(f"no {MIN_DEPTH_SAMPLE} sentences whose depth and length do not correlate")


def _fill(limits: np.ndarray, weights: np.ndarray, size: int) -> np.ndarray:
    """Return whole numbers in proportion to the weights, each within its limit and together at most the size."""
    low, high = 0.0, size / weights.min()
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if np.minimum(limits, middle * weights).sum() <= size else (low, middle)
    exact = np.minimum(limits, low * weights)
    counts: np.ndarray = np.floor(exact)
    by_remainder = np.argsort(counts - exact, kind="stable")
    for place in by_remainder[: round(float(exact.sum() - counts.sum()))]:
        counts[place] += counts[place] < limits[place]
    return counts


def _deal_evenly(instances: list[Instance], sizes: Sizes, random: Random) -> Splits:
    """Divide instances, sorted by depth and length, so that all splits have the same proportions of them."""
    wanted = (
        sizes.by_split() if len(instances) >= sizes.total else scale_down(len(instances), sizes.fit(len(instances)))
    )
    if wanted is None:
        raise CannotBuildError(f"only {len(instances)} sentences")
    splits: Splits = {split: [] for split in SPLITS}
    total = sum(wanted.values())
    for number, instance in enumerate(instances, 1):
        open_splits = [split for split in SPLITS if len(splits[split]) < wanted[split]]
        if not open_splits:
            break
        split = max(open_splits, key=lambda split: number * wanted[split] / total - len(splits[split]))
        splits[split].append(instance)
    trained = {instance.label for instance in splits["tr"]}
    for split in SPLITS:
        splits[split] = [instance for instance in splits[split] if instance.label in trained]
    return shuffle(splits, random)


def top_constituents(survey: Survey, sizes: Sizes) -> SamplingDesign:
    """Return the design of ToCo: the sequence below the sentence node (or of the root's dependents), in 20 classes.

    Where the classes are scarce, there are fewer of them, or unequal ones: whatever informs most.
    """
    ranked, others = _count_sequences(survey)
    if len(ranked) < 2:
        raise CannotBuildError(f"fewer than two sequences have {LEAST_SENTENCES} sentences or more")
    classes, imbalance = _choose_classes(ranked, others, sizes)
    dropped: Counter[str] = Counter()

    def classify(sentence: Annotations) -> str | None:
        if sentence.top in classes:
            return sentence.top
        if sentence.top and OTHER in classes:
            return OTHER
        excluded = "punctuation inside, no final punctuation, or a sequence of one"
        dropped["too rare" if sentence.top else excluded] += 1
        return None

    return SamplingDesign(
        classify=classify,
        capacity=lambda _: sizes.total // len(classes) + len(SPLITS),
        assemble=lambda drawn, random: deal(label_sentences(drawn), replace(sizes, imbalance=imbalance), random),
        settings={
            "classes": len(classes),
            **describe_choice(
                imbalance, sizes, fewer=len(classes) if len(classes) < len(ranked) + (others > 0) else None
            ),
            "sequences_in_the_corpus": sum(map(bool, survey.tops)),
        },
        dropped=dropped,
    )


def _count_sequences(survey: Survey) -> tuple[dict[str, int], int]:
    """Return the most frequent sequences -> number of sentences, and the number of sentences with other sequences.

    A class has at least LEAST_SENTENCES different sentences, and so have the other sequences together, or there are 0.
    """
    counts = {top: count for top, count in survey.tops.items() if top and count >= LEAST_SENTENCES}
    ranked = sorted(counts, key=lambda top: (-counts[top], top))
    found: dict[str, set[int]] = {top: set() for top in ranked}
    rare: set[int] = set()
    lacking = set(ranked[:FREQUENT])
    for _, priority, sentence in survey.records():
        known = found.get(sentence.top, rare)
        if sentence.top and len(known) < LEAST_SENTENCES:
            known.add(priority)
            if len(known) == LEAST_SENTENCES:
                lacking.discard(sentence.top)
        if not lacking and len(rare) == LEAST_SENTENCES:
            break
    frequent = [top for top in ranked if len(found[top]) == LEAST_SENTENCES][:FREQUENT]
    different = rare.union(*(found[top] for top in ranked if top not in frequent))
    others = survey.tops.total() - survey.tops[""] - sum(counts[top] for top in frequent)
    return {top: counts[top] for top in frequent}, others if len(different) >= LEAST_SENTENCES else 0


def _choose_classes(ranked: Mapping[str, int], others: int, sizes: Sizes) -> tuple[frozenset[str], int]:
    """Return the classes and the largest ratio between label frequencies.

    The classes are all of the frequent sequences and OTHER, unless a balanced task of them has too few sentences. Then
    it is the choice that informs most, of those that can be scored if there are any; among nearly equal ones, that with
    the most classes.
    """
    choices: list[tuple[bool, float, frozenset[str], int]] = []
    for number in range(len(ranked), 1, -1):
        chosen = dict(islice(ranked.items(), number))
        rest = others + sum(ranked.values()) - sum(chosen.values())
        for available in ({**chosen, OTHER: rest}, chosen) if rest >= LEAST_SENTENCES else (chosen,):
            imbalance = choose_imbalance(available, sizes)
            counts = limit(available, imbalance, sizes).values()
            if not choices and sum(counts) >= SCARCE * sizes.total:
                return frozenset(available), imbalance
            enough = sum(counts) >= sizes.min_train + 2 * sizes.min_test
            choices.append((enough, measure_information(counts), frozenset(available), imbalance))
    enough = any(choice[0] for choice in choices)
    choices = [choice for choice in choices if choice[0] == enough]
    best = max(choice[1] for choice in choices)
    return next(choice[2:] for choice in choices if choice[1] >= NEARLY * best)


def bigram_shift(survey: Survey, sizes: Sizes) -> SamplingDesign:
    """Return the design of BShif: whether two neighbouring words were swapped."""
    dropped: Counter[str] = Counter()

    def classify(sentence: Annotations) -> bool | None:
        if not QUOTES.isdisjoint("".join(sentence.tokens)):
            dropped["double quotes"] += 1
        elif next(swappable(sentence.tokens), None) is None:
            dropped["no two neighbours to swap"] += 1
        else:
            return True
        return None

    def assemble(drawn: Drawn, random: Random) -> Splits:
        instances: dict[str, list[Instance]] = {"I": [], "O": []}
        taken: set[tuple[str, ...]] = set()
        for sentence in drawn.get(True, ()):
            words = bag_of_words(sentence.tokens)
            if words in taken:  # of two real sentences that differ by a swap, one could become the other
                continue
            taken.add(words)
            label = "I" if len(taken) % 2 else "O"
            places = list(swappable(sentence.tokens))
            tokens = sentence.tokens if label == "O" else swap(sentence.tokens, random.choice(places))
            instances[label].append(Instance(label, tokens))
        return deal(instances, sizes, random)

    return SamplingDesign(
        classify=classify, capacity=lambda _: sizes.total + sizes.total // 50 + 8, assemble=assemble, dropped=dropped
    )


def swappable(tokens: tuple[str, ...]) -> Iterator[int]:
    """Yield the positions of tokens that may be swapped with the next: different words, not the sentence's first."""
    for place in range(1, len(tokens) - 1):
        token, following = tokens[place], tokens[place + 1]
        if is_word(token) and is_word(following) and token.lower() != following.lower():
            yield place


def swap(tokens: tuple[str, ...], place: int) -> tuple[str, ...]:
    """Return the tokens with those at a position and after it swapped."""
    return (*tokens[:place], tokens[place + 1], tokens[place], *tokens[place + 2 :])
