from __future__ import annotations

import json
from statistics import fmean

import pytest

from probing.report.grouping import AVERAGE
from probing.report.page import REFERENCES, list_differing_settings, make_section
from probing.report.table import make_tables
from probing.results import DescriptionLength


@pytest.fixture(scope="session")
def section(gallery):
    (table,) = make_tables(gallery)
    return make_section(table)


def test_the_views_are_the_tables_values(gallery, section):
    (table,) = make_tables(gallery)
    assert [row["label"] for row in section["rows"]] == [row.label for row in table.rows]
    for row, values in zip(table.rows, section["views"]["accuracy"], strict=True):
        for column, value in zip(table.columns, values, strict=True):
            shown = row.values.get(column)
            assert (value is None) == (shown is None)
            if shown is not None:
                assert value[0] == pytest.approx(shown.mean, abs=1e-4)
                assert value[3:] == [shown.format(), shown.format_below(), shown.best, ""]


def test_rows_of_models_have_their_index(section):
    assert section["rows"][0] == {"label": "Majority", "model": None}
    assert [row["model"] for row in section["rows"][1:]] == list(range(len(section["models"])))
    assert [row["label"] for row in section["rows"][1:]] == section["models"]


@pytest.mark.parametrize("name", ["Base", "EM"])
def test_differences_are_those_of_the_table_with_this_reference(gallery, section, name):
    (table,) = make_tables(gallery, reference=name)
    differences = section["differences"][section["models"].index(name)]
    column = table.columns.index("Tense")
    for row, values in zip(table.rows, differences, strict=True):
        if row.model and row.label != name and "Tense" in row.values:
            reference = next(other for other in table.rows if other.label == name)
            assert values[column][0] == pytest.approx(
                row.values["Tense"].mean - reference.values["Tense"].mean, abs=1e-3
            )
            assert values[column][6] == row.values["Tense"].mark
            assert values[column][3][0] in "+−"
        else:
            assert values[column] is None


def test_the_requested_reference_comes_first(make_record):
    models = [f"m.py:{letter}" for letter in "ABCDEFGH"]
    (table,) = make_tables([make_record(model=model, size=100) for model in models], reference="H")
    section = make_section(table)
    assert [section["models"][place] for place in section["differences"]] == ["H", "A", "B", "C", "D"]
    assert len(section["differences"]) == REFERENCES
    (table,) = make_tables([make_record()])
    assert make_section(table)["differences"] == {}


def test_a_cell_has_the_facts_of_its_records(gallery, section):
    cell = next(cell for cell in section["cells"] if (cell["model"], cell["task"]) == (2, "SeLen"))
    records = [one for one in gallery if (one.identity.model.name, one.identity.task) == ("em", "SeLen")]
    assert [seed["seed"] for seed in cell["seeds"]] == [0, 1]
    assert cell["seeds"][1]["test"] == records[1].scores.test_accuracy
    assert cell["seeds"][1]["epochs"] == [1, 2, 3, 4, 5, 6]
    assert cell["seconds"] == fmean(record.timing.seconds for record in records)
    facts = dict(cell["facts"])
    assert facts["parameters"] == "204,000, 99 words"
    assert facts["training"] == "patience 4"
    assert facts["model"] == "num_layers 3, layers_with_aggregator none"
    assert facts["records"] == ", ".join(record.key[:12] for record in records)
    assert sum(right for _, _, right in cell["classes"]) == sum(
        gold == answer for one in records for gold, answer in zip(one.scores.gold, one.scores.predictions, strict=True)
    )
    assert sum(count for _, _, count in cell["confusion"]["counts"]) == 2_000


def test_a_probes_chosen_configuration_is_a_fact(make_record, change):
    record = change(make_record(), outcome__configurations=[{"hidden": 50, "dropout": 0.1}, {"hidden": 100}])
    (table,) = make_tables([record])
    assert dict(make_section(table)["cells"][0]["facts"])["chosen"] == "hidden 50, dropout 0.1"


