"""Paired bootstrap resampling of BLEU (Koehn 2004), as sacrebleu does it, from statistics that were counted once.

Test sentences are drawn with replacement, the same ones for all systems, and each system's BLEU is computed on every
draw. A system that was trained with several seeds has the mean BLEU of its seeds on every draw, so its p-value is about
these trained models on other sentences. Shapes: K seeds, S sentences, R samples.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from probing.statistics import Part, add_parts, compute_half, student_quantile
from probing.translation.scoring import ORDER, combine

SAMPLES, SEED = 1000, 12345
"""Number of samples and seed of the draws, which are sacrebleu's defaults."""
DRAWN = 4_000_000
"""Largest number of sentences that are drawn at once."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class SystemBleu:
    """BLEU of one system on a test set, and on each sample of its sentences."""

    seeds: tuple[float, ...]
    """BLEU of each seed on the whole test set."""
    samples: Floats
    """Mean BLEU over seeds on each sample."""

    @property
    def mean(self) -> float:
        """Mean BLEU over seeds."""
        return math.fsum(self.seeds) / len(self.seeds)

    @property
    def half(self) -> float:
        """Half of the 95 % interval: Student's over seeds, or over samples of sentences if there is one seed."""
        if len(self.seeds) > 1:
            return compute_half(self.seeds)
        low, high = find_percentiles(self.samples)
        return (high - low) / 2

    @property
    def seed_variance(self) -> float:
        """Variance of the mean over seeds; 0 for one seed, of which it is not known."""
        return float(np.var(self.seeds, ddof=1)) / len(self.seeds) if len(self.seeds) > 1 else 0.0


@dataclass(frozen=True, slots=True)
class BleuDifference:
    """Difference of two systems in BLEU, first - second."""

    difference: float
    low: float
    """Lower end of the 95 % interval, over other sentences and, where several were trained, other seeds."""
    high: float
    """Upper end of the 95 % interval."""
    p: float
    """P-value of the paired bootstrap."""


def resample(
    systems: Sequence[Sequence[Sequence[Sequence[int]]]], *, samples: int = SAMPLES, seed: int = SEED
) -> list[SystemBleu]:
    """Return the BLEU of systems on the same samples, each given by the statistics of its seeds on the same sentences.

    A system's statistics are K x S x 10 whole numbers.
    """
    runs = [np.asarray(run, dtype=np.float64) for system in systems for run in system]
    size = len(runs[0])
    table = np.concatenate(runs, axis=1)  # S x (runs * 10)
    generator = np.random.default_rng(seed)
    found = []
    for first in range(0, samples, step := max(1, DRAWN // size)):
        drawn = generator.choice(size, size=(min(step, samples - first), size), replace=True)
        # How often each sentence was drawn; a product then adds up the statistics, exactly, of all systems at once.
        times = np.stack([np.bincount(row, minlength=size) for row in drawn]).astype(np.float64)
        found.append(compute_bleus((times @ table).reshape(len(drawn), len(runs), -1)))
    bleus = np.concatenate(found).T  # runs x R
    ends = np.cumsum([len(system) for system in systems])[:-1]
    return [
        SystemBleu(tuple(combine(run) for run in system), part.mean(axis=0))
        for system, part in zip(systems, np.split(bleus, ends), strict=True)
    ]


def compare_bleu(first: SystemBleu, second: SystemBleu) -> BleuDifference:
    """Compare two systems that were resampled together.

    The p-value is sacrebleu's: how often the absolute difference on a sample, less its mean, is above the real one. The
    interval is Student's; its variance is that over samples plus those of the two means over seeds.
    """
    difference = first.mean - second.mean
    drawn = np.abs(first.samples - second.samples)
    p = (int(np.sum(drawn - drawn.mean() > abs(difference))) + 1) / (len(drawn) + 1)
    parts = [Part(float(np.var(first.samples - second.samples, ddof=1)), len(drawn) - 1)]
    parts += [Part(one.seed_variance, len(one.seeds) - 1) for one in (first, second) if len(one.seeds) > 1]
    whole = add_parts(parts)
    half = student_quantile(whole.freedom) * math.sqrt(whole.variance)
    return BleuDifference(difference, difference - half, difference + half, p)


def find_percentiles(samples: Floats) -> tuple[float, float]:
    """Return the 2.5th and the 97.5th percentile, as sacrebleu picks them."""
    ordered = np.sort(samples)
    cut = len(ordered) // 40
    return float(ordered[cut]), float(ordered[len(ordered) - cut - 1])


def compute_bleus(sums: Floats) -> Floats:
    """Return sacrebleu's BLEU for each row of added statistics (… x 10), none above 100."""
    lengths, references = sums[..., 0], sums[..., 1]
    matches, totals = sums[..., 2 : 2 + ORDER], sums[..., 2 + ORDER :]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        brevity = np.where(lengths < references, np.exp(1 - references / lengths), 1.0)
        # The nth order without a match counts as 1 / 2^n of a match.
        halved = 2.0 ** np.cumsum(matches == 0, axis=-1)
        precisions = np.where(matches == 0, 1 / halved, matches) / totals
        scores = 100 * brevity * np.exp(np.log(precisions).mean(axis=-1))
    defined = matches.any(axis=-1) & (totals > 0).all(axis=-1)
    return np.where(defined, np.minimum(scores, 100.0), 0.0)
