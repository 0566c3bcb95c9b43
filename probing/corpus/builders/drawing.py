"""The drawing of a task's sentences from a corpus: by strata, with a limit for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from random import Random
from typing import Any

from probing.corpus.builders.annotations import Annotations
from probing.corpus.builders.sampling import Reservoir
from probing.corpus.builders.survey import Survey
from probing.corpus.instances import Instance, Splits

CORPUS_TOKENS = 100_000_000
"""Size of the corpus that the original frequency bounds were chosen for."""
LEAST_PART = 0.25
"""Smallest share of all candidates that frequency bounds should leave."""


@dataclass(frozen=True, slots=True)
class DrawnSentences:
    """The sentences drawn for a stratum, in random order, read from the temporary file when they are used."""

    survey: Survey
    places: list[int]

    def __len__(self) -> int:
        return len(self.places)

    def __iter__(self) -> Iterator[Annotations]:
        return map(self.survey.fetch, self.places)


Drawn = Mapping[Hashable, DrawnSentences]
"""Stratum -> the sentences drawn for it."""


def label_sentences(drawn: Drawn) -> dict[str, list[Instance]]:
    """Return label -> instances, for a task whose strata are its labels."""
    return {str(label): [Instance(str(label), sentence.tokens) for sentence in found] for label, found in drawn.items()}


@dataclass(slots=True, kw_only=True)
class SamplingDesign:
    """The sampling design of one task: its strata, their sizes, and how instances are made of the sentences."""

    classify: Callable[[Annotations], Hashable | None]
    """Function that returns the stratum of a sentence; None if the task cannot use it."""
    capacity: Callable[[Hashable], int]
    """Function that returns the largest number of sentences to draw for a stratum."""
    assemble: Callable[[Drawn, Random], Splits]
    """Function that makes the instances and divides them among the splits."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Bounds and choices, for the datasheet."""
    dropped: Counter[str] = field(default_factory=Counter)
    """Reason -> number of sentences that the task cannot use."""


def describe_losses(dropped: Mapping[str, int]) -> str:
    """Return the two most frequent reasons why a task could not use sentences, to be put after a text."""
    ranked = sorted(dropped.items(), key=lambda item: (-item[1], item[0]))[:2]
    return f"; left out: {', '.join(f'{count} ({reason})' for reason, count in ranked)}" if ranked else ""


class Sampler:
    """Draws the sample of one task: from all sentences, it keeps those with the lowest priorities."""

    def __init__(self, name: str, design: SamplingDesign) -> None:
        self.design = design
        # An odd number, by which priorities are scrambled so that tasks do not all draw the same sentences.
        self._factor = int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little") | 1
        self._reservoirs: dict[Hashable, Reservoir] = {}

    def offer(self, place: int, priority: int, sentence: Annotations) -> None:
        """Keep a sentence if the task can use it and its priority is low enough."""
        stratum = self.design.classify(sentence)
        if stratum is None:
            return
        reservoir = self._reservoirs.get(stratum)
        if reservoir is None:
            reservoir = self._reservoirs[stratum] = Reservoir(self.design.capacity(stratum))
        reservoir.offer(priority * self._factor % (1 << 64), place)

    def draw(self, survey: Survey) -> Drawn:
        """Return the sentences drawn; one that is in two strata, because it has two trees, stays in the first only."""
        seen: set[int] = set()
        drawn: dict[Hashable, DrawnSentences] = {}
        for stratum in sorted(self._reservoirs, key=repr):
            ranked = self._reservoirs[stratum].ranked()
            drawn[stratum] = DrawnSentences(survey, [place for priority, place in ranked if priority not in seen])
            seen.update(priority for priority, _ in ranked)
        return drawn


def scale_bounds(low: int, high: int, tokens: int) -> tuple[int, int]:
    """Return frequency bounds in proportion to the tokens of a corpus, but at least 2 and 20."""
    scale = min(1.0, tokens / CORPUS_TOKENS)
    lowest = max(2, round(low * scale))
    return lowest, max(10 * lowest, round(high * scale))


def widen_bounds(low: int, high: int, tokens: int, look: Callable[[int, int], tuple[bool, float]]) -> tuple[int, int]:
    """Return the bounds, the upper one doubled until there are enough candidates, up to a thousandth of all tokens.

    look: returns whether there are enough candidates within two bounds, and their share of all candidates.

    In a corpus of few different words, nearly all of them are more frequent than a thousandth. There, the upper bound
    rises until a quarter of the candidates is within the bounds.
    """
    limit = max(high, tokens // 1000)
    while high < tokens:
        enough, part = look(low, high)
        if enough or (high >= limit and part >= LEAST_PART):
            break
        high = min(2 * high, limit if high < limit else tokens)
    return low, high
