from __future__ import annotations

import itertools
import math

import pytest

from probing.errors import ProbingError
from probing.report.formats import render_text
from probing.report.grouping import AVERAGE
from probing.report.table import TableValue, make_tables
from probing.results import DescriptionLength
from probing.statistics import Interval
from probing.tasks import TASKS

TEN = [task.name for task in TASKS]


def only(records, **options):
    (table,) = make_tables(records, **options)
    return table


def labels(table):
    return [row.label for row in table.rows]


def text(table):
    """Return the printed text by row and column; the best of a column have a star."""
    return {
        row.label: {name: value.format(signed=row.signed) + "*" * value.best for name, value in row.values.items()}
        for row in table.rows
    }


def settings(**model):
    return {"model": {"num_layers": 3, "iterations": 3} | model, "training": {"patience": 4}}


def test_the_papers_table(paper_records):
    table = only(reversed(paper_records))
    assert table.columns == [*TEN, AVERAGE]
    assert list(table.families.values()) == ["surface"] * 2 + ["syntactic"] * 3 + ["semantic"] * 5
    assert labels(table) == ["Majority", "Base", "Simple", "EM"]
    printed = text(table)
    stars = {label: {task for task, figure in row.items() if figure.endswith("*")} for label, row in printed.items()}
    assert stars == {
        "Majority": set(),
        "Base": {"SeLen", "CoIn"},
        "Simple": {"SeLen", "WC", "Tense", "CoIn"},
        "EM": {*TEN[1:], AVERAGE},
    }
    assert [printed[row][AVERAGE] for row in ("Majority", "Base", "Simple", "EM")] == [
        "50.00",
        "74.72",
        "75.38",
        "76.75*",
    ]
    assert table.caption.full == (
        "Test accuracy in percent. Data: mini; preset: mini; seed 0, ± half the 95 % interval over test sentences "
        "(Wilson's; the average's by MOVER); other seeds may differ more."
    )
    assert table.legend.full == (
        "best of its column, or not significantly worse than any other (p ≥ .05 by McNemar's exact test or approximate "
        "randomisation; Holm's correction over all pairs of models of the column)."
    )
    assert table.marks.full == ""


def test_any_order_of_the_records_gives_the_same_table(make_record):
    records = [make_record(task, model, 50.0 + i) for i, task in enumerate(TEN[:2]) for model in ("em", "base")]
    tables = [make_tables(list(order)) for order in itertools.permutations(records)]
    assert all(table == tables[0] for table in tables)


def test_rows_stand_in_the_registrys_order_and_custom_models_last(make_record):
    names = ["my.py:Zebra", "em-code", "em", "a.py:Ant", "simple", "simple-code", "base"]
    table = only([make_record(model=name) for name in names])
    assert labels(table) == ["Majority", "Base", "Simple", "EM", "Simple (code)", "EM (code)", "Ant", "Zebra"]


def test_a_users_own_tasks_come_last_and_counterparts_with_their_family(make_record):
    table = only([make_record(task) for task in ("zeta", "Alpha", "DepDepth", "Tense", "BShif", "SeLen")])
    assert table.families == {
        "SeLen": "surface",
        "BShif": "syntactic",
        "DepDepth": "syntactic",
        "Tense": "semantic",
        "Alpha": "own",
        "zeta": "own",
    }


def test_one_task_needs_no_average(make_record):
    table = only([make_record()])
    assert table.columns == ["Tense"]
    assert text(table) == {"Majority": {"Tense": "50.00"}, "EM": {"Tense": "80.00*"}}


def test_an_average_is_given_only_where_nothing_is_missing(make_record):
    records = [make_record("Tense", "base", 70.0), make_record("WC", "base", 60.0), make_record("Tense", "em", 90.0)]
    table = only(records)
    assert text(table) == {
        "Majority": {"WC": "50.00", "Tense": "50.00", AVERAGE: "50.00"},
        "Base": {"WC": "60.00*", "Tense": "70.00", AVERAGE: "65.00*"},
        "EM": {"Tense": "90.00*"},
    }
    assert table.notes == ["1 cell of this table has not been run: EM WC seed 0"]


