from __future__ import annotations

import numpy as np
import pytest

from probing.errors import ProbingError
from probing.report.grouping import group_results


def only_cell(results):
    (group,) = group_results(results)
    (model,) = group.models
    (cell,) = model.cells.values()
    return cell


def test_a_cell_knows_what_each_seed_has_right(make_record, change):
    first = change(make_record(seed=3, size=4), outcome__gold=[0, 1, 1, 0], outcome__predictions=[0, 1, 0, 1])
    second = change(make_record(seed=1, size=4), outcome__gold=[0, 1, 1, 0], outcome__predictions=[0, 1, 1, 0])
    cell = only_cell([first, second])
    assert cell.right.tolist() == [[True] * 4, [True, True, False, False]]
    assert [record.identity.seed for record in cell.records] == [1, 3]


def test_accuracy_is_the_mean_over_seeds_and_failed_ones_do_not_count(make_record):
    cell = only_cell(
        [make_record(accuracy=80.0), make_record(accuracy=83.0, seed=1), make_record(accuracy=None, seed=2)]
    )
    assert cell.accuracy == pytest.approx(81.5)
    assert cell.right.shape == (2, 10_000)
    assert 100 * np.mean(cell.right) == pytest.approx(81.5)
    assert cell.interval.low < 0.815 < cell.interval.high


def test_the_majority_has_an_interval_too(make_record):
    interval = only_cell([make_record(size=100)]).majority_interval
    assert (interval.low, interval.high) == pytest.approx((0.4038, 0.5962), abs=1e-4)


@pytest.mark.parametrize(("gold", "predictions"), [([0, 1], [0]), ([], [])])
def test_a_record_without_its_predictions_is_named(make_record, change, gold, predictions):
    with pytest.raises(ProbingError) as caught:
        group_results([change(make_record(), outcome__gold=gold, outcome__predictions=predictions)])
    assert str(caught.value) == (
        f"the record of Tense EM seed 0 has {len(gold)} test labels and {len(predictions)} predictions. "
        "Run the cell again with --force"
    )


def test_seeds_with_other_test_labels_are_named(make_record):
    with pytest.raises(ProbingError) as caught:
        group_results([make_record(size=100), make_record(seed=7, size=102)])
    assert str(caught.value) == (
        "the records of Tense EM, seeds 0, 7, have different test labels for the same file. "
        "Run the cells again with --force"
    )


def test_a_label_goes_before_a_registered_name(make_record, change):
    results = [change(make_record(model="base"), model__label="em"), change(make_record(), model__label="other")]
    (group,) = group_results(results)
    assert [model.name for model in group.find("EM")] == ["base"]
    assert [model.name for model in group.find("Other")] == ["em"]
    assert group.find("nothing") == []
