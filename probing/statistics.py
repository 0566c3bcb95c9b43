"""Intervals, paired tests and corrections for accuracies.

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
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import special

CONFIDENCE = 0.95
RESAMPLES = 10_000
SEED = 20_190_602
"""Of the resampling, so that the same records always give the same report."""

NORMAL = 0.1
"""Up to this ratio E|x|³ / (σ³ √n), which a hundred sentences that differ have, a mean over n sentences is drawn from
the normal distribution: it is as good as normal (Berry & Esseen)."""

Right = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Draw = Callable[[], Floats]
Test = Literal["mcnemar", "randomisation", "bootstrap"]


@dataclass(frozen=True, slots=True)
class Interval:
    """Where a share, or a difference of two, lies with 95 % confidence."""

    low: float
    high: float

    def overlaps(self, other: Interval) -> bool:
        return self.low <= other.high and other.low <= self.high


@dataclass(frozen=True, slots=True)
class Part:
    """One independent part of a mean's variance, and from how many free values it was estimated."""

    variance: float
    freedom: float


def add_parts(parts: Sequence[Part]) -> Part:
    """Return the whole variance with Satterthwaite's degrees of freedom."""
    total = sum(part.variance for part in parts)
    if total == 0:
        return Part(0.0, math.inf)
    return Part(total, 1 / sum((part.variance / total) ** 2 / part.freedom for part in parts if part.variance))


def wilson_interval(share: float, size: float, *, freedom: float = math.inf) -> Interval:
    """Return Wilson's score interval; with finite degrees of freedom, by Student's quantile instead of the normal."""
    quantile = _student_quantile(freedom)
    weight = quantile**2 / size
    centre = (share + weight / 2) / (1 + weight)
    half = quantile / (1 + weight) * math.sqrt(share * (1 - share) / size + weight / (4 * size))
    return Interval(max(0.0, centre - half), min(1.0, centre + half))


def accuracy_interval(right: Right) -> Interval:
    """Return the interval of a cell's mean accuracy over other seeds and other test sentences.

    Wilson's, with the effective sample size p (1 - p) / variance of the mean (Kish; Franco et al. 2019): for one seed
    this is n, and the interval is the plain one of Wilson, over other sentences only.
    """
    seeds, sentences = right.shape
    share = float(right.mean())
    if seeds == 1 or share in (0.0, 1.0):
        return wilson_interval(share, sentences)
    whole = add_parts([_seed_part(right), _sentence_part(right)])
    size = share * (1 - share) / whole.variance if whole.variance else sentences
    return wilson_interval(share, size, freedom=whole.freedom)


def average_interval(shares: Sequence[float], intervals: Sequence[Interval]) -> Interval:
    """Return the interval of the average of independent shares from theirs (MOVER; Zou & Donner 2008)."""
    average = math.fsum(shares) / len(shares)
    below = math.hypot(*(share - interval.low for share, interval in zip(shares, intervals, strict=True)))
    above = math.hypot(*(interval.high - share for share, interval in zip(shares, intervals, strict=True)))
    return Interval(average - below / len(shares), average + above / len(shares))


def difference_interval(shares: Sequence[float], intervals: Sequence[Interval]) -> Interval:
    """Return the interval of the first of two independent shares - the second (Newcombe 1998, method 10; MOVER)."""
    (first, second), (ours, theirs) = shares, intervals
    below = math.hypot(first - ours.low, theirs.high - second)
    above = math.hypot(ours.high - first, second - theirs.low)
    return Interval(first - second - below, first - second + above)