def test_figures_that_are_printed_alike_are_equally_good(make_record):
    # The sentences differ, so there is no test and the printed figures decide.
    accuracies = {"base": 80.004, "simple": 80.001, "em": 79.99}
    records = [
        make_record(model=model, accuracy=accuracy, size=size)
        for size, (model, accuracy) in zip((100, 200, 300), accuracies.items(), strict=True)
    ]
    table = only(records)
    assert [value["Tense"] for value in text(table).values()] == ["50.00", "80.00*", "80.00*", "79.99"]
    assert table.notes == [
        "Base and Simple have different test labels on Tense: not compared",
        "Base and EM have different test labels on Tense: not compared",
        "Simple and EM have different test labels on Tense: not compared",
    ]


def test_the_baseline_is_never_the_best(make_record):
    assert text(only([make_record(accuracy=40.0)]))["Majority"] == {"Tense": "50.00"}
    assert text(only([make_record(accuracy=40.0)]))["EM"] == {"Tense": "40.00*"}


def test_several_seeds_give_the_mean_and_an_interval(make_record):
    records = [make_record(seed=seed, accuracy=accuracy) for seed, accuracy in ((5, 80.0), (1, 82.0), (10, 84.0))]
    records += [make_record("WC", seed=1, accuracy=60.0)]
    table = only(records)
    assert text(table)["EM"] == {"WC": "60.00*", "Tense": "82.00*", AVERAGE: "71.00*"}
    values = table.rows[1].values
    assert values["WC"].format_below() == "±0.96"  # 1.96 sqrt(.6 * .4 / 10000)
    half = 4.30 * 2 / math.sqrt(3)  # Student's t with two degrees of freedom: nearly all variance is between seeds
    assert float(values["Tense"].format_below().strip("±")) == pytest.approx(half, rel=0.05)
    assert values[AVERAGE].format_below() == "±2.43"
    assert table.caption.full == (
        "Test accuracy in percent. Data: mini; preset: mini; mean of 3 seeds (1, 5, 10), ± half the 95 % interval over "
        "seeds and test sentences (Wilson's, with the effective sample size; the average's by MOVER)."
    )
    assert table.notes == ["2 cells of this table have not been run: EM WC seeds 5, 10"]


def test_data_sets_and_presets_have_tables_of_their_own(make_record, change):
    records = [make_record(data=data, preset=preset) for data in ("mini", "books") for preset in ("small", "mini")]
    records += [change(make_record(), data__datasheet="f00df00df00df00d")]
    captions = [table.caption.full.removeprefix("Test accuracy in percent. ") for table in make_tables(records)]
    captions = [caption.partition(", ±")[0] + "." for caption in captions]
    assert sorted(captions) == [
        "Data: books; preset: mini; seed 0.",
        "Data: books; preset: small; seed 0.",
        "Data: mini f00df00df00d; preset: mini; seed 0.",
        "Data: mini; preset: mini; seed 0.",
        "Data: mini; preset: small; seed 0.",
    ]


def test_a_changed_file_never_shares_a_table_with_the_old_one(make_record, change):
    old = [make_record("Tense", model) for model in ("base", "em")] + [make_record("WC", "em")]
    new = [change(make_record("Tense", "em", 99.0), data__sha256="ab" * 32, timing__finished_at="2027-01-01")]
    first, second = make_tables(new + old)
    assert text(first)["EM"]["Tense"] == "80.00*"
    assert text(second)["EM"] == {"Tense": "99.00*"}
    sha256 = old[0].identity.data.sha256[:12]
    assert first.notes[0] == f"the file of Tense is the one with SHA-256 {sha256}; another table has another"
    assert second.notes == ["the file of Tense is the one with SHA-256 abababababab; another table has another"]
    assert not any("file of WC" in note for note in first.notes)


