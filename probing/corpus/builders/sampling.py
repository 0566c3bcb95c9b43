"""Drawing balanced, disjoint, reproducible samples.

Every sentence has a priority: a hash of its tokens and the seed. The sample of a stratum is the sentences with the
lowest priorities. It needs no more memory than the sample itself, and holds no sentence twice, because equal sentences
have equal priorities.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from random import Random

SPLITS = ("tr", "va", "te")
TOP_PRIORITY = (1 << 64) - 1


class CannotBuildError(Exception):
    """The corpus cannot give a task; the text is the reason."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many instances the splits are to have."""

    train: int
    dev: int
    test: int
    imbalance: int = 1
    """Where a label is scarce, how many times as often others may occur."""

    @property
    def total(self) -> int:
        return self.train + self.dev + self.test

    def by_split(self) -> dict[str, int]:
        return {"tr": self.train, "va": self.dev, "te": self.test}


@dataclass(frozen=True, slots=True)
class Instance:
    """One line of a task file to be."""

    label: str
    tokens: Sequence[str]
    target: str | None = None
    """The word form that the label hangs on, where there is one."""


Splits = dict[str, list[Instance]]


@dataclass(slots=True)
class Reservoir:
    """The places of the sentences with the lowest priorities, each sentence once."""

    capacity: int
    places: dict[int, int] = field(default_factory=dict)
    """Place by priority, which is counted from the top: so the heap gives up the highest priority first."""
    heap: list[int] = field(default_factory=list)

    def offer(self, priority: int, place: int) -> None:
        """Keep the sentence if its priority is among the lowest."""
        from_top = TOP_PRIORITY - priority
        if from_top in self.places:
            return
        if len(self.heap) < self.capacity:
            heapq.heappush(self.heap, from_top)
        elif self.heap and self.heap[0] < from_top:
            del self.places[heapq.heapreplace(self.heap, from_top)]
        else:
            return
        self.places[from_top] = place

    def ranked(self) -> list[tuple[int, int]]:
        """Return (priority, place) of the sentences kept, the lowest priority first."""
        return sorted((TOP_PRIORITY - from_top, place) for from_top, place in self.places.items())


def scramble(priority: int, factor: int) -> int:
    """Return another priority of the same sentence, so that tasks do not all draw the same sentences."""
    return priority * factor & TOP_PRIORITY


def odd_factor(name: str) -> int:
    """Return the odd number that scrambles the priorities of a task."""
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little") | 1


def order(word: str, seed: object) -> bytes:
    """Return a key that puts words into a random order, the same in every run."""
    return blake2b(f"{seed}\t{word}".encode(), digest_size=8).digest()


def shares(total: int, parts: int) -> list[int]:
    """Split a number into parts that differ by one at most."""
    return [total // parts + (part < total % parts) for part in range(parts)]


def balance(available: Mapping[str, int], sizes: Sizes) -> dict[str, dict[str, int]]:
    """Return how many instances of each label each split gets: as asked, or what there is, in proportion.

    What there is: of all labels as much as of the rarest, or `sizes.imbalance` times as much.
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
    most = min(sizes.imbalance * available[rarest], sizes.total // len(labels))
    counts = {label: scale_down(min(available[label], most), sizes) or {} for label in labels}
    return {split: {label: counts[label][split] for label in labels} for split in SPLITS}


def scale_down(available: int, sizes: Sizes) -> dict[str, int] | None:
    """Split a number of sentences in the proportions of the sizes, with one in each split at least."""
    if available < len(SPLITS):
        return None
    dev = max(1, available * sizes.dev // sizes.total)
    test = max(1, available * sizes.test // sizes.total)
    train = min(available * sizes.train // sizes.total, available - dev - test)
    return {"tr": train, "va": dev, "te": test} if train > 0 else None


def deal(instances: Mapping[str, Sequence[Instance]], sizes: Sizes, random: Random) -> Splits:
    """Deal out instances by label (in random order already) into balanced splits, each in random order."""
    counts = balance({label: len(found) for label, found in instances.items()}, sizes)
    splits: Splits = {split: [] for split in SPLITS}
    for label in sorted(instances):
        start = 0
        for split in SPLITS:
            splits[split].extend(instances[label][start : start + counts[split][label]])
            start += counts[split][label]
    return shuffle(splits, random)


def even_out(splits: Mapping[str, Mapping[str, Sequence[Instance]]], sizes: Sizes, random: Random) -> Splits:
    """Cut labelled instances that are in splits already to the largest balanced set in the sizes' proportions."""
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


def format_splits(splits: Splits) -> str:
    """Return the text of a task file."""
    return "".join(
        f"{split}\t{instance.label}\t{' '.join(instance.tokens)}\n"
        for split, instances in splits.items()
        for instance in instances
    )


def shuffle(splits: Splits, random: Random) -> Splits:
    """Put each split into random order."""
    for split in SPLITS:
        random.shuffle(splits[split])
    return splits


def assign_forms(counts: Mapping[str, Mapping[str, int]], sizes: Sizes, labels: Iterable[Hashable]) -> dict[str, str]:
    """Return the split of each form, so that each split gets its share of every label.

    counts: form -> label -> sentences. Large forms come first; a form goes to the split that lacks most of its label,
    and into a small split only if it does not fill a fifth of it.
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
    """Give a split that would go without a label the training form with the fewest sentences of it."""
    forms = [form for form, home in split_of.items() if home == "tr" and counts[form].get(label)]
    if len(forms) > 1:
        split_of[min(forms, key=lambda form: (counts[form][label], form))] = split
