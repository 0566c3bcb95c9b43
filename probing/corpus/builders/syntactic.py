"""Syntactic tasks: TrDep (how deep is the tree), ToCo (what stands right below the sentence node), BShif (were two
neighbours swapped), and the counterparts of the first two for dependency trees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from random import Random

import numpy as np

from probing.corpus.builders.facts import QUOTES, Facts, bag_of_words, is_word
from probing.corpus.builders.plans import Drawn, Plan
from probing.corpus.builders.sampling import (
    SPLITS,
    CannotBuildError,
    Instance,
    Sizes,
    Splits,
    deal,
    scale_down,
    shuffle,
)
from probing.corpus.builders.survey import Survey

DEPTHS = (5, 12)
LENGTHS = (6, 23)
VARIANCES = (10.0, 30.0)
"""Of depth and length in the sample that TrDep is drawn towards."""
MAX_CORRELATION = 0.10
"""Between depth and length, in all that is drawn; 0.15 is promised for each file."""
TILTS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0, 4.0)
"""More tilt makes a larger sample of a small corpus, but with ever fewer of the shallow and the deep trees."""
ENOUGH_TILT = 1.0
"""With so much of it, a sample of any size will do."""
MIN_DEPTH_SAMPLE = 30

FREQUENT = 19
LEAST_SENTENCES = 12
"""A sequence with fewer sentences is no class of its own."""
OTHER = "OTHER"

Cells = dict[tuple[int, int], int]
"""(depth, length) -> sentences."""


def tree_depth(survey: Survey, sizes: Sizes) -> Plan:
    """Depth of the tree, in a sample in which depth and length hardly correlate."""
    depths = _widest_window(survey.shapes) if survey.dependencies else DEPTHS
    available = {
        (depth, length): count
        for (depth, length), count in sorted(survey.shapes.items())
        if depths[0] <= depth <= depths[1] and LENGTHS[0] <= length <= LENGTHS[1]
    }
    cells, tilt = decorrelate(available, sizes.total)
    dropped: Counter[str] = Counter()

    def classify(facts: Facts) -> tuple[int, int] | None:
        cell = (facts.depth, len(facts.tokens))
        if cell in available:
            return cell
        outside = "length" if not LENGTHS[0] <= cell[1] <= LENGTHS[1] else "depth"
        dropped[f"{outside} out of bounds"] += 1
        return None

    def assemble(drawn: Drawn, random: Random) -> Splits:
        found = [Instance(str(cell[0]), f.tokens) for cell in sorted(available) for f in drawn.get(cell, ())]
        return _deal_evenly(found, sizes, random)

    return Plan(
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
    """Return the eight neighbouring depths that hold most sentences: how deep trees go depends on the language."""
    by_depth: Counter[int] = Counter()
    for (depth, length), count in shapes.items():
        if LENGTHS[0] <= length <= LENGTHS[1]:
            by_depth[depth] += count
    width = DEPTHS[1] - DEPTHS[0] + 1
    start = max(
        range(1, max(by_depth, default=1) + 1), key=lambda low: (sum(by_depth[low + i] for i in range(width)), -low)
    )
    return start, start + width - 1


def decorrelate(available: Mapping[tuple[int, int], int], size: int) -> tuple[Cells, float]:
    """Return how many sentences to draw of each depth and length, and how far the Gaussian had to be tilted.

    The sample follows a Gaussian with the corpus' means and independent dimensions as far as the corpus goes. Where
    that leaves a correlation, since no short sentence is deep, cells off the diagonal get more weight; and where even
    that does not help, the sample gets smaller.
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
            fits = correlation(depths, lengths, _fill(limits, weights, middle)) <= MAX_CORRELATION
            least, most = (middle, most) if fits else (least, middle - 1)
        if least >= MIN_DEPTH_SAMPLE and (least == wanted or tilt >= ENOUGH_TILT):
            return dict(zip(keys, _fill(limits, weights, least).astype(int).tolist(), strict=True)), tilt
    raise CannotBuildError(f"no {MIN_DEPTH_SAMPLE} sentences whose depth and length do not correlate")


def _fill(limits: np.ndarray, weights: np.ndarray, size: int) -> np.ndarray:
    """Return whole numbers in proportion to the weights, none above its limit, that sum to the size at most."""
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


def correlation(first: np.ndarray, second: np.ndarray, weights: np.ndarray) -> float:
    """Return Pearson's r of two columns with weights; 0 where it is not defined."""
    if weights.sum() == 0:
        return 0.0
    x, y = (column - np.average(column, weights=weights) for column in (first, second))
    spread = np.sqrt((weights * x * x).sum() * (weights * y * y).sum())
    return float((weights * x * y).sum() / spread) if spread > 0 else 0.0


