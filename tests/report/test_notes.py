from __future__ import annotations

import pytest

from probing.report.grouping import group_results
from probing.report.notes import find_doubts


def find_notes(records):
    """Return the notes on the only table."""
    (group,) = group_results(records)
    return find_doubts(group)


def settings(**training):
    return {"model": {"num_layers": 3}, "training": {"max_epochs": 8, "patience": 3} | training}


def test_a_table_without_doubts_has_no_notes(make_record):
    records = [make_record(task, model, 80.0) for task in ("Tense", "WC") for model in ("base", "em")]
    assert find_notes(records) == []


@pytest.mark.parametrize(("accuracy", "at_chance"), [(49.0, True), (50.7, True), (50.9, False), (52.1, False)])
def test_a_result_is_at_chance_unless_it_is_significantly_above_the_majority(make_record, accuracy, at_chance):
    notes = find_notes([make_record("BShif", accuracy=accuracy), make_record("SOMO", accuracy=70.0)])
    expected = ["not distinguishable from always guessing the most frequent label: EM on BShif"]
    assert notes == (expected if at_chance else [])


def test_all_results_at_chance_stand_in_one_note(make_record):
    records = [make_record(task, model, 50.0) for task in ("SOMO", "BShif") for model in ("base", "em")]
    expected = "not distinguishable from always guessing the most frequent label"
    assert find_notes(records) == [f"{expected}: Base on BShif, SOMO; EM on BShif, SOMO"]


def test_fewer_sentences_widen_the_intervals(make_record):
    assert find_notes([make_record(accuracy=55.0)]) == []
    expected = "not distinguishable from always guessing the most frequent label: EM on Tense"
    assert find_notes([make_record(accuracy=55.0, size=200)]) == [expected]


def test_models_that_were_not_trained_alike(make_record):
    records = [
        make_record(model="base", settings=settings(max_epochs=5)),
        make_record(model="simple", settings=settings()),
        make_record(model="em", settings=settings(patience=1)),
    ]
    assert find_notes(records) == [
        "the models were not trained alike: training.max_epochs is 5 for Base, 8 for Simple, EM; "
        "training.patience is 3 for Base, Simple, 1 for EM"
    ]


def test_a_label_with_a_comma_stands_in_quotes(make_record, change):
    untrained = make_record(model="simple", settings=settings())
    records = [
        make_record(model="base", settings=settings(max_epochs=5)),
        make_record(model="em", settings=settings()),
        change(untrained, model__name="simple untrained", model__label="Simple, untrained"),
    ]
    assert find_notes(records) == [
        "the models were not trained alike: training.max_epochs is 5 for Base, 8 for 'Simple, untrained', EM"
    ]


def test_settings_in_the_labels_are_not_noted_again(make_record):
    records = [make_record(model=model, settings=settings(max_epochs=n)) for model in ("base", "em") for n in (5, 8)]
    assert find_notes(records) == []
    assert find_notes([*records, make_record(model="simple", settings=settings())]) == [
        "the models were not trained alike: training.max_epochs is 5 for Base (max_epochs=5), EM (max_epochs=5), "
        "8 for Base (max_epochs=8), Simple, EM (max_epochs=8)"
    ]


def test_settings_of_other_sections_and_of_other_kinds_of_model_are_their_own(make_record):
    records = [
        make_record(model="base", settings=settings()),
        make_record(model="simple", settings={**settings(), "routing": {"implementation": "fused"}}),
        make_record(model="em", settings={**settings(), "routing": {"implementation": "reference"}}),
        make_record(model="my.py:Mine", settings={"probe": {"name": "linear"}, "encoder": {"layer": 2}}),
    ]
    assert find_notes(records) == []


def test_missing_seeds_are_named(make_record):
    records = [make_record(task, model) for task in ("Tense", "WC") for model in ("base", "em")]
    records += [make_record("Tense", "em", seed=seed) for seed in (1, 2)] + [make_record("WC", "em", seed=1)]
    assert find_notes(records) == [
        "5 cells of this table have not been run: Base WC seeds 1, 2; Base Tense seeds 1, 2; EM WC seed 2"
    ]


def test_only_the_first_of_many_gaps_are_named(make_record):
    records = [make_record("Tense", f"my.py:M{number}", seed=number) for number in range(8)]
    (note,) = find_notes(records)
    assert note.startswith("56 cells of this table have not been run: M0 Tense seeds 1, 2, 3, 4, 5, 6, 7; M1 Tense ")
    assert note.endswith("; M5 Tense seeds 0, 1, 2, 3, 4, 6, 7; and 2 more")


@pytest.mark.parametrize(("dev", "disagrees"), [(80.0, False), (81.4, False), (83.0, True), (77.0, True)])
def test_dev_and_test_that_disagree(make_record, change, dev, disagrees):
    record = change(make_record(accuracy=80.0), outcome__dev_accuracy=dev)
    expected = "dev and test accuracy disagree by more than their 95 % intervals allow"
    assert find_notes([record]) == ([f"{expected}: EM Tense (dev {dev:.2f}, test 80.00)"] if disagrees else [])


def test_a_small_dev_set_has_a_wide_interval(make_record, change):
    record = change(make_record(accuracy=80.0, size=100), outcome__dev_accuracy=86.0)
    assert find_notes([record]) == []


def test_failed_cells_come_first(make_record):
    notes = find_notes([make_record(accuracy=None), make_record("WC", accuracy=50.0)])
    assert notes[0] == "Tense EM seed 0 failed: the loss became nan in epoch 2"
    assert len(notes) == 2


def test_missing_and_failed_cells_of_another_measure_are_named(make_record, change):
    def control(**options):
        return change(make_record(**options), measure="random-labels")

    records = [make_record(model=model, seed=seed) for model in ("base", "em") for seed in (0, 1)]
    assert (
        find_notes([*records, *(control(model=model, seed=seed) for model in ("base", "em") for seed in (0, 1))]) == []
    )
    assert find_notes(
        [*records, control(model="base"), control(model="em"), control(model="em", accuracy=None, seed=1)]
    ) == [
        "Tense EM seed 1 (random labels) failed: the loss became nan in epoch 2",
        "1 cell of this table has not been run: Base Tense seed 1 (random labels)",
    ]


def test_controls_raise_no_doubts_about_accuracies(make_record, change):
    """A control is expected to be at chance, and its dev and test sentences are training sentences."""
    control = change(make_record(accuracy=50.0), measure="random-labels")
    assert find_notes([make_record(), change(control, outcome__dev_accuracy=90.0)]) == []


def test_a_training_that_never_left_chance_is_named(make_record):
    record = make_record(accuracy=49.0, size=1_000, settings=settings())
    (label,) = [note for note in find_notes([record]) if note.startswith("in no epoch")]
    assert label == (
        "in no epoch significantly better on dev than always guessing the most frequent label: EM Tense seed 0"
    )
    assert not any(
        note.startswith("in no epoch") for note in find_notes([make_record(accuracy=80.0, settings=settings())])
    )


def test_a_best_epoch_that_is_the_last_allowed_one_is_named(make_record):
    (note,) = find_notes([make_record(settings=settings(max_epochs=2))])
    assert note.startswith("the last allowed epoch is the best one")
    assert note.endswith(": EM Tense seed 0")
    assert find_notes([make_record(settings=settings(max_epochs=3))]) == []
