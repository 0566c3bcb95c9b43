"""Paired bootstrap resampling: sacrebleu's, from statistics alone."""

from __future__ import annotations

import random

import numpy as np
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.significance import PairedTest

from probing.translation import significance
from probing.translation.scoring import combine, count_ngrams
from probing.translation.significance import compare_bleu, compute_bleus, find_percentiles, resample

TEXT = "the cat sat on the mat while a dog barked at some birds in that old tree and nobody cared"


def make_references(count: int, seed: int = 0) -> list[str]:
    chance = random.Random(seed)
    return [" ".join(chance.choices(TEXT.split(), k=chance.randint(1, 20))) for _ in range(count)]


def translate(references: list[str], errors: float, seed: int) -> list[str]:
    """Return translations in which a share of the words is wrong."""
    chance = random.Random(seed)
    return [" ".join("x" if chance.random() < errors else word for word in line.split()) for line in references]


@pytest.fixture(scope="module")
def texts() -> tuple[list[str], list[list[str]]]:
    """Return references, and the translations of a baseline and of a better, a similar and a worse system."""
    references = make_references(300)
    return references, [translate(references, errors, seed) for seed, errors in enumerate([0.2, 0.17, 0.2, 0.3])]


@pytest.mark.parametrize("samples", [1000, 401])
def test_p_values_means_and_intervals_are_those_of_sacrebleu(
    texts: tuple[list[str], list[list[str]]], samples: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SACREBLEU_SEED", raising=False)
    references, systems = texts
    named = [(f"system {place}", outputs) for place, outputs in enumerate(systems)]
    _, found = PairedTest(named, {"BLEU": sacrebleu.BLEU()}, [references], test_type="bs", n_samples=samples)()
    expected = found["BLEU"]
    ours = resample([[count_ngrams(outputs, references)] for outputs in systems], samples=samples)
    for one, theirs in zip(ours, expected, strict=True):
        assert not isinstance(theirs, str)
        assert one.mean == theirs.score
        assert float(one.samples.mean()) == pytest.approx(theirs.mean, rel=1e-6)  # theirs are computed in float32
        assert one.half == pytest.approx(theirs.ci, rel=1e-5)
    for one, theirs in zip(ours[1:], expected[1:], strict=True):
        assert not isinstance(theirs, str)
        assert compare_bleu(one, ours[0]).p == theirs.p_value
    better, like, worse = (compare_bleu(one, ours[0]) for one in ours[1:])
    assert better.low > 0 > worse.high
    assert like.low < 0 < like.high
    assert max(better.p, worse.p) < 0.01 < 0.05 < like.p


def test_draws_in_pieces_are_the_same_draws(
    texts: tuple[list[str], list[list[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    references, systems = texts
    statistics = [[count_ngrams(outputs, references)] for outputs in systems[:2]]
    whole = resample(statistics, samples=100)
    monkeypatch.setattr(significance, "DRAWN", 7 * len(references))
    for one, other in zip(whole, resample(statistics, samples=100), strict=True):
        assert np.array_equal(one.samples, other.samples)


@given(st.lists(st.tuples(*[st.integers(0, 6)] * 4, *[st.integers(0, 3)] * 6), min_size=1, max_size=5))
def test_bleu_of_many_sums_is_that_of_each(rows: list[tuple[int, ...]]) -> None:
    """Lengths and matches may be 0; there are never more matches than n-grams."""
    statistics = [
        [row[0], row[1], *row[2:6], *(match + more for match, more in zip(row[2:6], row[6:], strict=True))]
        for row in rows
    ]
    sums = np.array([np.sum(statistics[: place + 1], axis=0) for place in range(len(statistics))], dtype=float)
    expected = [combine(statistics[: place + 1]) for place in range(len(statistics))]
    assert compute_bleus(sums).tolist() == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_seeds_are_averaged_on_each_sample(texts: tuple[list[str], list[list[str]]]) -> None:
    references, systems = texts
    statistics = [count_ngrams(outputs, references) for outputs in systems]
    alone = resample([[one] for one in statistics])
    together, baseline = resample([statistics[1:], statistics[:1]])
    assert together.seeds == tuple(combine(one) for one in statistics[1:])
    assert together.samples == pytest.approx(np.mean([one.samples for one in alone[1:]], axis=0))
    assert np.array_equal(baseline.samples, alone[0].samples)
    # Student's interval of three numbers: 4.3027 standard errors.
    error = float(np.std(together.seeds, ddof=1)) / 3**0.5
    assert together.half == pytest.approx(4.302652729911275 * error)
    # A difference of means over seeds that differ so much is less certain than one over sentences alone.
    compared = compare_bleu(together, baseline)
    low, high = find_percentiles(together.samples - baseline.samples)
    assert compared.difference == pytest.approx(together.mean - baseline.mean)
    assert compared.high - compared.low > 2 * (high - low)


def test_a_system_against_itself(texts: tuple[list[str], list[list[str]]]) -> None:
    references, systems = texts
    (one,) = resample([[count_ngrams(systems[0], references)]])
    compared = compare_bleu(one, one)
    assert (compared.difference, compared.low, compared.high) == (0, 0, 0)