def test_other_measures_are_views(make_record, change):
    record = make_record(size=1_000)
    control = change(make_record(accuracy=55.0, size=1_000), measure="random-labels", key="control")
    description = DescriptionLength(bits=1_500.0, uniform_bits=3_000.0, compression=2.0, pieces=[])
    coded = change(record, measure="description-length", key="coded", outcome__description=description)
    (table,) = make_tables([make_record(model="base", size=1_000), record, control, coded])
    section = make_section(table)
    assert list(section["views"]) == list(section["captions"]) == ["accuracy", "selectivity", "compression"]
    assert [row[0] and row[0][3:5] for row in section["views"]["selectivity"]] == [None, None, ["25.00", "±3.95"]]
    assert [row[0] and row[0][:5] for row in section["views"]["compression"]] == [
        None,
        None,
        [2.0, 2.0, 2.0, "2.00", "1.50"],
    ]
    assert section["captions"]["compression"].startswith("Compression: ")
    facts = dict(section["cells"][1]["facts"])
    assert facts["control"] == "55.00 on random labels"
    assert facts["description"] == "1,500 bits, 3,000 in the uniform code: compression 2.00"


def test_layers_are_indices_of_models(section):
    assert section["stacks"] == [{"encoder": "bert", "layers": {0: 3, 1: 4, 2: 5}}]
    assert section["models"][3:6] == ["bert layer 0", "bert layer 1", "bert layer 2"]


def test_the_data_is_small_without_predictions(thirty_cells):
    (table,) = make_tables(thirty_cells(2, size=1_000))
    section = make_section(table)
    assert section["columns"][-1] == AVERAGE
    assert len(json.dumps(section)) < 250_000
    assert max(len(cell["confusion"]["counts"]) for cell in section["cells"]) <= 24 * 24


def test_settings_that_differ(make_record, change):
    shared = {"model": {"num_layers": 3}, "training": {"patience": 4, "learning_rate": 0.002}}
    other = {"model": {"num_layers": 2}, "training": {"patience": 4, "learning_rate": 0.002}, "encoder": {"dtype": "x"}}
    records = [make_record(model="base", settings=shared), make_record(settings=other)]
    (table,) = make_tables(records)
    assert list_differing_settings(table.analysis.group) == {"model.num_layers": ["3", "2"]}
    plugin = make_record(model="my.py:M", settings=shared)
    (table,) = make_tables([records[0], plugin])
    assert list_differing_settings(table.analysis.group) == {
        "version": ["built-in", plugin.identity.model.version[:12]]
    }


@pytest.mark.parametrize(
    ("version", "shown"),
    [("b259200b250ed1790431bca5e686bbbb22384658", "b259200b250e"), ("2026-11", "2026-11"), ("my model " * 9, 40)],
)
def test_a_version_that_is_a_hash_is_shown_by_its_beginning(make_record, change, version, shown):
    plugin = change(make_record(model="my.py:M"), model__version=version)
    (table,) = make_tables([make_record(model="base"), plugin])
    expected = shown if isinstance(shown, str) else version[:shown]
    assert list_differing_settings(table.analysis.group)["version"] == ["built-in", expected]


def test_only_failed_cells(make_record):
    (table,) = make_tables([make_record(accuracy=None)])
    section = make_section(table)
    assert section["models"] == section["cells"] == []


def test_notes_name_models_by_their_place_and_not_by_letters_of_their_names(make_record, change):
    untrained = change(make_record(accuracy=50.0, model="base"), model__name="base untrained", model__label="Base, raw")
    (table,) = make_tables([make_record(model="base"), untrained, make_record(model="em", accuracy=None)])
    section = make_section(table)
    assert section["models"] == ["Base", "Base, raw"]
    failed, chance = section["notes"]
    assert failed["items"][0][1] == [[None]], "a model without a row cannot be hidden"
    beginning = "not distinguishable from always guessing the most frequent label"
    assert chance == {"beginning": beginning, "items": [["Base, raw on Tense", [[1]]]], "most": 6}


def test_a_note_on_differences_knows_which_models_differ(make_record):
    records = [
        make_record(model=model, settings={"training": {"max_epochs": epochs}})
        for model, epochs in (("base", 5), ("simple", 5), ("em", 8))
    ]
    (table,) = make_tables(records)
    (note,) = make_section(table)["notes"]
    assert note["items"] == [["training.max_epochs is 5 for Base, Simple, 8 for EM", [[0, 1], [2]]]]
