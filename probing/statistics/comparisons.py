"""Comparisons of two models: paired tests, intervals of differences, and corrections for their number.

The evidence on one model and task is a matrix `right` of shape (S seeds, n test sentences). Both are samples: another
seed would train another model, another test set would hold other sentences. They are crossed, every seed sees every
sentence, so the variance of the mean has a part for each (the multi-reader, multi-case model of Obuchowski & Rockette
1995; there, readers judge cases as seeds judge sentences here). Few seeds tell the variance of seeds badly: it is drawn
towards that of the other cells of a table (`shrinkage`), and the p-value takes in how well it is known.
Shares are fractions, not percentages.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from scipy import special

from probing.statistics.intervals import CONFIDENCE, Interval
from probing.statistics.resampling import (
    VARIANCES,
    Floats,
    Part,
    Sample,
    count_differences,
    draw_variances,
    measure_sentences,
    swap_answers,
)
from probing.statistics.shrinkage import ALONE, SeedPrior

HALVINGS = 40
"""Number of times that the range of an interval's end is halved."""

Draw = Callable[[], Floats]
Test = Literal["mcnemar", "randomisation", "seeds"]


def mcnemar(only_first: int, only_second: int) -> float:
    """Return the exact two-sided p of McNemar's test from the sentences that only one of two models has right."""
    fewer = min(only_first, only_second)
    return min(1.0, 2 * float(special.bdtr(fewer, only_first + only_second, 0.5)))


def holm(p_values: Sequence[float], *, of: int | None = None) -> list[float]:
    """Return p-values that are corrected for their number (Holm 1979), or as some of a larger number."""
    p = np.asarray(p_values, dtype=np.float64)
    number = len(p) if of is None else of
    order = np.argsort(p, kind="stable")
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(number, number - len(p), -1)))
    return [float(value) for value in corrected]


@dataclass(frozen=True, eq=False)
class Comparison:
    """The difference of two models' accuracies, first - second, paired on the same test sentences.

    What is drawn by chance is drawn when it is needed: tables of a thousand comparisons need little of it.
    """

    difference: float
    test: Test
    """Test of `p`: McNemar's for one seed each, that over seeds for several, else approximate randomisation."""
    draw_variances: Draw
    """Draws of the difference's variance, as far as it is known."""
    parts: tuple[Part, ...]
    """Parts of that variance, and their degrees of freedom."""
    draw_swapped: Draw
    discordant: tuple[int, int] | None = None
    """With one seed each, the numbers of sentences that only the first, and only the second model has right."""
    differing: int = 0
    """Sentences on which the models do not do equally well."""
    squares: float = math.inf
    """The sum of the squares of what each sentence contributes to the difference."""

    @cached_property
    def variances(self) -> Floats:
        """How large the variance of the difference over other seeds and other sentences may be."""
        return self.draw_variances()

    @cached_property
    def swapped(self) -> Floats:
        """Approximate randomisation: differences after each sentence's two answers were swapped or not, by chance."""
        return self.draw_swapped()

    def reverse(self) -> Comparison:
        """Return the same comparison the other way round, second - first."""
        return replace(
            self,
            difference=-self.difference,
            draw_variances=lambda: self.variances,
            draw_swapped=lambda: -self.swapped,
            discordant=self.discordant and self.discordant[::-1],
        )

    @property
    def p(self) -> float:
        """Return the two-sided p-value of there being no difference."""
        match self.test:
            case "mcnemar":
                return self.p_mcnemar if self.p_mcnemar is not None else 1.0
            case "randomisation":
                return self.p_randomisation
            case "seeds":
                return self.p_normal()

    @property
    def p_mcnemar(self) -> float | None:
        return mcnemar(*self.discordant) if self.discordant is not None else None

    @property
    def p_randomisation(self) -> float:
        # Differences are sums of a few distinct fractions: equal ones differ by rounding only.
        reached = int(np.count_nonzero(np.abs(self.swapped) >= abs(self.difference) - 1e-12))
        p = (1 + reached) / (1 + len(self.swapped))
        if reached or not self.squares:
            return p
        # None of the draws: it is less likely than they can tell. This is the most it can be (Hoeffding 1963).
        return min(p, 2 * math.exp(-(self.difference**2) / (2 * self.squares)))

    def p_normal(self, supposed: float = 0.0) -> float:
        """Return the two-sided p-value of a supposed difference, over other seeds and other sentences.

        The difference is normal with a variance that is known only so well: the solution of Behrens and Fisher. With
        one part, it is Student's t. No draw is as extreme as the tail of one part, which is known exactly; and nothing
        is less likely than that all sentences that differ do so in the same direction.
        """
        distance = abs(self.difference - supposed)
        if distance == 0 or not self.variances.any():
            return 1.0
        tails = [
            2 * float(special.stdtr(part.freedom, -distance / math.sqrt(part.variance)))
            for part in self.parts
            if part.variance
        ]
        return max(self._exceed(distance), *tails, 2.0 ** (1 - self.differing))

    def _exceed(self, distance: float) -> float:
        """Return how likely a difference that is 0 in truth is observed at such a distance from it."""
        return 2 * float(special.ndtr(-distance / np.sqrt(self.variances)).mean())

    @cached_property
    def interval(self) -> Interval:
        """Return the 95 % interval: all differences whose p-value by the drawn variances is at least .05."""
        if not self.variances.any():
            return Interval(self.difference, self.difference)
        low, half = 0.0, 2 * math.sqrt(float(self.variances.max()))
        for _ in range(HALVINGS):
            middle = (low + half) / 2
            low, half = (middle, half) if self._exceed(middle) > 1 - CONFIDENCE else (low, middle)
        return Interval(max(-1.0, self.difference - half), min(1.0, self.difference + half))


