from __future__ import annotations

import pytest

from probing.report.grouping import group_results
from probing.report.notes import find_doubts


def doubts(results):
    (group,) = group_results(results)
    return find_doubts(group)


def settings(**training):
    return {"model": {"num_layers": 3}, "training": {"max_epochs": 8, "patience": 3} | training}


def test_nothing_to_doubt(make_record):
    results = [make_record(task, model, 80.0) for task in ("Tense", "WC") for model in ("base", "em")]
    assert doubts(results) == []


@pytest.mark.parametrize(("accuracy", "at_chance"), [(49.0, True), (50.9, True), (51.9, True), (52.1, False)])
def test_a_cell_is_at_chance_when_its_interval_meets_the_majoritys(make_record, accuracy, at_chance):
    notes = doubts([make_record("BShif", accuracy=accuracy), make_record("SOMO", accuracy=70.0)])
    expected = ["at chance, for the 95 % interval reaches down to the majority's: EM on BShif"]
    assert notes == (expected if at_chance else [])


def test_all_that_is_at_chance_stands_in_one_note(make_record):
    results = [make_record(task, model, 50.0) for task in ("SOMO", "BShif") for model in ("base", "em")]
    expected = "at chance, for the 95 % interval reaches down to the majority's: Base on BShif, SOMO; EM on BShif, SOMO"
    assert doubts(results) == [expected]


def test_fewer_sentences_make_chance_wider(make_record):
    assert doubts([make_record(accuracy=55.0)]) == []
    assert doubts([make_record(accuracy=55.0, size=200)]) != []


def test_models_that_were_not_trained_alike(make_record):
    results = [
        make_record(model="base", settings=settings(max_epochs=2)),
        make_record(model="simple", settings=settings()),
        make_record(model="em", settings=settings(patience=1)),
    ]
    assert doubts(results) == [
        "the models were not trained alike: training.max_epochs is 2 for Base, 8 for Simple, EM; "
        "training.patience is 3 for Base, Simple, 1 for EM"
    ]


def test_a_label_with_a_comma_stands_in_quotes(make_record, change):
    untrained = make_record(model="simple", settings=settings())
    results = [
        make_record(model="base", settings=settings(max_epochs=2)),
        make_record(model="em", settings=settings()),
        change(untrained, model__name="simple untrained", model__label="Simple, untrained"),
    ]
    assert doubts(results) == [
        "the models were not trained alike: training.max_epochs is 2 for Base, 8 for 'Simple, untrained', EM"
    ]


def test_what_the_labels_say_is_not_said_again(make_record):
    results = [make_record(model=model, settings=settings(max_epochs=n)) for model in ("base", "em") for n in (2, 8)]
    assert doubts(results) == []
    assert doubts([*results, make_record(model="simple", settings=settings())]) == [
        "the models were not trained alike: training.max_epochs is 2 for Base (max_epochs=2), EM (max_epochs=2), "
        "8 for Base (max_epochs=8), Simple, EM (max_epochs=8)"
    ]


def test_settings_of_other_sections_and_of_other_kinds_of_model_are_their_own(make_record):
    results = [
        make_record(model="base", settings=settings()),
        make_record(model="simple", settings={**settings(), "routing": {"implementation": "fused"}}),
        make_record(model="em", settings={**settings(), "routing": {"implementation": "reference"}}),
        make_record(model="my.py:Mine", settings={"probe": {"name": "linear"}, "encoder": {"layer": 2}}),
    ]
    assert doubts(results) == []


def test_missing_seeds_are_named(make_record):
    results = [make_record(task, model) for task in ("Tense", "WC") for model in ("base", "em")]
    results += [make_record("Tense", "em", seed=seed) for seed in (1, 2)] + [make_record("WC", "em", seed=1)]
    assert doubts(results) == [
        "5 cells of this table have not been run: Base WC seeds 1, 2; Base Tense seeds 1, 2; EM WC seed 2"
    ]


def test_of_many_gaps_the_first_are_named(make_record):
    results = [make_record("Tense", f"my.py:M{number}", seed=number) for number in range(8)]
    (note,) = doubts(results)
    assert note.startswith("56 cells of this table have not been run: M0 Tense seeds 1, 2, 3, 4, 5, 6, 7; M1 Tense ")
    assert note.endswith("; M5 Tense seeds 0, 1, 2, 3, 4, 6, 7; and 2 more")


@pytest.mark.parametrize(("dev", "disagrees"), [(80.0, False), (81.4, False), (83.0, True), (77.0, True)])
def test_dev_and_test_that_disagree(make_record, change, dev, disagrees):
    result = change(make_record(accuracy=80.0), outcome__dev_accuracy=dev)
    expected = "dev and test accuracy disagree by more than their 95 % intervals allow"
    assert doubts([result]) == ([f"{expected}: EM Tense (dev {dev:.2f}, test 80.00)"] if disagrees else [])


def test_a_small_dev_set_may_say_much(make_record, change):
    result = change(make_record(accuracy=80.0, size=100), outcome__dev_accuracy=86.0)
    assert doubts([result]) == []


def test_failed_cells_come_first(make_record):
    notes = doubts([make_record(accuracy=None), make_record("WC", accuracy=50.0)])
    assert notes[0] == "Tense EM seed 0 failed: the loss became nan in epoch 2"
    assert len(notes) == 2


def test_what_is_missing_or_failed_of_another_measure_is_named(make_record, change):
    def control(**options):
        return change(make_record(**options), measure="random-labels")

    results = [make_record(model=model, seed=seed) for model in ("base", "em") for seed in (0, 1)]
    assert doubts([*results, *(control(model=model, seed=seed) for model in ("base", "em") for seed in (0, 1))]) == []
    assert doubts(
        [*results, control(model="base"), control(model="em"), control(model="em", accuracy=None, seed=1)]
    ) == [
        "Tense EM seed 1 (random labels) failed: the loss became nan in epoch 2",
        "1 cell of this table has not been run: Base Tense seed 1 (random labels)",
    ]


def test_controls_raise_no_doubts_about_accuracies(make_record, change):
    """A control at chance is what it should be, and its dev and test sentences are training sentences."""
    control = change(make_record(accuracy=50.0), measure="random-labels")
    assert doubts([make_record(), change(control, outcome__dev_accuracy=90.0)]) == []