def test_the_caption_names_files_that_differ_from_sentevals(make_record, change):
    records = [change(make_record(data="senteval"), data__verified=verified) for verified in (True, False)]
    assert "senteval;" in only(records[:1]).caption.full
    assert "Data: senteval (files differ from SentEval's published ones); " in only(records[1:]).caption.full


def test_labels_distinguish_settings_of_one_model(make_record):
    records = [
        make_record(settings=settings()),
        make_record(settings=settings(iterations=2)),
        make_record(settings=settings(iterations=2, num_layers=1)),
        make_record(model="base", settings=settings()),
    ]
    assert labels(only(records)) == [
        "Majority",
        "Base",
        "EM (num_layers=1, iterations=2)",
        "EM (num_layers=3, iterations=2)",
        "EM (num_layers=3, iterations=3)",
    ]


def test_a_setting_that_an_older_record_lacks(make_record):
    records = [make_record(settings=settings()), make_record(settings=settings(squash=True), accuracy=70.0)]
    assert sorted(labels(only(records))) == ["EM", "EM (squash=True)", "Majority"]


def test_labels_distinguish_versions_of_one_model(make_record, change):
    records = [make_record(model="my.py:Mine"), change(make_record(model="my.py:Mine"), model__version="ab" * 32)]
    version = records[0].identity.model.version[:8]
    assert sorted(labels(only(records))) == sorted(["Majority", f"Mine (version {version})", "Mine (version abababab)"])


def test_models_with_the_same_label_are_distinguished_by_name(make_record, change):
    same = {"model__version": "ab" * 32}
    records = [change(make_record(model=model), **same) for model in ("a.py:Mine", "b.py:Mine")]
    assert labels(only(records)) == ["Majority", "Mine (a.py:Mine)", "Mine (b.py:Mine)"]
    records = [make_record(model="base"), make_record(model="my.py:Base")]
    assert labels(only(records)) == ["Majority", "Base (base)", "Base (my.py:Base)"]


def test_failed_cells_are_noted_and_not_called_missing(make_record):
    records = [make_record(task, model) for task in ("Tense", "WC") for model in ("base", "em")]
    records[3] = make_record("WC", "em", None, seed=0)
    table = only(records)
    assert table.notes == ["WC EM seed 0 failed: the loss became nan in epoch 2"]
    assert text(table)["EM"] == {"Tense": "80.00*"}
    assert AVERAGE in text(table)["Base"]


def test_only_failed_cells(make_record):
    table = only([make_record(accuracy=None)])
    assert text(table) == {"Majority": {}}
    assert len(table.notes) == 1


def test_a_failed_seed_beside_finished_ones(make_record):
    table = only([make_record(seed=0), make_record(seed=1, accuracy=None), make_record(seed=2, accuracy=82.0)])
    assert text(table)["EM"] == {"Tense": "81.00*"}
    assert table.notes == ["Tense EM seed 1 failed: the loss became nan in epoch 2"]


def test_against_the_paper(paper_records):
    table = only(paper_records, against_paper=True)
    models = ["Base", "Simple", "EM"]
    assert labels(table) == ["Majority", *models, *(f"{m}{end}" for m in models for end in (", paper", " − paper"))]
    printed = text(table)
    for model in models:
        assert set(printed[f"{model} − paper"].values()) == {"+0.00"}
        assert {k: v.strip("*") for k, v in printed[model].items()} == printed[f"{model}, paper"]


def test_the_paper_is_compared_only_where_both_have_a_figure(make_record):
    records = [make_record("Tense", "em", 90.0), make_record("my_task", "em", 60.0), make_record("WC", "base", 90.0)]
    printed = text(only([*records, make_record("Tense", "my.py:Mine")], against_paper=True))
    assert printed["EM, paper"] == {"WC": "98.75", "Tense": "88.17"}
    assert printed["EM − paper"] == {"Tense": "+1.83"}
    assert printed["Base − paper"] == {"WC": "-7.92"}
    assert "Simple, paper" not in printed
    assert not any("Mine," in label for label in printed)


