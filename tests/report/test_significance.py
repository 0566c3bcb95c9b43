from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs
from scipy import stats

from probing.report.claims import _judge as judge_claim
from probing.report.comparison import compare_models
from probing.report.grouping import AVERAGE, group_results
from probing.report.significance import Comparer, Verdict, analyse, judge, judge_against
from probing.results import Counts
from probing.statistics import compare


def only(records):
    """Return the only group."""
    (group,) = group_results(records)
    return group


def with_answers(record, right):
    """Return a record of a task with two labels and these answers."""
    gold = np.arange(len(right)) % 2
    predictions = np.where(right, gold, 1 - gold)
    counts = [Counts(train=9, dev=9, test=int((gold == n).sum()), right=int(right[gold == n].sum())) for n in (0, 1)]
    scores = structs.replace(
        record.scores,
        test_accuracy=100 * float(right.mean()),
        classes=dict(zip(("A", "B"), counts, strict=True)),
        gold=gold.tolist(),
        predictions=predictions.tolist(),
    )
    return structs.replace(record, outcome=scores)


@pytest.fixture(scope="module")
def models(make_record):
    """Return records on two tasks in which Simple is slightly better than Base, and EM much better."""
    values = {"base": 80.0, "simple": 80.2, "em": 84.0}
    return [make_record(task, model, value) for task in ("Tense", "WC") for model, value in values.items()]


def test_every_model_is_compared_with_the_best_of_each_column(models):
    analysis = analyse(only(models))
    assert analysis.leaders == {"WC": "EM", "Tense": "EM", AVERAGE: "EM"}
    assert set(analysis.verdicts) == {(label, c) for label in ("Base", "Simple") for c in ("WC", "Tense", AVERAGE)}
    assert all(verdict.worse and not verdict.better for verdict in analysis.verdicts.values())
    assert analysis.best == {("EM", column) for column in ("WC", "Tense", AVERAGE)}
    assert analysis.tests == ["mcnemar", "randomisation"]


def test_every_model_is_compared_with_a_reference(models):
    group = only(models)
    analysis = analyse(group, group.models[1])
    assert {label for label, _ in analysis.verdicts} == {"Base", "EM"}
    assert analysis.verdicts["EM", "WC"].better
    assert analysis.verdicts["EM", "WC"].difference == pytest.approx(3.8)
    assert analysis.verdicts["EM", AVERAGE].difference == pytest.approx(3.8)
    assert not analysis.verdicts["Base", "WC"].worse
    assert analysis.best == {("EM", column) for column in ("WC", "Tense", AVERAGE)}


def test_holm_counts_all_comparisons_of_the_table(models):
    verdicts = analyse(only(models)).verdicts
    assert max(verdict.p_holm for verdict in verdicts.values()) >= min(verdict.p for verdict in verdicts.values()) * 6
    alone = analyse(
        only([record for record in models if record.identity.task == "WC" and record.identity.model.name != "simple"])
    )
    (verdict,) = alone.verdicts.values()
    assert verdict.p == verdict.p_holm


def test_a_comparison_in_the_opposite_order_has_the_opposite_sign(models):
    group = only(models)
    comparer = Comparer(group)
    base, _, em = group.models
    for column in ("WC", AVERAGE):
        there, back = comparer.compare(em, base, column), comparer.compare(base, em, column)
        assert there.difference == -back.difference
        assert there.interval.low == -back.interval.high
        assert (there.p, there.p_randomisation) == (back.p, back.p_randomisation)
        assert there.p_normal(0.01) == back.p_normal(-0.01)
        assert comparer.compare(base, em, column) is back


def test_all_other_models_are_judged_against_a_reference(models):
    group = only(models)
    base = group.models[0]
    assert judge_against(base, Comparer(group)) == analyse(group, base).verdicts


def test_results_on_different_sentences_are_not_compared(make_record):
    group = only([make_record(model="base"), make_record(size=9_998), make_record("WC")])
    comparer = Comparer(group)
    base, em = group.models
    assert comparer.compare(em, base, "Tense") is None
    assert comparer.compare(em, base, "WC") is None
    assert comparer.compare(em, base, AVERAGE) is None
    assert list(comparer.incomparable) == ["Base and EM have different test labels on Tense: not compared"]


def test_results_with_different_labels_are_not_compared(make_record, change):
    records = [make_record(model="base"), make_record()]
    other = dict(zip(("A", "B"), records[1].scores.classes.values(), strict=True))
    assert analyse(only(records)).verdicts
    assert not analyse(only([records[0], change(records[1], outcome__classes=other)])).verdicts


def test_seeds_decide_on_the_test(make_record):
    records = [make_record(model="base"), make_record(), make_record(seed=1)]
    assert analyse(only(records)).tests == ["randomisation"]
    assert analyse(only([*records, make_record(model="base", seed=1)])).tests == ["seeds"]


def test_one_model_alone_is_the_best(make_record):
    analysis = analyse(only([make_record()]))
    assert analysis.best == {("EM", "Tense")}
    assert not analysis.verdicts
    assert not analysis.tests