def mcnemar(only_first: int, only_second: int) -> float:
    """Return the exact two-sided p of McNemar's test from the sentences that only one of two models has right."""
    fewer = min(only_first, only_second)
    return min(1.0, 2 * float(special.bdtr(fewer, only_first + only_second, 0.5)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values that are corrected for their number (Holm 1979)."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return [float(value) for value in corrected]


@dataclass(frozen=True, eq=False)
class Comparison:
    """The difference of two models' accuracies, first - second, paired on the same test sentences.

    What is drawn by chance is drawn when it is needed: tables of a thousand comparisons need little of it.
    """

    difference: float
    test: Test
    """What `p` is by: for one seed each McNemar's, for several the bootstrap, else approximate randomisation."""
    draw_deviations: Draw
    parts: tuple[Part, ...]
    """Of the difference's variance."""
    draw_swapped: Draw
    discordant: tuple[int, int] | None = None
    """For one seed each: the sentences that only the first, and only the second model has right."""

    @cached_property
    def deviations(self) -> Floats:
        """The bootstrap: how far differences of resampled seeds and sentences lie from the one observed."""
        return self.draw_deviations()

    @cached_property
    def swapped(self) -> Floats:
        """Approximate randomisation: differences after each sentence's two answers were swapped or not, by chance."""
        return self.draw_swapped()

    def turned(self) -> Comparison:
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
        reached = np.count_nonzero(np.abs(self.swapped) >= abs(self.difference) - 1e-12)
        return (1 + int(reached)) / (1 + len(self.swapped))

    def p_bootstrap(self, supposed: float = 0.0) -> float:
        """Return the two-sided p-value of a supposed difference."""
        distance = abs(self.difference - supposed)
        if distance == 0:
            return 1.0
        freedom = add_parts(self.parts).freedom
        ratios = (self.deviations / distance) ** 2
        # The share of deviations that reach the distance when each is scaled like Student's t, sqrt(f / chi2_f).
        reached = ratios >= 1 if math.isinf(freedom) else special.chdtr(freedom, freedom * ratios)
        return (1 + float(np.sum(reached))) / (1 + len(ratios))

    @property
    def interval(self) -> Interval:
        """Return the interval of the difference, by Student's t with the bootstrap's variance and freedom."""
        whole = add_parts(self.parts)
        half = _student_quantile(whole.freedom) * math.sqrt(whole.variance)
        return Interval(max(-1.0, self.difference - half), min(1.0, self.difference + half))


def compare(first: Right, second: Right, *, stream: int = 0) -> Comparison:
    """Compare two models on the same sentences; comparisons that are to be averaged need streams of their own.

    A model's seeds are its own: nothing ties seed 3 of one model to seed 3 of another, so only sentences are paired.
    """
    if first.shape[1] != second.shape[1]:
        raise ValueError(f"paired models must answer the same sentences. Got {first.shape[1]} and {second.shape[1]}")
    pair = (first, second)
    values, counts = _count_differences(first, second)
    single = [len(right) == 1 for right in pair]
    seed_parts = [_seed_part(right) if len(right) > 1 else None for right in pair]
    sentences = _Sentences(values, counts, _residual(first) + _residual(second))

    def draw_deviations() -> Floats:
        deviations = sentences.draw(np.random.default_rng([SEED, stream]))
        for place, (right, part) in enumerate(zip(pair, seed_parts, strict=True), 1):
            if part is not None:
                deviations += _resample_seeds(right, part, (SEED, stream, place))
        return deviations

    return Comparison(
        difference=float(first.mean() - second.mean()),
        test="mcnemar" if all(single) else "randomisation" if any(single) else "bootstrap",
        draw_deviations=draw_deviations,
        parts=(*(part for part in seed_parts if part is not None), sentences.part),
        draw_swapped=lambda: _swap(values, counts, np.random.default_rng([SEED, stream, 0])),
        discordant=(int(counts[values > 0].sum()), int(counts[values < 0].sum())) if all(single) else None,
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
    )


def _student_quantile(freedom: float) -> float:
    upper = (1 + CONFIDENCE) / 2
    return float(special.ndtri(upper) if math.isinf(freedom) else special.stdtrit(freedom, upper))


def _seed_part(right: Right) -> Part:
    """Return what the draw of S seeds adds to the variance of their mean, with the noise of each answer.

    Few seeds can agree by luck: the noise of the answers, which is known much better, is the least there is.
    """
    seeds, sentences = right.shape
    between = float(right.mean(axis=1).var(ddof=1)) / seeds
    noise = _residual(right) / sentences
    return Part(between, seeds - 1) if between >= noise else Part(noise, (seeds - 1) * (sentences - 1))


def _sentence_part(right: Right) -> Part:
    """Return what the draw of n sentences adds, without the noise of each answer: the seeds' part has it."""
    sentences = right.shape[1]
    if sentences == 1:
        return Part(0.0, math.inf)
    spread = float(right.mean(axis=0).var(ddof=1)) - _residual(right)
    return Part(max(0.0, spread) / sentences, sentences - 1)


def _residual(right: Right) -> float:
    """Return the variance of a sentence's mean over seeds that neither the sentence nor the seeds explain."""
    seeds, sentences = right.shape
    if seeds == 1 or sentences == 1:
        return 0.0
    # The sums of squares of a two-way table without its making: x^2 = x for zeros and ones.
    mean = float(right.mean())
    whole = right.size * mean * (1 - mean)
    between_seeds = sentences * float(np.square(right.mean(axis=1) - mean).sum())
    between_sentences = seeds * float(np.square(right.mean(axis=0) - mean).sum())
    left = max(0.0, whole - between_seeds - between_sentences)
    return float(left / ((seeds - 1) * (sentences - 1) * seeds))


def _count_differences(first: Right, second: Right) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Return the differences that a sentence's means over seeds can have, from -1 to 1, and how many sentences do."""
    of_first, of_second = len(first), len(second)
    scaled = first.sum(axis=0) * of_second - second.sum(axis=0) * of_first + of_first * of_second
    counts = np.bincount(scaled, minlength=2 * of_first * of_second + 1)
    return np.arange(len(counts)) / (of_first * of_second) - 1, counts


class _Sentences:
    """The mean over resampled sentences: its deviations, and their variance.

    Half a sentence is added for each of the four outcomes of a pair (Agresti & Min 2005), so that two models that never
    differ in n sentences are not said to be equal. Drawing n sentences is drawing how often each difference occurs.
    """

    def __init__(self, values: Floats, counts: npt.NDArray[np.int64], residual: float) -> None:
        sentences = int(counts.sum())
        shares = counts / (sentences + 2)
        shares[[0, -1, len(shares) // 2]] += np.array([0.5, 0.5, 1.0]) / (sentences + 2)
        self.size, self.shares = sentences + 2, shares[shares > 0]
        self.deviations = values[shares > 0] - float(values @ shares)
        self.spread = float(np.square(self.deviations) @ self.shares)
        self.kept = max(0.0, 1 - residual / self.spread)
        self.part = Part(self.spread * self.kept / self.size, max(1, sentences - 1))

    def draw(self, rng: np.random.Generator) -> Floats:
        third_moment = float(np.abs(self.deviations) ** 3 @ self.shares)
        if third_moment <= NORMAL * self.spread**1.5 * math.sqrt(self.size):
            return rng.normal(0, math.sqrt(self.part.variance), RESAMPLES)
        drawn = rng.multinomial(self.size, self.shares, size=RESAMPLES) @ self.deviations / self.size
        return np.asarray(drawn * math.sqrt(self.kept), dtype=np.float64)


def _resample_seeds(right: Right, part: Part, stream: tuple[int, ...]) -> Floats:
    """Return deviations of the mean over resampled seeds, widened as S of S seeds vary too little (Rao & Wu 1988)."""
    accuracies = right.mean(axis=1)
    seeds = len(accuracies)
    if part.freedom > seeds - 1:  # the seeds do not differ beyond the noise of n answers, which is normal
        return np.random.default_rng(stream).normal(0, math.sqrt(part.variance), RESAMPLES)
    widened = (accuracies - accuracies.mean()) * math.sqrt(seeds / (seeds - 1))
    return np.asarray(_draw_seeds(seeds, RESAMPLES, stream) @ widened.astype(np.float32), dtype=np.float64)


@lru_cache(maxsize=32)
def _draw_seeds(seeds: int, resamples: int, stream: tuple[int, ...]) -> npt.NDArray[np.float32]:
    """Return which share of a resample each seed is: the same draws serve for all models of a column."""
    drawn = (
        np.random.default_rng(stream).integers(seeds, size=(resamples, seeds)) + seeds * np.arange(resamples)[:, None]
    )
    counts = np.bincount(drawn.ravel(), minlength=resamples * seeds).reshape(resamples, seeds)
    return (counts / seeds).astype(np.float32)


def _swap(values: Floats, counts: npt.NDArray[np.int64], rng: np.random.Generator) -> Floats:
    """Return mean differences after the signs of all sentences' differences were drawn anew."""
    positive = len(values) // 2 + 1
    sizes = counts[positive:] + counts[positive - 2 :: -1]
    kept = rng.binomial(sizes[sizes > 0], 0.5, size=(RESAMPLES, np.count_nonzero(sizes)))
    signed = 2 * kept - sizes[sizes > 0]
    return np.asarray(signed @ values[positive:][sizes > 0] / counts.sum(), dtype=np.float64)
