"""Paired tests: against exact ones, literal resampling and simulated models; corrections for their number."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from probing.statistics import comparisons, resampling
from probing.statistics.comparisons import Comparison, average_comparisons, holm, mcnemar
from probing.statistics.intervals import add_parts
from probing.statistics.resampling import Part, Sample
from probing.statistics.shrinkage import SeedPrior
from tests.statistics.simulation import answers, simulate


def compare(first, second, **options):
    return comparisons.compare(Sample(first), Sample(second), **options)


@pytest.fixture
def few_resamples(monkeypatch):
    """Simulations repeat the test hundreds of times; each may be coarse."""
    monkeypatch.setattr(resampling, "RESAMPLES", 399)


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_exact_binomial_test(first, second):
    expected = stats.binomtest(first, first + second).pvalue if first + second else 1.0
    assert mcnemar(first, second) == pytest.approx(expected)


def every_swap(first, second):
    """Return the p-value over all ways of swapping the two models' answers to a sentence."""
    differences = first.mean(axis=0) - second.mean(axis=0)
    observed = abs(differences.mean()) - 1e-12
    signs = itertools.product([1, -1], repeat=len(differences))
    means = [abs(np.mean(differences * sign)) for sign in signs]
    return np.mean([mean >= observed for mean in means])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("111111111100", "111100010000"),
        ("1110011101", "1010011100"),
        ("1111111111 1111111110 1111110110", "1110011100"),
        ("1111011111 0111111110", "1110011100 0100101101 1110000100"),
    ],
)
def test_approximate_randomisation_approaches_the_exact_one(first, second):
    first, second = answers(first), answers(second)
    comparison = compare(first, second)
    assert comparison.p_randomisation == pytest.approx(every_swap(first, second), abs=0.015)
    if len(first) == len(second) == 1:
        assert comparison.p == comparison.p_mcnemar == pytest.approx(every_swap(first, second))


def test_which_test_the_p_value_is_by():
    one, two = answers("1100"), answers("1101 0110")
    assert compare(one, one).test == "mcnemar"
    assert compare(one, one).discordant == (0, 0)
    assert compare(one, two).test == "randomisation"
    assert compare(one, two).p == compare(one, two).p_randomisation
    assert compare(two, one).discordant is None
    assert compare(two, two).test == "seeds"
    assert compare(two, one).p_mcnemar is None


def test_the_parts_of_the_variance_are_those_of_the_two_way_table():
    """Written out: the seeds' part is the ratio MSR/MSE, drawn to the prior, times MSE / (S n)."""
    rng = np.random.default_rng(3)
    first = simulate(rng, np.linspace(0.4, 1.0, 60), seeds=3, spread=0.05)
    second = simulate(rng, np.linspace(0.3, 0.9, 60), seeds=4, spread=0.05)
    prior = SeedPrior(scale=3.0, freedom=6.0)
    expected = []
    noise = 0.0
    for right in (first, second):
        seeds, sentences = right.shape
        residuals = right - right.mean(axis=1, keepdims=True) - right.mean(axis=0) + right.mean()
        mse = np.square(residuals).sum() / (seeds - 1) / (sentences - 1)
        msr = sentences * np.square(right.mean(axis=1) - right.mean()).sum() / (seeds - 1)
        assert not prior.is_outlier(msr / mse, seeds - 1)
        ratio = max(1, (6 * 3 + (seeds - 1) * msr / mse) / (6 + seeds - 1))
        expected.append((ratio * mse / seeds / sentences, 6 + seeds - 1))
        noise += mse / seeds
    # Half a sentence for each of four outcomes, doubled so that all count alike.
    differences = [*np.repeat(first.mean(axis=0) - second.mean(axis=0), 2).tolist(), 1, -1, 0, 0]
    expected.append((max(0, np.var(differences) - noise) / 62, 59))
    comparison = compare(first, second, prior=prior)
    for part, (variance, freedom) in zip(comparison.parts, expected, strict=True):
        assert part.variance == pytest.approx(variance)
        assert part.freedom == freedom


@pytest.mark.parametrize("distance", [0.01, 0.03, 0.05])
def test_the_p_value_is_averaged_over_variances(distance):
    """The integral of Behrens and Fisher, on a grid of both variances' quantiles."""
    rng = np.random.default_rng(4)
    first, second = (simulate(rng, np.full(800, 0.7), seeds=seeds, spread=0.03) for seeds in (3, 4))
    comparison = compare(first, second, prior=SeedPrior(2.0, 8.0))
    one, other, sentences = comparison.parts
    places = (np.arange(1000) + 0.5) / 1000
    grids = [part.variance * part.freedom / stats.chi2.ppf(places, part.freedom) for part in (one, other)]
    whole = grids[0][:, None] + grids[1] + sentences.variance
    expected = np.mean(2 * stats.norm.sf(distance / np.sqrt(whole)))
    assert comparison.p_normal(comparison.difference - distance) == pytest.approx(expected, rel=0.1)


