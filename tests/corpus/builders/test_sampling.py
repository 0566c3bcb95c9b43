"""Samples are balanced, in proportion, disjoint and the same in every run."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probing.corpus.builders.sampling import (
    CannotBuildError,
    Reservoir,
    Sizes,
    assign_forms,
    balance,
    choose_imbalance,
    deal,
    describe_choice,
    even_out,
    measure_information,
    scale_down,
    shares,
)
from probing.corpus.instances import Instance

SIZES = Sizes(100, 10, 10)


def instances(label: str, number: int) -> list[Instance]:
    return [Instance(label, (label, str(place))) for place in range(number)]


@settings(deadline=None)
@given(st.integers(1, 20), st.lists(st.integers(0, 50), max_size=80))
def test_a_reservoir_keeps_the_lowest_priorities_once_each(capacity: int, priorities: list[int]) -> None:
    reservoir = Reservoir(capacity)
    for place, priority in enumerate(priorities):
        reservoir.offer(priority, place)
    assert [priority for priority, _ in reservoir.ranked()] == sorted(set(priorities))[:capacity]


def test_a_reservoir_without_room_keeps_nothing() -> None:
    reservoir = Reservoir(0)
    reservoir.offer(1, 1)
    assert reservoir.ranked() == []


@settings(deadline=None)
@given(st.integers(0, 1000), st.integers(1, 20))
def test_shares_differ_by_one_at_most(total: int, parts: int) -> None:
    found = shares(total, parts)
    assert sum(found) == total
    assert max(found) - min(found) <= 1


def test_balance_gives_the_sizes_asked_for_where_it_can() -> None:
    counts = balance({"a": 60, "b": 60, "c": 60}, SIZES)
    assert {split: sum(by_label.values()) for split, by_label in counts.items()} == {"tr": 100, "va": 10, "te": 10}
    assert counts["tr"] == {"a": 34, "b": 33, "c": 33}


def test_balance_goes_by_the_rarest_class_in_proportion() -> None:
    assert balance({"a": 1000, "b": 24}, SIZES) == {
        "tr": {"a": 20, "b": 20},
        "va": {"a": 2, "b": 2},
        "te": {"a": 2, "b": 2},
    }


def test_imbalance_lets_others_occur_more_often() -> None:
    sizes = Sizes(1000, 100, 100, imbalance=10)
    counts = balance({"a": 5000, "b": 24, "c": 100}, sizes)
    assert counts["tr"] == {"a": 200, "b": 20, "c": 83}
    assert counts["te"] == counts["va"] == {"a": 20, "b": 2, "c": 8}


def test_imbalance_changes_nothing_where_no_label_is_scarce() -> None:
    available = {"a": 60, "b": 60, "c": 60}
    assert balance(available, Sizes(100, 10, 10, imbalance=10)) == balance(available, SIZES)


@settings(deadline=None)
@given(
    st.dictionaries(st.sampled_from("abcd"), st.integers(3, 400), min_size=2), st.integers(1, 20), st.integers(20, 400)
)
def test_imbalance_is_bounded(available: dict[str, int], imbalance: int, train: int) -> None:
    sizes = Sizes(train, 10, 10, imbalance)
    counts = balance(available, sizes)
    totals = {label: sum(counts[split][label] for split in counts) for label in available}
    assert all(totals[label] <= available[label] for label in available)
    assert sum(totals.values()) <= sizes.total
    assert min(min(by_label.values()) for by_label in counts.values()) >= 1
    if max(totals.values()) - min(totals.values()) > len(counts):  # more than what rounding leaves
        assert max(totals.values()) <= imbalance * min(available.values())
    if imbalance == 1:
        assert all(max(by_label.values()) - min(by_label.values()) <= 1 for by_label in counts.values())
    fewer = balance(available, Sizes(train, 10, 10))
    assert all(counts[split][label] >= fewer[split][label] for split in counts for label in available)


def test_sizes_give_a_small_task_a_test_split_that_can_be_scored() -> None:
    sizes = Sizes(100_000, 10_000, 10_000, min_train=1000, min_test=385)
    assert sizes.fit(200_000) == sizes
    proportional = sizes.fit(60_000)
    assert (proportional.train, proportional.dev, proportional.test) == (50_000, 5_000, 5_000)
    small = sizes.fit(2_400)
    assert (small.train, small.dev, small.test) == (1_766, 211, 423)
    assert sizes.fit(1_200) == sizes, "too few for any: the floor refuses the task"
    assert SIZES.fit(10) == SIZES, "without a floor"


@settings(deadline=None)
@given(st.integers(0, 5000), st.integers(1, 2000), st.integers(1, 500), st.integers(1, 500))
def test_fitted_sizes_never_take_more_than_there_is(available: int, train: int, dev: int, test: int) -> None:
    sizes = Sizes(train, dev, test, min_train=min(train, 100), min_test=min(test, 40))
    fitted = sizes.fit(available)
    assert fitted == sizes or (fitted.total <= available and fitted.train >= sizes.min_train)
    assert fitted == sizes or fitted.test >= sizes.min_test


def test_information_grows_with_classes_instances_and_balance() -> None:
    assert measure_information([50, 50]) == pytest.approx(10.0)
    assert measure_information([25] * 4) == pytest.approx(20.0)
    assert measure_information([100, 0]) == 0
    assert measure_information([200, 200]) == pytest.approx(20.0)
    assert measure_information([90, 10]) < measure_information([50, 50])


@pytest.mark.parametrize(
    ("available", "imbalance", "chosen"),
    [
        ({"a": 800, "b": 500}, None, 1),  # enough
        ({"a": 800, "b": 160}, None, 1),  # not scarce
        ({"a": 800, "b": 100}, None, 2),  # 200 and 100 inform more than 100 and 100, and nearly as much as 300 and 100
        ({"a": 800, "b": 100}, 2, 2),  # as asked for
        ({"a": 60, "b": 30}, None, 2),  # there is no more
        ({"a": 5, **dict.fromkeys("bcdefghi", 1000)}, None, 9),  # nearly as much as ten times as many
    ],
)
def test_labels_are_unequal_only_where_balanced_ones_are_scarce(
    available: dict[str, int], imbalance: int | None, chosen: int
) -> None:
    assert choose_imbalance(available, Sizes(1000, 100, 100, imbalance)) == chosen


def test_what_was_chosen_is_said() -> None:
    assert describe_choice(1, SIZES) == {"imbalance": 1}
    assert describe_choice(5, Sizes(100, 10, 10, imbalance=5)) == {"imbalance": 5}
    assert describe_choice(5, SIZES, fewer=8)["chosen"] == (
        "8 classes, labels up to 5 times as frequent as another: balanced labels are scarce, and this informs most"
    )


def test_balance_refuses_a_class_that_cannot_be_in_all_splits() -> None:
    with pytest.raises(CannotBuildError, match="too few sentences of class b: 2"):
        balance({"a": 1000, "b": 2}, SIZES)


def test_balance_refuses_sizes_that_are_smaller_than_the_number_of_classes() -> None:
    with pytest.raises(CannotBuildError, match="the sizes asked for are too small for 3 classes"):
        balance({"a": 100, "b": 100, "c": 100}, Sizes(30, 2, 3))


@settings(deadline=None)
@given(st.integers(0, 500), st.integers(1, 300), st.integers(1, 100), st.integers(1, 100))
def test_scale_down_never_takes_more_than_there_is(available: int, train: int, dev: int, test: int) -> None:
    counts = scale_down(available, Sizes(train, dev, test))
    if counts is not None:
        assert sum(counts.values()) <= available
        assert min(counts.values()) >= 1


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from("abcd"), st.integers(3, 200), min_size=2), st.integers(0, 5))
def test_deal_gives_each_instance_once_and_balanced(available: dict[str, int], seed: int) -> None:
    found = {label: instances(label, number) for label, number in available.items()}
    splits = deal(found, SIZES, Random(seed))
    dealt = [instance.tokens for split in splits.values() for instance in split]
    assert len(dealt) == len(set(dealt))
    for split in splits.values():
        counts = [sum(instance.label == label for instance in split) for label in available]
        assert max(counts) - min(counts) <= 1
        assert min(counts) >= 1
    assert splits == deal(found, SIZES, Random(seed))


@settings(deadline=None)
@given(st.lists(st.integers(1, 90), min_size=6, max_size=6))
def test_even_out_keeps_proportions_and_balance(numbers: list[int]) -> None:
    pools = {
        split: {"a": instances("a", numbers[place]), "b": instances("b", numbers[place + 1])}
        for place, split in ((0, "tr"), (2, "va"), (4, "te"))
    }
    splits = even_out(pools, SIZES, Random(0))
    for split, found in splits.items():
        assert sum(i.label == "a" for i in found) == sum(i.label == "b" for i in found)
        assert 2 <= len(found) <= SIZES.by_split()[split]
    if len(splits["va"]) > 2:
        assert len(splits["tr"]) <= 10 * (len(splits["va"]) + 2)


def test_even_out_refuses_a_split_without_one_of_the_classes() -> None:
    pools = {"tr": {"a": instances("a", 5), "b": instances("b", 5)}, "va": {"a": [], "b": []}, "te": {"a": [], "b": []}}
    with pytest.raises(CannotBuildError, match="split va has no sentence of one of the classes a, b"):
        even_out(pools, SIZES, Random(0))


@settings(deadline=None)
@given(st.dictionaries(st.text("abcdef", min_size=1, max_size=4), st.integers(1, 30), min_size=40, max_size=80))
def test_forms_are_spread_over_the_splits_in_proportion(counts: dict[str, int]) -> None:
    by_form = {form: {"x" if place % 2 else "y": n} for place, (form, n) in enumerate(sorted(counts.items()))}
    split_of = assign_forms(by_form, SIZES, ["x", "y"])
    assert set(split_of) == set(counts)
    totals = {split: sum(counts[form] for form in counts if split_of[form] == split) for split in ("tr", "va", "te")}
    assert totals["tr"] >= totals["va"]
    assert totals["tr"] >= totals["te"]


def test_a_label_without_forms_is_refused() -> None:
    with pytest.raises(CannotBuildError, match="no target form of the label y is within the bounds of frequency"):
        assign_forms({"w": {"x": 5}}, SIZES, ["x", "y"])


def test_a_split_does_not_go_without_a_label_if_forms_are_few_and_large() -> None:
    counts = {f"w{number}": {"x": 100 + number} for number in range(4)}
    split_of = assign_forms(counts, Sizes(100, 10, 10), ["x"])
    assert split_of == {"w0": "va", "w1": "te", "w2": "tr", "w3": "tr"}


def test_a_large_form_does_not_fill_a_small_split() -> None:
    counts = {"big": {"x": 1000}, **{f"w{number}": {"x": 10} for number in range(100)}}
    split_of = assign_forms(counts, Sizes(1000, 100, 100), ["x"])
    assert split_of["big"] == "tr"
    assert {"va", "te"} <= set(split_of.values())