def compare(first: Sample, second: Sample, *, stream: int = 0, prior: SeedPrior = ALONE) -> Comparison:
    """Compare two models on the same sentences; comparisons that are to be averaged need streams of their own.

    A model's seeds are its own: nothing ties seed 3 of one model to seed 3 of another, so only sentences are paired.
    `prior` is what the cells of a table tell together of how much seeds vary.
    """
    pair = (first, second)
    sizes = [sample.right.shape[1] for sample in pair]
    if sizes[0] != sizes[1]:
        raise ValueError(f"paired models must answer the same sentences. Got {sizes[0]} and {sizes[1]}")
    values, counts = count_differences(first, second)
    several = [sample for sample in pair if len(sample.right) > 1]
    found = [sample.shrink_seed_part(prior) for sample in several]
    seeds = [part for part in found if part is not None]
    sentences = measure_sentences(values, counts, first.residual + second.residual)

    def draw() -> Floats:
        drawn = [part.variance * draw_variances(part.freedom, (stream, n)) for n, part in enumerate(seeds, 1)]
        return np.asarray(sum(drawn, np.full(VARIANCES, sentences.variance)))

    return Comparison(
        difference=first.mean - second.mean,
        test="seeds" if len(several) == 2 else "randomisation" if several else "mcnemar",
        draw_variances=draw,
        parts=(*seeds, sentences),
        draw_swapped=lambda: swap_answers(values, counts, (stream, 0)),
        discordant=None if several else (int(counts[values > 0].sum()), int(counts[values < 0].sum())),
        differing=int(counts[values != 0].sum()),
        squares=float(counts @ values**2) / sizes[0] ** 2,
    )


def average_comparisons(comparisons: Sequence[Comparison]) -> Comparison:
    """Return the comparison of two models' averages over tasks; the tasks are given, seeds and sentences vary."""
    number = len(comparisons)
    kinds = {comparison.test for comparison in comparisons}
    return Comparison(
        difference=math.fsum(one.difference for one in comparisons) / number,
        test="seeds" if kinds == {"seeds"} else "randomisation",
        draw_variances=lambda: np.sum([one.variances for one in comparisons], axis=0) / number**2,
        parts=tuple(Part(part.variance / number**2, part.freedom) for one in comparisons for part in one.parts),
        draw_swapped=lambda: np.mean([one.swapped for one in comparisons], axis=0),
        differing=sum(one.differing for one in comparisons),
        squares=math.fsum(one.squares for one in comparisons) / number**2,
    )