def test_with_one_part_it_is_students_test():
    draws = resampling.draw_variances(5.0, (1,))
    assert np.sort(draws)[::-1] == pytest.approx(5 / stats.chi2.ppf((np.arange(2048) + 0.5) / 2048, 5))
    part = Part(1e-4, 5.0)
    comparison = Comparison(0.02, "seeds", lambda: 1e-4 * draws, (part,), lambda: np.zeros(1), differing=100)
    for supposed in (0.0, 0.01, -0.05):
        expected = 2 * stats.t.sf(abs(0.02 - supposed) / 0.01, 5)
        assert comparison.p_normal(supposed) == pytest.approx(expected, rel=0.02)
    assert comparison.p_normal(0.02) == 1.0
    half = stats.t.ppf(0.975, 5) * 0.01
    assert (comparison.interval.low, comparison.interval.high) == pytest.approx((0.02 - half, 0.02 + half), rel=0.01)


def test_models_that_never_differ_are_not_proven_equal():
    right = np.arange(1000)[None] < 800
    comparison = compare(right, right)
    assert comparison.difference == 0
    assert comparison.p == 1
    assert 0.001 < comparison.interval.high < 0.003


@pytest.mark.parametrize("text", ["1 1", "11 11", "111 111"])
def test_a_few_sentences_prove_nothing(text):
    right = answers(text)
    assert compare(right, ~right).p > 0.05
    assert compare(right[:1], ~right[:1]).p > 0.05


def test_the_other_way_round_is_the_mirror_image():
    rng = np.random.default_rng(5)
    first, second = simulate(rng, np.full(500, 0.8), seeds=3), simulate(rng, np.full(500, 0.7), seeds=2)
    ours, theirs = compare(first, second), compare(second, first)
    assert ours.difference == -theirs.difference
    assert ours.interval.low == pytest.approx(-theirs.interval.high, rel=0.05)
    assert ours.p == pytest.approx(theirs.p, abs=0.01)


def test_the_same_answers_give_the_same_figures():
    rng = np.random.default_rng(6)
    first, second = simulate(rng, np.full(300, 0.8), seeds=3), simulate(rng, np.full(300, 0.78), seeds=3)
    assert compare(first, second).p == compare(first, second).p
    assert compare(first, second, stream=1).p != compare(first, second).p


def test_other_sentences_are_a_mistake():
    with pytest.raises(ValueError, match=r"must answer the same sentences\. Got 4 and 3"):
        compare(answers("1111"), answers("111"))


def test_the_average_over_tasks():
    rng = np.random.default_rng(7)
    pairs = [[simulate(rng, np.full(400, chance), seeds=3) for chance in (0.75, 0.7)] for _ in range(4)]
    prior = SeedPrior(1.2, 12.0)
    alone = [compare(first, second, stream=number, prior=prior) for number, (first, second) in enumerate(pairs)]
    average = average_comparisons(alone)
    assert average.difference == pytest.approx(np.mean([one.difference for one in alone]))
    assert average.test == "seeds"
    variance = sum(add_parts(one.parts).variance for one in alone) / 16
    assert add_parts(average.parts).variance == pytest.approx(variance)
    assert average.variances == pytest.approx(sum(one.variances for one in alone) / 16)
    widths = [one.interval.high - one.interval.low for one in (average, *alone)]
    assert widths[0] < min(widths[1:])
    assert average.p < 0.01
    single = average_comparisons([compare(first[:1], second[:1]) for first, second in pairs])
    assert single.test == "randomisation"
    assert single.discordant is None


@pytest.mark.parametrize(
    ("p_values", "corrected"),
    [
        ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]),  # R: p.adjust(c(.01, .04, .03, .005), "holm")
        ([0.6, 0.9], [1.0, 1.0]),
        ([0.02], [0.02]),
        ([], []),
    ],
)
def test_holm(p_values, corrected):
    assert holm(p_values) == pytest.approx(corrected)


@given(st.lists(st.floats(0, 1), max_size=12), st.floats(0.001, 0.5))
def test_holm_rejects_what_its_steps_reject(p_values, level):
    """Holm (1979): from the smallest on, reject while p <= level / (hypotheses left)."""
    rejected = set()
    for step, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        if p_values[index] * (len(p_values) - step) > level:
            break
        rejected.add(index)
    assert {index for index, p in enumerate(holm(p_values)) if p <= level} == rejected


