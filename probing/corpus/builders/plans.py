"""A plan says how a task is drawn from a corpus: by which strata, how many of each, and what becomes of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from probing.corpus.builders.facts import Facts
from probing.corpus.builders.sampling import Reservoir, Splits, odd_factor, scramble
from probing.corpus.builders.survey import Survey

CORPUS_TOKENS = 100_000_000
"""The size of the corpus that the original frequency bounds were chosen for."""
LEAST_PART = 0.25
"""Of all candidates, that frequency bounds are to leave."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The sentences drawn for a stratum, in random order, read from the spool when they are wanted."""

    survey: Survey
    places: list[int]

    def __len__(self) -> int:
        return len(self.places)

    def __iter__(self) -> Iterator[Facts]:
        return map(self.survey.fetch, self.places)


Drawn = Mapping[Hashable, Sample]


@dataclass(slots=True, kw_only=True)
class Plan:
    """How one task is drawn."""

    classify: Callable[[Facts], Hashable | None]
    """The stratum of a sentence; None if the task has no use for it."""
    capacity: Callable[[Hashable], int]
    """How many sentences of a stratum are to be drawn at most."""
    assemble: Callable[[Drawn, Random], Splits]
    """Make the instances and deal them out."""
    settings: dict[str, Any] = field(default_factory=dict)
    """The bounds in force, for the datasheet."""
    dropped: Counter[str] = field(default_factory=Counter)
    """How many sentences the task has no use for, by reason."""


class Drawing:
    """A plan at work: it is offered every sentence, and keeps the ones with the lowest priorities."""

    def __init__(self, name: str, plan: Plan) -> None:
        self.plan = plan
        self._factor = odd_factor(name)
        self._reservoirs: dict[Hashable, Reservoir] = {}

    def offer(self, place: int, priority: int, facts: Facts) -> None:
        stratum = self.plan.classify(facts)
        if stratum is None:
            return
        reservoir = self._reservoirs.get(stratum)
        if reservoir is None:
            reservoir = self._reservoirs[stratum] = Reservoir(self.plan.capacity(stratum))
        reservoir.offer(scramble(priority, self._factor), place)

    def draw(self, survey: Survey) -> Drawn:
        """Return the sentences drawn; one that got into two strata, by two different trees, stays in the first."""
        seen: set[int] = set()
        drawn: dict[Hashable, Sample] = {}
        for stratum in sorted(self._reservoirs, key=repr):
            fresh = [
                (priority, place) for priority, place in self._reservoirs[stratum].ranked() if priority not in seen
            ]
            seen.update(priority for priority, _ in fresh)
            drawn[stratum] = Sample(survey, [place for _, place in fresh])
        return drawn


def scale_bounds(low: int, high: int, tokens: int) -> tuple[int, int]:
    """Return frequency bounds for a corpus of so many tokens: in proportion to its size, but never below 2 and 20."""
    scale = min(1.0, tokens / CORPUS_TOKENS)
    lowest = max(2, round(low * scale))
    return lowest, max(10 * lowest, round(high * scale))


def widen_bounds(low: int, high: int, tokens: int, look: Callable[[int, int], tuple[bool, float]]) -> tuple[int, int]:
    """Double the upper bound until there is enough, but not beyond a thousandth of all tokens.

    `look` tells of bounds whether there is enough within them, and which part of all candidates. A corpus of few words
    has nearly all of its words above a thousandth: there, the bound goes up to where a quarter of the candidates is.
    """
    limit = max(high, tokens // 1000)
    while high < tokens:
        enough, part = look(low, high)
        if enough or (high >= limit and part >= LEAST_PART):
            break
        high = min(2 * high, limit if high < limit else tokens)
    return low, high
