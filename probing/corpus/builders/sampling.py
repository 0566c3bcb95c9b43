"""Balanced, disjoint and reproducible samples.

Every sentence has a priority: a hash of its tokens and the seed. The sample of a stratum consists of the sentences with
the lowest priorities. It needs no more memory than the sample itself, and contains no sentence twice, because equal
sentences have equal priorities.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from random import Random
from typing import Any

from probing.corpus.instances import Instance, Splits
from probing.tasks import SPLITS

MIN_TRAIN = 1000
"""Smallest number of training instances, unless the user asks for fewer."""
MIN_TEST = 385
"""Smallest number of test instances: with it, the 95 % interval of an accuracy is at most 5 points to either side."""
SCARCE = 0.25
"""Share of the size asked for below which labels need not be equally frequent."""
MAX_IMBALANCE = 10
"""Largest ratio between label frequencies that is chosen without being asked for."""

NEARLY = 0.95
"""Share of the most information that is nearly as good, so that labels are more equal or classes more numerous."""

Pools = Mapping[str, Mapping[str, Sequence[Instance]]]
"""Split -> label -> instances to choose from."""


class CannotBuildError(Exception):
    """A task cannot be built from the corpus; the text is the reason."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """The requested numbers of instances."""

    train: int
    dev: int
    test: int
    imbalance: int | None = None
    """Largest allowed ratio between label frequencies, if a label is rare; None leaves it to the task."""
    min_train: int = 1
    """Smallest number of training instances that a task is built with."""
    min_test: int = 1
    """Smallest number of test instances that a task is built with."""

    @property
    def total(self) -> int:
        return self.train + self.dev + self.test

    def by_split(self) -> dict[str, int]:
        """Return split -> number of instances."""
        return {"tr": self.train, "va": self.dev, "te": self.test}

    def fit(self, available: int) -> Sizes:
        """Return sizes for fewer instances than asked for: in proportion, but with a test split that can be scored.

        The development split has at least half the smallest test split. A tenth is to spare, for what is lost later.
        """
        test, dev = (available * size // self.total for size in (self.test, self.dev))
        least = self.min_test + self.min_test // 10
        test, dev = max(test, min(least, self.test)), max(dev, min(least // 2, self.dev))
        train = min(available - test - dev, self.train)
        if available >= self.total or train < self.min_train or self.min_test == 1:
            return self
        return replace(self, train=train, dev=dev, test=test)


@dataclass(slots=True)
class Reservoir:
    """The sentences with the lowest priorities, each once, by their places in the temporary file."""

    capacity: int
    places: dict[int, int] = field(default_factory=dict)
    """Priority -> place of the sentence."""
    heap: list[int] = field(default_factory=list)
    """Priorities, negated so that the heap removes the highest first."""

    def offer(self, priority: int, place: int) -> None:
        """Keep the sentence if its priority is among the lowest so far."""
        if priority in self.places:
            return
        if len(self.heap) < self.capacity:
            heapq.heappush(self.heap, -priority)
        elif self.heap and priority < -self.heap[0]:
            del self.places[-heapq.heapreplace(self.heap, -priority)]
        else:
            return
        self.places[priority] = place

    def ranked(self) -> list[tuple[int, int]]:
        """Return the priority and place of each kept sentence, the lowest priority first."""
        return sorted(self.places.items())


def order(word: str, seed: object) -> bytes:
    """Return a sort key that puts words into a random order, the same in every run."""
    return blake2b(f"{seed}\t{word}".encode(), digest_size=8).digest()


def shares(total: int, parts: int) -> list[int]:
    """Return parts of a number that differ by at most one."""
    return [total // parts + (part < total % parts) for part in range(parts)]


def balance(available: Mapping[str, int], sizes: Sizes) -> dict[str, dict[str, int]]:
    """Return split -> label -> number of instances: the requested sizes, or fewer in the same proportions.

    Where a label is too rare for the requested sizes, no other label gets more than `sizes.imbalance` times as many.
    """
    labels = sorted(available)
    wanted = {
        split: dict(zip(labels, shares(size, len(labels)), strict=True)) for split, size in sizes.by_split().items()
    }
    if all(sum(wanted[split][label] for split in SPLITS) <= available[label] for label in labels):
        if not min(wanted["va"].values()) or not min(wanted["te"].values()) or not min(wanted["tr"].values()):
            raise CannotBuildError(f"the sizes asked for are too small for {len(labels)} classes")
        return wanted
    rarest = min(labels, key=lambda label: (available[label], label))
    if scale_down(available[rarest], sizes) is None:
        raise CannotBuildError(f"too few sentences of class {rarest}: {available[rarest]}")
    limited = limit(available, sizes.imbalance or 1, sizes)
    fitted = sizes.fit(sum(limited.values()))
    counts = {label: scale_down(number, fitted) or {} for label, number in limited.items()}
    return {split: {label: counts[label][split] for label in labels} for split in SPLITS}


def limit(available: Mapping[str, int], imbalance: int, sizes: Sizes) -> dict[str, int]:
    """Return label -> number of instances, at most `imbalance` times as many as of the rarest label."""
    most = min(imbalance * min(available.values()), sizes.total // len(available))
    return {label: min(number, most) for label, number in available.items()}


def measure_information(counts: Iterable[int]) -> float:
    """Return the entropy of labels in bits, times the root of their number.

    The score of a task lies between 0 and the entropy, and its standard error shrinks with the root of the instances.
    So this grows with the number of scores that can be told apart.
    """
    numbers = [count for count in counts if count]
    total = sum(numbers)
    return sum(count / total * math.log2(total / count) for count in numbers) * math.sqrt(total)


def choose_imbalance(available: Mapping[str, int], sizes: Sizes) -> int:
    """Return the largest ratio between label frequencies: 1, or where balanced labels are scarce, what informs most."""
    if sizes.imbalance is not None:
        return sizes.imbalance
    if sum(limit(available, 1, sizes).values()) >= SCARCE * sizes.total:
        return 1
    inform = [
        measure_information(limit(available, imbalance, sizes).values()) for imbalance in range(1, MAX_IMBALANCE + 1)
    ]
    return next(imbalance for imbalance, value in enumerate(inform, 1) if value >= NEARLY * max(inform))


def describe_choice(imbalance: int, sizes: Sizes, *, fewer: int | None = None) -> dict[str, Any]:
    """Return the datasheet's settings on a choice of classes: the ratio, and what was not asked for, if anything."""
    chosen = [f"{fewer} classes"] if fewer else []
    if imbalance > (sizes.imbalance or 1):
        chosen.append(f"labels up to {imbalance} times as frequent as another")
    more = {"chosen": f"{', '.join(chosen)}: balanced labels are scarce, and this informs most"} if chosen else {}
    return {"imbalance": imbalance, **more}