@pytest.mark.parametrize(
    ("value", "signed", "printed"),
    [
        (TableValue(97.216), False, "97.22"),
        (TableValue(100.0), False, "100.00"),
        (TableValue(1.5), True, "+1.50"),
        (TableValue(-1.5), True, "-1.50"),
        (TableValue(-0.001), True, "+0.00"),
    ],
)
def test_the_text_of_a_value(value, signed, printed):
    assert value.format(signed=signed) == printed


def test_the_text_below_a_value():
    assert TableValue(80.0).format_below() == ""
    assert TableValue(80.0, Interval(79.0, 80.5)).format_below() == "±0.75"


def test_the_best_and_all_that_are_not_significantly_worse_are_bold(make_record):
    values = {"base": 84.0, "simple": 83.9, "em": 80.0}
    table = only([make_record(model=model, accuracy=accuracy) for model, accuracy in values.items()])
    assert [row.values["Tense"].best for row in table.rows] == [False, True, True, False]


def test_with_few_sentences_little_is_significantly_worse(make_record):
    values = {"base": 84.0, "simple": 83.0, "em": 80.0}
    table = only([make_record(model=model, accuracy=accuracy, size=100) for model, accuracy in values.items()])
    assert [row.values["Tense"].best for row in table.rows] == [False, True, True, True]


def test_seeds_that_differ_much_make_a_lead_insignificant(make_record):
    def leads(*accuracies):
        records = [make_record(model="base", accuracy=80.0 + seed / 10, seed=seed) for seed in (0, 1, 2)]
        records += [make_record(model="em", accuracy=accuracy, seed=seed) for seed, accuracy in enumerate(accuracies)]
        return not only(records).rows[1].values["Tense"].best

    assert leads(83.0, 83.1, 82.9)
    assert not leads(78.0, 83.0, 88.0)


def test_a_reference_is_found_by_its_label_or_its_name(make_record):
    records = [make_record(model="base", accuracy=80.0), make_record(model="my.py:Mine", accuracy=90.0)]
    for name, label in (("mine", "Mine"), ("my.py:Mine", "Mine"), ("BASE", "Base")):
        table = only(records, reference=name)
        marked = {row.label for row in table.rows if row.values["Tense"].mark}
        assert marked == {"Base", "Mine"} - {label}
        assert f"differs from {label} with" in table.marks.full


def test_an_ambiguous_reference_is_a_mistake(make_record):
    records = [make_record(settings=settings()), make_record(settings=settings(iterations=2))]
    with pytest.raises(ProbingError) as caught:
        make_tables(records, reference="em")
    assert str(caught.value) == (
        "model 'em' is not the only one of this name. Choose one of 'EM (iterations=2)', 'EM (iterations=3)'"
    )
    assert "differs from EM (iterations=2) with" in only(records, reference="EM (iterations=2)").marks.full


def test_a_table_without_the_reference_has_a_note(make_record):
    tables = make_tables([make_record(model="base"), make_record(data="books")], reference="base")
    assert ["base has no results here, so nothing is compared with it" in table.notes for table in tables] == [
        True,
        False,
    ]
    assert [bool(table.marks) for table in tables] == [False, True]


def test_against_the_paper_on_other_data(make_record):
    note = "the paper's figures are on SentEval's data, these results on mini"
    assert note in only([make_record()], against_paper=True).notes
    assert note not in only([make_record()]).notes
    assert not any("SentEval" in note for note in only([make_record(data="senteval")], against_paper=True).notes)


def description(bits, uniform_bits=1000.0):
    return DescriptionLength(bits=bits, uniform_bits=uniform_bits, compression=uniform_bits / bits, pieces=[])


@pytest.fixture
def measured(make_record, change):
    """Return records of two tasks and seeds; EM has a control and a description length on both, Base on one only."""

    def make(task, model, accuracy, measure="accuracy", bits=None):
        records = [make_record(task, model, accuracy + seed, seed=seed) for seed in (0, 1)]
        records = [change(record, measure=measure, key=f"{measure} {record.key}") for record in records]
        if bits is not None:
            records = [change(r, outcome__description=description(bits + 100 * r.identity.seed)) for r in records]
        return records

    records = [record for model in ("base", "em") for task in ("SeLen", "Tense") for record in make(task, model, 80.0)]
    for task in ("SeLen", "Tense"):
        records += make(task, "em", 60.0, "random-labels") + make(task, "em", 70.0, "description-length", 200.0)
    return (
        records + make("Tense", "base", 85.0, "random-labels") + make("Tense", "base", 7.0, "description-length", 950.0)
    )


