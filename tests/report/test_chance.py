"""At chance is a test against the majority's rate."""

from __future__ import annotations

import math

import pytest

from probing.report.chance import compute_chance_p, find_chance
from probing.report.grouping import group_results


def p_of(*records):
    (group,) = group_results(records)
    return compute_chance_p(group.models[0].results["Tense"])


@pytest.mark.parametrize("right", [0, 1, 480, 500, 561, 1000])
def test_one_seed_is_the_exact_binomial_test(make_record, right):
    record = make_record(accuracy=right / 10, size=1000)
    exact = sum(math.comb(1000, k) for k in range(right, 1001)) / 2**1000
    assert p_of(record) == pytest.approx(exact)


def test_561_of_1000_on_a_balanced_task_is_not_chance(make_record):
    record = make_record(accuracy=56.1, size=1000)
    assert p_of(record) == pytest.approx(0.0001, abs=5e-5)
    assert find_chance(group_results([record])[0]) == {}


def test_several_seeds_count_their_spread(make_record):
    close = [make_record(accuracy=accuracy, seed=seed) for seed, accuracy in enumerate((52.9, 53.0, 53.1))]
    apart = [make_record(accuracy=accuracy, seed=seed) for seed, accuracy in enumerate((49.0, 53.0, 57.0))]
    assert p_of(*close) < 0.001
    assert 0.05 < p_of(*apart) < 0.3
    (group,) = group_results(apart)
    assert find_chance(group) == {"EM": ["Tense"]}


def test_many_cells_are_corrected_together(make_record):
    alone = [make_record("Tense", accuracy=56.0, size=1000)]
    many = [make_record(task, accuracy=53.0, size=1000) for task in ("SOMO", "BShif", "CoIn", "SubNm")]
    border = make_record("Tense", accuracy=53.0, size=1000)
    assert find_chance(group_results(alone)[0]) == {}
    assert find_chance(group_results([border])[0]) == {}
    assert find_chance(group_results([border, *many])[0]) == {"EM": ["BShif", "Tense", "SubNm", "SOMO", "CoIn"]}
