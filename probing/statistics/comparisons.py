"""Comparisons of two models: paired tests, intervals of differences, and corrections for their number.

The evidence on one model and task is a matrix `right` of shape (S seeds, n test sentences). Both are samples: another
seed would train another model, another test set would hold other sentences. They are crossed, every seed sees every
sentence, so the variance of the mean has a part for each (the multi-reader, multi-case model of Obuchowski & Rockette
1995 with the degrees of freedom of Hillis 2007; there, readers judge cases as seeds judge sentences here).
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

from probing.statistics.intervals import Interval, add_parts, student_quantile
from probing.statistics.resampling import (
    Floats,
    Part,
    Sample,
    Sentences,
    chi_squared_share,
    count_differences,
    resample_seeds,
    swap_answers,
)

Draw = Callable[[], Floats]
Test = Literal["mcnemar", "randomisation", "bootstrap"]


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
    """Test of `p`: McNemar's for one seed each, the bootstrap for several, else approximate randomisation."""
    draw_deviations: Draw
    parts: tuple[Part, ...]
    """Degrees of freedom of the difference's variance."""
    draw_swapped: Draw
    discordant: tuple[int, int] | None = None
    """With one seed each, the numbers of sentences that only the first, and only the second model has right."""
    differing: int = 0
    """Sentences on which the models do not do equally well."""
    squares: float = math.inf
    """The sum of the squares of what each sentence contributes to the difference."""

    @cached_property
    def deviations(self) -> Floats:
        """The bootstrap: how far differences of resampled seeds and sentences lie from the one observed."""
        return self.draw_deviations()

    @cached_property
    def swapped(self) -> Floats:
        """Approximate randomisation: differences after each sentence's two answers were swapped or not, by chance."""
        return self.draw_swapped()

    def reverse(self) -> Comparison:
        """Return the same comparison the other way round, second - first."""
        return replace(
            self,
            difference=-self.difference,
            draw_deviations=lambda: -self.deviations,
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
            case "bootstrap":
                return self.p_bootstrap()

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

    def p_bootstrap(self, supposed: float = 0.0) -> float:
        """Return the two-sided p-value of a supposed difference."""
        distance = abs(self.difference - supposed)
        if distance == 0:
            return 1.0
        freedom = add_parts(self.parts).freedom
        ratios = np.abs(self.deviations) / distance
        # The share of deviations that reach the distance when each is scaled like Student's t, sqrt(f / chi2_f).
        reached = float(np.sum(ratios >= 1 if math.isinf(freedom) else chi_squared_share(ratios, freedom)))
        p = (1 + reached) / (1 + len(ratios))
        return p if reached >= 1 else min(p, self._tail(distance))

    def _tail(self, distance: float) -> float:
        """Return how likely so great a distance is, where draws cannot tell: by Student's t, as the interval.

        Nothing is less likely than that all sentences that differ do so in the same direction.
        """
        whole = add_parts(self.parts)
        if whole.variance == 0:
            return 1.0
        ratio = distance / math.sqrt(whole.variance)
        below = special.ndtr(-ratio) if math.isinf(whole.freedom) else special.stdtr(whole.freedom, -ratio)
        return max(2 * float(below), 2.0 ** (1 - self.differing))

    @property
    def interval(self) -> Interval:
        """Return the interval of the difference, by Student's t with the bootstrap's variance and freedom."""
        whole = add_parts(self.parts)
        half = student_quantile(whole.freedom) * math.sqrt(whole.variance)
        return Interval(max(-1.0, self.difference - half), min(1.0, self.difference + half))


def compare(first: Sample, second: Sample, *, stream: int = 0) -> Comparison:
    """Compare two models on the same sentences; comparisons that are to be averaged need streams of their own.

    A model's seeds are its own: nothing ties seed 3 of one model to seed 3 of another, so only sentences are paired.
    """
    pair = (first, second)
    sizes = [sample.right.shape[1] for sample in pair]
    if sizes[0] != sizes[1]:
        raise ValueError(f"paired models must answer the same sentences. Got {sizes[0]} and {sizes[1]}")
    values, counts = count_differences(first, second)
    several = [(place, sample) for place, sample in enumerate(pair, 1) if len(sample.right) > 1]
    sentences = Sentences(values, counts, first.residual + second.residual)

    def draw_deviations() -> Floats:
        deviations = sentences.draw((stream,))
        for place, sample in several:
            deviations += resample_seeds(sample, (stream, place))
        return deviations

    return Comparison(
        difference=first.mean - second.mean,
        test="bootstrap" if len(several) == 2 else "randomisation" if several else "mcnemar",
        draw_deviations=draw_deviations,
        parts=(*(sample.seed_part for _, sample in several), sentences.part),
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
        test="bootstrap" if kinds == {"bootstrap"} else "randomisation",
        draw_deviations=lambda: np.mean([one.deviations for one in comparisons], axis=0),
        parts=tuple(Part(part.variance / number**2, part.freedom) for one in comparisons for part in one.parts),
        draw_swapped=lambda: np.mean([one.swapped for one in comparisons], axis=0),
        differing=sum(one.differing for one in comparisons),
        squares=math.fsum(one.squares for one in comparisons) / number**2,
    )