def share_significant(rng, *, seeds, spread, gain=0.0, sentences=300, repeats=400, alike=True):
    """Return how many of some simulated comparisons have p < 5 %."""
    found = 0
    for _ in range(repeats):
        chances = rng.uniform(0.4, 0.85, sentences)
        others = chances if alike else rng.uniform(0.4, 0.85, sentences)
        first = simulate(rng, chances + gain, seeds=seeds, spread=spread)
        found += compare(first, simulate(rng, others, seeds=seeds, spread=spread)).p < 0.05
    return found


@pytest.mark.parametrize("alike", [True, False], ids=["same sentences hard", "other sentences hard"])
@pytest.mark.parametrize(("seeds", "spread"), [(1, 0.0), (2, 0.0), (2, 0.04), (3, 0.02), (5, 0.0), (5, 0.04)])
def test_false_positives_stay_at_5_percent(few_resamples, seeds, spread, alike):
    repeats = 300
    found = share_significant(np.random.default_rng(8), seeds=seeds, spread=spread, alike=alike, repeats=repeats)
    assert stats.binomtest(found, repeats, 0.05, alternative="greater").pvalue > 0.001


@pytest.mark.parametrize(("seeds", "spread"), [(1, 0.0), (4, 0.01), (5, 0.02)])
def test_power_grows_with_the_difference_and_with_the_sentences(few_resamples, seeds, spread):
    rng = np.random.default_rng(9)

    def power(**options):
        return share_significant(rng, seeds=seeds, spread=spread, repeats=100, **options) / 100

    by_gain = [power(gain=gain) for gain in (0.0, 0.06, 0.12)]
    assert by_gain[0] + 0.1 < by_gain[1] < by_gain[2] - 0.1
    by_sentences = [power(gain=0.05, sentences=sentences) for sentences in (60, 1000)]
    assert by_sentences[0] + 0.1 < by_sentences[1]


def test_power_grows_with_the_seeds(few_resamples):
    rng = np.random.default_rng(10)
    by_seeds = [share_significant(rng, seeds=seeds, spread=0.03, gain=0.06, repeats=150) / 150 for seeds in (2, 4, 8)]
    assert by_seeds[0] + 0.1 < by_seeds[1] < by_seeds[2] - 0.1


def test_after_holm_a_table_without_differences_seldom_has_a_mark(few_resamples):
    rng = np.random.default_rng(11)
    tables, marked = 80, 0
    for _ in range(tables):
        chances = rng.uniform(0.4, 0.9, 200)
        p_values = [
            compare(simulate(rng, chances, seeds=3, spread=0.02), simulate(rng, chances, seeds=3, spread=0.02)).p
            for _ in range(10)
        ]
        marked += min(holm(p_values)) < 0.05
    assert stats.binomtest(marked, tables, 0.05, alternative="greater").pvalue > 0.001


def test_the_p_value_of_a_great_difference_is_no_matter_of_the_number_of_draws():
    """A table may have hundreds of comparisons, and each p-value is multiplied by their number."""
    rng = np.random.default_rng(12)
    high, low = (simulate(rng, np.full(1000, chance), seeds=3) for chance in (0.95, 0.3))
    several = compare(high, low)
    assert several.test == "seeds"
    tails = [2 * stats.t.sf(several.difference / math.sqrt(part.variance), part.freedom) for part in several.parts[:2]]
    assert several.p == pytest.approx(max(tails), rel=0.1)
    mixed = compare(high, low[:1])
    assert mixed.test == "randomisation"
    contributions = (high.mean(axis=0) - low[0]) / 1000
    assert mixed.p == pytest.approx(2 * math.exp(-(mixed.difference**2) / (2 * np.square(contributions).sum())))
    assert average_comparisons([several, several]).p <= several.p < 0.001
    table = compare(high, low, prior=SeedPrior(2.0, 12.0))
    assert average_comparisons([table, table]).p <= table.p < 1e-6
    assert average_comparisons([mixed, mixed]).p <= mixed.p < 1e-6


def test_hoeffdings_bound_is_above_the_exact_p_value():
    first, second = answers("1" * 18), answers("0" * 16 + "11")
    comparison = compare(np.concatenate([first, first]), second)
    bound = 2 * math.exp(-(comparison.difference**2) / (2 * comparison.squares))
    assert every_swap(np.concatenate([first, first]), second) <= bound


def test_no_p_value_is_below_that_of_all_differing_sentences_agreeing():
    right = np.ones((3, 20), dtype=bool)
    assert compare(right, ~right).p == 2.0**-19


def test_some_of_a_larger_number_of_p_values():
    assert holm([0.01, 0.004], of=6) == pytest.approx([0.05, 0.024])
    assert holm([0.01, 0.004], of=2) == holm([0.01, 0.004])
