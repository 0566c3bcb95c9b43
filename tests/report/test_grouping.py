from __future__ import annotations

import numpy as np
import pytest

from probing.errors import ProbingError
from probing.report.grouping import group_results


def make_result(records):
    """Return the only model's result on the only task."""
    (group,) = group_results(records)
    (model,) = group.models
    (result,) = model.results.values()
    return result


def test_a_result_has_the_right_answers_of_each_seed(make_record, change):
    first = change(make_record(seed=3, size=4), outcome__gold=[0, 1, 1, 0], outcome__predictions=[0, 1, 0, 1])
    second = change(make_record(seed=1, size=4), outcome__gold=[0, 1, 1, 0], outcome__predictions=[0, 1, 1, 0])
    result = make_result([first, second])
    assert result.sample.right.tolist() == [[True] * 4, [True, True, False, False]]
    assert [record.identity.seed for record in result.records] == [1, 3]


def test_accuracy_is_the_mean_over_seeds_and_failed_ones_do_not_count(make_record):
    result = make_result(
        [make_record(accuracy=80.0), make_record(accuracy=83.0, seed=1), make_record(accuracy=None, seed=2)]
    )
    assert result.accuracy == pytest.approx(81.5)
    assert result.sample.right.shape == (2, 10_000)
    assert 100 * np.mean(result.sample.right) == pytest.approx(81.5)
    assert result.interval.low < 0.815 < result.interval.high


def test_the_majority_has_an_interval_too(make_record):
    interval = make_result([make_record(size=100)]).majority_interval
    assert (interval.low, interval.high) == pytest.approx((0.4038, 0.5962), abs=1e-4)


def test_seeds_that_may_be_started_again_are_of_the_same_model(make_record, change):
    once, tried = (change(make_record(seed=n), settings={"training": {"retries": n}}) for n in (0, 1))
    (group,) = group_results([once, tried])
    assert [model.label for model in group.models] == ["EM"]


def test_seeds_with_other_test_labels_are_named(make_record):
    with pytest.raises(ProbingError) as caught:
        group_results([make_record(size=100), make_record(seed=7, size=102)])
    assert str(caught.value) == (
        "the records of Tense EM, seeds 0, 7, have different test labels for the same file. "
        "Run the cells again with --force"
    )


def test_a_label_has_precedence_over_a_registered_name(make_record, change):
    records = [change(make_record(model="base"), model__label="em"), change(make_record(), model__label="other")]
    (group,) = group_results(records)
    assert [model.name for model in group.find("EM")] == ["base"]
    assert [model.name for model in group.find("Other")] == ["em"]
    assert group.find("nothing") == []