def _deal_evenly(instances: list[Instance], sizes: Sizes, random: Random) -> Splits:
    """Deal out instances, sorted by cell, so that every split has the same shape."""
    wanted = sizes.by_split() if len(instances) >= sizes.total else scale_down(len(instances), sizes)
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


def top_constituents(survey: Survey, sizes: Sizes) -> Plan:
    """The sequence of constituents below the sentence node (or of the root's dependents), 19 classes and OTHER."""
    frequent, others = _choose_sequences(survey)
    if len(frequent) < 2:
        raise CannotBuildError(f"fewer than two sequences have {LEAST_SENTENCES} sentences or more")
    dropped: Counter[str] = Counter()
    classes = len(frequent) + others

    def classify(facts: Facts) -> str | None:
        if facts.top in frequent:
            return facts.top
        if facts.top and others:
            return OTHER
        dropped["punctuation inside, no final punctuation, or a sequence of one" if not facts.top else "too rare"] += 1
        return None

    def assemble(drawn: Drawn, random: Random) -> Splits:
        return deal(
            {str(label): [Instance(str(label), f.tokens) for f in found] for label, found in drawn.items()},
            sizes,
            random,
        )

    return Plan(
        classify=classify,
        capacity=lambda _: sizes.total // classes + len(SPLITS),
        assemble=assemble,
        settings={"classes": classes, "sequences_in_the_corpus": sum(map(bool, survey.tops))},
        dropped=dropped,
    )


def _choose_sequences(survey: Survey) -> tuple[frozenset[str], bool]:
    """Return the most frequent sequences, and whether the others are enough for a class.

    A sentence that comes again and again makes a sequence frequent, but not a class: only different sentences count.
    """
    counts = {top: count for top, count in survey.tops.items() if top and count >= LEAST_SENTENCES}
    ranked = sorted(counts, key=lambda top: (-counts[top], top))
    found: dict[str, set[int]] = {top: set() for top in ranked}
    rare: set[int] = set()
    lacking = set(ranked[:FREQUENT])
    for _, priority, facts in survey.records():
        known = found.get(facts.top, rare)
        if facts.top and len(known) < LEAST_SENTENCES:
            known.add(priority)
            if len(known) == LEAST_SENTENCES:
                lacking.discard(facts.top)
        if not lacking and len(rare) == LEAST_SENTENCES:
            break
    frequent = [top for top in ranked if len(found[top]) == LEAST_SENTENCES][:FREQUENT]
    others = rare.union(*(found[top] for top in ranked if top not in frequent))
    return frozenset(frequent), len(others) >= LEAST_SENTENCES


def bigram_shift(survey: Survey, sizes: Sizes) -> Plan:
    """Whether two neighbouring words were swapped."""
    dropped: Counter[str] = Counter()

    def classify(facts: Facts) -> bool | None:
        if not QUOTES.isdisjoint("".join(facts.tokens)):
            dropped["double quotes"] += 1
        elif next(swappable(facts.tokens), None) is None:
            dropped["no two neighbours to swap"] += 1
        else:
            return True
        return None

    def assemble(drawn: Drawn, random: Random) -> Splits:
        instances: dict[str, list[Instance]] = {"I": [], "O": []}
        taken: set[tuple[str, ...]] = set()
        for facts in drawn.get(True, ()):
            words = bag_of_words(facts.tokens)
            if words in taken:  # two real sentences that differ by a swap would be each other's other version
                continue
            taken.add(words)
            label = "I" if len(taken) % 2 else "O"
            places = list(swappable(facts.tokens))
            tokens = facts.tokens if label == "O" else swap(facts.tokens, random.choice(places))
            instances[label].append(Instance(label, tokens))
        return deal(instances, sizes, random)

    return Plan(
        classify=classify, capacity=lambda _: sizes.total + sizes.total // 50 + 8, assemble=assemble, dropped=dropped
    )


def swappable(tokens: tuple[str, ...]) -> Iterator[int]:
    """Yield the places whose token may be swapped with the next: words that differ, and not the first two."""
    for place in range(1, len(tokens) - 1):
        token, following = tokens[place], tokens[place + 1]
        if is_word(token) and is_word(following) and token.lower() != following.lower():
            yield place


def swap(tokens: tuple[str, ...], place: int) -> tuple[str, ...]:
    """Return the tokens with the one at a place and the next swapped."""
    return (*tokens[:place], tokens[place + 1], tokens[place], *tokens[place + 2 :])