@pytest.mark.parametrize(("p", "mark"), [(0.06, ""), (0.05, ""), (0.049, "†"), (0.01, "†"), (0.009, "‡")])
def test_marks(p, mark):
    assert Verdict(1.0, 0.5, 1.5, p / 2, p, "seeds").mark == mark
    assert Verdict(-1.0, -1.5, -0.5, p / 2, p, "seeds").mark == mark


def test_a_supposed_difference(models):
    base, _, em = (model.results["WC"] for model in only(models).models)
    comparisons = {"em": compare(em.sample, base.sample)}
    assert judge(comparisons)["em"].difference == pytest.approx(4.0)
    below, at, above = (judge(comparisons, supposed=points)["em"] for points in (2.0, 4.0, 6.0))
    assert (below.difference, below.better) == (pytest.approx(2.0), True)
    assert (at.difference, at.p) == (pytest.approx(0.0), pytest.approx(1.0, abs=0.02))
    assert (above.difference, above.worse) == (pytest.approx(-2.0), True)
    assert below.test == "seeds"
    assert judge({}) == {}


def test_any_model_could_have_come_out_best(models):
    """Each of the three columns has three pairs of models, so Holm's correction counts nine comparisons."""
    verdicts = analyse(only(models)).verdicts
    least = min(verdicts.values(), key=lambda verdict: verdict.p)
    assert least.p_holm == pytest.approx(9 * least.p)


@pytest.mark.parametrize("models", [3, 8])
def test_among_equal_models_all_are_bold_in_95_percent_of_the_columns(make_record, models):
    """The best of many equal models is best by chance alone, so the others are rarely significantly worse."""
    rng = np.random.default_rng(models)
    tables, wrong = 120, 0
    for _ in range(tables):
        answers = rng.random((models, 400)) < 0.7
        records = [with_answers(make_record("Tense", f"m{number}"), right) for number, right in enumerate(answers)]
        wrong += len(analyse(only(records)).best) < models
    assert stats.binomtest(wrong, tables, 0.05, alternative="greater").pvalue > 0.01


def test_no_model_is_bold_and_marked_as_worse(models):
    group = only(models)
    for reference in group.models:
        analysis = analyse(group, reference)
        worse = {key for key, verdict in analysis.verdicts.items() if verdict.worse}
        assert worse.isdisjoint(analysis.best)
        assert bool(worse) == (reference.label == "EM")


def test_a_model_that_is_worse_than_any_other_is_not_bold(make_record):
    """The best has one good seed and two bad ones, so nothing differs from it; but the second best is surely better."""
    rng = np.random.default_rng(7)
    shares = {"base": (0.80, 0.80, 0.80), "simple": (0.70, 0.70, 0.70), "em": (0.55, 0.95, 0.95)}
    records = [
        with_answers(make_record(model=model, seed=seed, size=1000), rng.random(1000) < share)
        for model, of_model in shares.items()
        for seed, share in enumerate(of_model)
    ]
    analysis = analyse(only(records))
    assert analysis.leaders == {"Tense": "EM"}
    assert not analysis.verdicts["Simple", "Tense"].worse
    assert analysis.best == {("EM", "Tense"), ("Base", "Tense")}


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    shares=st.lists(
        st.lists(st.sampled_from((0.5, 0.6, 0.64, 0.68, 0.7, 0.72, 0.9)), min_size=3, max_size=3),
        min_size=2,
        max_size=4,
    ),
    seeds=st.integers(1, 3),
    luck=st.integers(0, 2**20),
)
def test_one_rule_holds_in_tables_comparisons_and_claims(make_record, shares, seeds, luck):
    """Whatever the results are: nothing is bold and worse at once, and every report has the same p-values."""
    rng, names = np.random.default_rng(luck), ("base", "simple", "em", "em-code")
    records = [
        with_answers(make_record(task, model, seed=seed), rng.random(300) < share + rng.normal(0, 0.03))
        for task, place in (("Tense", 0), ("WC", 1), ("ToCo", 2))
        for model, share in zip(names, (of_model[place] for of_model in shares), strict=False)
        for seed in range(seeds)
    ]
    group = only(records)
    for reference in (None, *group.models):
        analysis = analyse(group, reference)
        worse = {key for key, verdict in analysis.verdicts.items() if verdict.worse}
        assert reference is None or worse.isdisjoint(analysis.best)
        assert {(label, column) for column, label in analysis.leaders.items()} <= analysis.best
        if reference is None:
            continue
        for model in group.models:
            if model is reference:
                continue
            expected = {column: analysis.verdicts[model.label, column] for column in group.columns}
            (made,) = compare_models(records, model.label, reference.label)
            assert {line.task: line.verdict for line in made.tasks} == {task: expected[task] for task in group.families}
            assert made.overall.verdict == expected[AVERAGE]
            assert judge_claim(analysis.comparer, model.name, reference.name, group.columns) == expected