def scale_down(available: int, sizes: Sizes) -> dict[str, int] | None:
    """Divide sentences among the splits in the proportions of the sizes, at least one for each; None if too few."""
    if available < len(SPLITS):
        return None
    dev = max(1, available * sizes.dev // sizes.total)
    test = max(1, available * sizes.test // sizes.total)
    train = min(available * sizes.train // sizes.total, available - dev - test)
    return {"tr": train, "va": dev, "te": test} if train > 0 else None


def deal(instances: Mapping[str, Sequence[Instance]], sizes: Sizes, random: Random) -> Splits:
    """Divide the instances of each label (already in random order) into balanced splits, each in random order."""
    counts = balance({label: len(found) for label, found in instances.items()}, sizes)
    splits: Splits = {split: [] for split in SPLITS}
    for label in sorted(instances):
        start = 0
        for split in SPLITS:
            splits[split].extend(instances[label][start : start + counts[split][label]])
            start += counts[split][label]
    return shuffle(splits, random)


def even_out(splits: Pools, sizes: Sizes, random: Random) -> Splits:
    """Return the largest balanced set, in the proportions of the sizes, of instances whose splits are fixed."""
    wanted = sizes.by_split()
    labels = sorted({label for by_label in splits.values() for label in by_label})
    least = {split: min(len(splits[split].get(label, ())) for label in labels) for split in SPLITS}
    ratio = min(1.0, *(least[split] * len(labels) / wanted[split] for split in SPLITS))
    drawn: Splits = {}
    for split in SPLITS:
        counts = shares(wanted[split], len(labels))
        if ratio < 1 or any(len(splits[split][label]) < n for label, n in zip(labels, counts, strict=True)):
            counts = [max(min(1, least[split]), int(ratio * wanted[split] / len(labels) + 1e-9))] * len(labels)
        if not all(counts):
            raise CannotBuildError(f"split {split} has no sentence of one of the classes {', '.join(labels)}")
        drawn[split] = [
            instance for label, n in zip(labels, counts, strict=True) for instance in splits[split][label][:n]
        ]
    return shuffle(drawn, random)


def shuffle(splits: Splits, random: Random) -> Splits:
    """Return the splits, each put into random order."""
    for split in SPLITS:
        random.shuffle(splits[split])
    return splits


def assign_forms(counts: Mapping[str, Mapping[str, int]], sizes: Sizes, labels: Iterable[Hashable]) -> dict[str, str]:
    """Return form -> split, so that each split gets its share of every label.

    counts: form -> label -> number of sentences. Frequent forms are assigned first; a form goes to the split that lacks
    most of its label, and to a small split only if it does not fill more than a fifth of it.
    """
    wanted = sizes.by_split()
    names = sorted(map(str, labels))
    totals = {label: sum(by_label.get(label, 0) for by_label in counts.values()) for label in names}
    for label, total in totals.items():
        if not total:
            raise CannotBuildError(f"no target form of the label {label} is within the bounds of frequency")
    ratio = min(totals.values()) * len(names) / sizes.total
    needs = {(split, label): ratio * wanted[split] / len(names) for split in SPLITS for label in names}
    filled = dict.fromkeys(needs, 0)
    result = {}
    for form in sorted(counts, key=lambda form: (-sum(counts[form].values()), order(form, ""))):
        label, count = max(counts[form].items(), key=lambda item: (item[1], item[0]))
        open_splits = [split for split in SPLITS if split == "tr" or 5 * count <= max(5.0, needs[split, label])]
        split = max(open_splits, key=lambda split: 1 - filled[split, label] / needs[split, label])
        result[form] = split
        for label, count in counts[form].items():
            filled[split, label] += count
    for split, label in needs:
        if not filled[split, label] and split != "tr":
            _move_smallest(result, counts, split, label)
    return result


def _move_smallest(split_of: dict[str, str], counts: Mapping[str, Mapping[str, int]], split: str, label: str) -> None:
    """Move the training form with the fewest sentences of a label to a split that has none of the label."""
    forms = [form for form, home in split_of.items() if home == "tr" and counts[form].get(label)]
    if len(forms) > 1:
        split_of[min(forms, key=lambda form: (counts[form][label], form))] = split