def test_selectivity_and_compression_have_tables_of_their_own(measured):
    table = only(measured)
    assert labels(table) == ["Majority", "Base", "EM"]
    assert table.columns == ["SeLen", "Tense", AVERAGE]
    assert [supplement.measure for supplement in table.supplements] == ["selectivity", "compression"]
    selectivity, compression = table.supplements
    assert text(selectivity) == {
        "Base": {"Tense": "-5.00"},
        "EM": {"SeLen": "20.00", "Tense": "20.00", AVERAGE: "20.00"},
    }
    assert text(compression) == {"Base": {"Tense": "1.00"}, "EM": {"SeLen": "4.00", "Tense": "4.00", AVERAGE: "4.00"}}
    assert [value.format_below() for value in compression.rows[1].values.values()] == ["0.25", "0.25", "0.25"]
    assert selectivity.columns == compression.columns == table.columns
    assert selectivity.caption.full.startswith("Selectivity: accuracy − control accuracy in percentage points")
    assert "Voita & Titov 2020" in compression.caption.full
    assert not any(table.notes for table in table.supplements)


def test_both_controls_have_a_table(measured, change):
    words = [change(one, measure="word-labels", key=f"w {one.key}") for one in measured]
    words = [one for one, old in zip(words, measured, strict=True) if old.identity.measure == "random-labels"]
    table = only(measured + [change(one, outcome__test_accuracy=50.0) for one in words])
    assert table.averages == ["Select.", "Sel. words", "Compr."]
    selectivity, word_selectivity, _ = table.supplements
    assert text(selectivity)["EM"]["Tense"] == "20.00"
    assert text(word_selectivity)["EM"]["Tense"] == "30.50"
    assert word_selectivity.caption.full.startswith("Word selectivity: accuracy − accuracy with word labels")
    assert "selectivity, word selectivity and compression, see below." in render_text(table)


def test_averages_of_other_measures_stand_in_the_table_of_accuracies(measured):
    table = only(measured)
    assert table.averages == ["Select.", "Compr."]
    assert "Select., Compr.: selectivity and compression, see below." in render_text(table)
    printed = text(table)
    assert (printed["EM"]["Select."], printed["EM"]["Compr."]) == ("20.00", "4.00")
    assert "Select." not in printed["Base"]  # an average over fewer tasks would not be comparable
    assert [printed[row]["Tense"] for row in ("Base", "EM")] == ["80.50*", "80.50*"]
    plain = only([record for record in measured if record.identity.measure == "accuracy"])
    assert (plain.supplements, plain.averages) == ([], [])
    assert "see below" not in render_text(plain)


def test_the_interval_of_a_selectivity_is_wider_than_that_of_the_accuracy(measured):
    table = only(measured)
    accuracy = table.rows[2].values["Tense"].interval
    selectivity = table.supplements[0].rows[1].values["Tense"].interval
    assert selectivity.low < 20.0 < selectivity.high
    assert selectivity.high - selectivity.low > accuracy.high - accuracy.low
    average = table.supplements[0].rows[1].values[AVERAGE].interval
    assert average.high - average.low < selectivity.high - selectivity.low


def test_an_untrained_model_stands_below_the_trained_one(make_record, change):
    records = [make_record(model=model) for model in ("em", "base", "simple")]
    records += [
        change(make_record(model=model), model__name=f"{model} untrained", model__label=f"{label}, untrained")
        for model, label in (("base", "Base"), ("em", "EM"))
    ]
    records += [make_record(model="length")]
    assert labels(only(records)) == ["Majority", "Base", "Base, untrained", "Simple", "EM", "EM, untrained", "length"]
