from __future__ import annotations

import itertools

import pytest

from probing.report.table import AVERAGE, Value, make_tables
from probing.tasks import TASKS

TEN = [task.name for task in TASKS]


def only(results, **options):
    (table,) = make_tables(results, **options)
    return table


def labels(table):
    return [row.label for row in table.rows]


def text(table):
    """Return row label -> column -> what is printed, best ones starred."""
    return {
        row.label: {name: value.text(signed=row.signed) + "*" * value.best for name, value in row.values.items()}
        for row in table.rows
    }


def settings(**model):
    return {"model": {"num_layers": 3, "iterations": 3} | model, "training": {"patience": 4}}


def test_the_papers_table(paper_results):
    table = only(reversed(paper_results))
    assert table.columns == [*TEN, AVERAGE]
    assert list(table.families.values()) == ["surface"] * 2 + ["syntactic"] * 3 + ["semantic"] * 5
    assert labels(table) == ["Majority", "Base", "Simple", "EM"]
    printed = text(table)
    assert printed["Base"]["SeLen"] == "97.22*"
    assert printed["Simple"]["WC"] == "98.85*"
    assert printed["EM"]["TrDep"] == "47.72*"
    assert [printed[row][AVERAGE] for row in ("Majority", "Base", "Simple", "EM")] == [
        "50.00",
        "74.72",
        "75.38",
        "76.75*",
    ]
    assert table.caption == "Test accuracy in percent. Data: mini; preset: mini; seed 0."
    assert table.notes == []


def test_any_order_of_the_records_gives_the_same_table(make_result):
    results = [make_result(task, model, 50.0 + i) for i, task in enumerate(TEN[:2]) for model in ("em", "base")]
    tables = [make_tables(list(order)) for order in itertools.permutations(results)]
    assert all(table == tables[0] for table in tables)


def test_rows_stand_in_the_registrys_order_and_custom_models_last(make_result):
    names = ["my.py:Zebra", "em-code", "em", "a.py:Ant", "simple", "simple-code", "base"]
    table = only([make_result(model=name) for name in names])
    assert labels(table) == ["Majority", "Base", "Simple", "EM", "Simple (code)", "EM (code)", "Ant", "Zebra"]


def test_a_users_own_tasks_come_last_and_counterparts_with_their_family(make_result):
    table = only([make_result(task) for task in ("zeta", "Alpha", "DepDepth", "Tense", "BShif", "SeLen")])
    assert table.families == {
        "SeLen": "surface",
        "BShif": "syntactic",
        "DepDepth": "syntactic",
        "Tense": "semantic",
        "Alpha": "own",
        "zeta": "own",
    }


def test_one_task_needs_no_average(make_result):
    table = only([make_result()])
    assert table.columns == ["Tense"]
    assert text(table) == {"Majority": {"Tense": "50.00"}, "EM": {"Tense": "80.00*"}}


def test_an_average_is_given_only_where_nothing_is_missing(make_result):
    results = [make_result("Tense", "base", 70.0), make_result("WC", "base", 60.0), make_result("Tense", "em", 90.0)]
    table = only(results)
    assert text(table) == {
        "Majority": {"WC": "50.00", "Tense": "50.00", AVERAGE: "50.00"},
        "Base": {"WC": "60.00*", "Tense": "70.00", AVERAGE: "65.00*"},
        "EM": {"Tense": "90.00*"},
    }
    assert table.notes == ["1 cell of this table has not been run"]


def test_what_is_printed_alike_is_equally_good(make_result):
    accuracies = {"base": 80.004, "simple": 80.001, "em": 79.99}
    table = only([make_result(model=model, accuracy=accuracy) for model, accuracy in accuracies.items()])
    assert [value["Tense"] for value in text(table).values()] == ["50.00", "80.00*", "80.00*", "79.99"]


def test_the_baseline_is_never_the_best(make_result):
    assert text(only([make_result(accuracy=40.0)]))["Majority"] == {"Tense": "50.00"}
    assert text(only([make_result(accuracy=40.0)]))["EM"] == {"Tense": "40.00*"}


def test_several_seeds_give_mean_and_deviation(make_result):
    results = [make_result(seed=seed, accuracy=accuracy) for seed, accuracy in ((5, 80.0), (1, 82.0), (10, 84.0))]
    results += [make_result("WC", seed=1, accuracy=60.0)]
    table = only(results)
    assert text(table)["EM"] == {"WC": "60.00*", "Tense": "82.00 ±2.00*", AVERAGE: "71.00*"}
    assert table.caption == (
        "Test accuracy in percent. Data: mini; preset: mini; 3 seeds (1, 5, 10), mean ± standard deviation over seeds."
    )
    assert table.notes == ["2 cells of this table have not been run"]


def test_data_sets_and_presets_have_tables_of_their_own(make_result, change):
    results = [make_result(data=data, preset=preset) for data in ("mini", "books") for preset in ("small", "mini")]
    results += [change(make_result(), data__datasheet="f00df00df00df00d")]
    captions = [table.caption.removeprefix("Test accuracy in percent. ") for table in make_tables(results)]
    assert sorted(captions) == [
        "Data: books; preset: mini; seed 0.",
        "Data: books; preset: small; seed 0.",
        "Data: mini f00df00df00d; preset: mini; seed 0.",
        "Data: mini; preset: mini; seed 0.",
        "Data: mini; preset: small; seed 0.",
    ]


def test_a_changed_file_never_shares_a_table_with_the_old_one(make_result, change):
    old = [make_result("Tense", model) for model in ("base", "em")] + [make_result("WC", "em")]
    new = [change(make_result("Tense", "em", 99.0), data__sha256="ab" * 32, timing__finished_at="2027-01-01")]
    first, second = make_tables(new + old)
    assert text(first)["EM"]["Tense"] == "80.00*"
    assert text(second)["EM"] == {"Tense": "99.00*"}
    sha256 = old[0].data.sha256[:12]
    assert first.notes[0] == f"the file of Tense is the one with SHA-256 {sha256}; another table has another"
    assert second.notes == ["the file of Tense is the one with SHA-256 abababababab; another table has another"]
    assert not any("WC" in note for note in first.notes)


def test_files_that_are_not_sentevals_are_said_to_be_so(make_result, change):
    results = [change(make_result(data="senteval"), data__verified=verified) for verified in (True, False)]
    assert "senteval;" in only(results[:1]).caption
    assert "Data: senteval (files differ from SentEval's published ones); " in only(results[1:]).caption


def test_settings_of_one_model_are_told_apart(make_result):
    results = [
        make_result(settings=settings()),
        make_result(settings=settings(iterations=2)),
        make_result(settings=settings(iterations=2, num_layers=1)),
        make_result(model="base", settings=settings()),
    ]
    assert labels(only(results)) == [
        "Majority",
        "Base",
        "EM (num_layers=1, iterations=2)",
        "EM (num_layers=3, iterations=2)",
        "EM (num_layers=3, iterations=3)",
    ]


def test_a_setting_that_an_older_record_lacks(make_result):
    results = [make_result(settings=settings()), make_result(settings=settings(squash=True), accuracy=70.0)]
    assert sorted(labels(only(results))) == ["EM", "EM (squash=True)", "Majority"]


def test_versions_of_one_model_are_told_apart(make_result, change):
    results = [make_result(model="my.py:Mine"), change(make_result(model="my.py:Mine"), model__version="ab" * 32)]
    version = results[0].model.version[:8]
    assert sorted(labels(only(results))) == sorted(["Majority", f"Mine (version {version})", "Mine (version abababab)"])


def test_models_of_one_label_are_told_apart(make_result, change):
    same = {"model__version": "ab" * 32}
    results = [change(make_result(model=model), **same) for model in ("a.py:Mine", "b.py:Mine")]
    assert labels(only(results)) == ["Majority", "Mine (a.py:Mine)", "Mine (b.py:Mine)"]
    results = [make_result(model="base"), make_result(model="my.py:Base")]
    assert labels(only(results)) == ["Majority", "Base (base)", "Base (my.py:Base)"]


def test_failed_cells_are_noted_and_not_called_missing(make_result):
    results = [make_result(task, model) for task in ("Tense", "WC") for model in ("base", "em")]
    results[3] = make_result("WC", "em", None, seed=0)
    table = only(results)
    assert table.notes == ["WC EM seed 0 failed: the loss became nan in epoch 2"]
    assert text(table)["EM"] == {"Tense": "80.00*"}
    assert AVERAGE in text(table)["Base"]


def test_only_failed_cells(make_result):
    table = only([make_result(accuracy=None)])
    assert text(table) == {"Majority": {}}
    assert len(table.notes) == 1


def test_a_failed_seed_beside_finished_ones(make_result):
    table = only([make_result(seed=0), make_result(seed=1, accuracy=None), make_result(seed=2, accuracy=82.0)])
    assert text(table)["EM"] == {"Tense": "81.00 ±1.41*"}
    assert table.notes == ["Tense EM seed 1 failed: the loss became nan in epoch 2"]


def test_against_the_paper(paper_results):
    table = only(paper_results, against_paper=True)
    models = ["Base", "Simple", "EM"]
    assert labels(table) == ["Majority", *models, *(f"{m}{end}" for m in models for end in (", paper", " − paper"))]
    printed = text(table)
    for model in models:
        assert set(printed[f"{model} − paper"].values()) == {"+0.00"}
        assert {k: v.strip("*") for k, v in printed[model].items()} == printed[f"{model}, paper"]


def test_against_the_paper_only_what_both_have(make_result):
    results = [make_result("Tense", "em", 90.0), make_result("my_task", "em", 60.0), make_result("WC", "base", 90.0)]
    printed = text(only([*results, make_result("Tense", "my.py:Mine")], against_paper=True))
    assert printed["EM, paper"] == {"WC": "98.75", "Tense": "88.17"}
    assert printed["EM − paper"] == {"Tense": "+1.83"}
    assert printed["Base − paper"] == {"WC": "-7.92"}
    assert "Simple, paper" not in printed
    assert not any("Mine," in label for label in printed)


@pytest.mark.parametrize(
    ("value", "signed", "printed"),
    [
        (Value(97.216), False, "97.22"),
        (Value(100.0), False, "100.00"),
        (Value(50.0, 0.0), False, "50.00 ±0.00"),
        (Value(1.5), True, "+1.50"),
        (Value(-1.5), True, "-1.50"),
        (Value(-0.001), True, "+0.00"),
    ],
)
def test_the_text_of_a_value(value, signed, printed):
    assert value.text(signed=signed) == printed
