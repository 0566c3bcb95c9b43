from __future__ import annotations

import json

import pytest

from probing.errors import ProbingError
from probing.report.grouping import group_results
from probing.report.plots import load_and_plot
from probing.report.sweep_plot import Positions, list_lines
from probing.report.sweeps import find_sweep, render_sweep
from probing.results import Store


@pytest.fixture
def records(make_record):
    """Accuracies rise with the number of capsules; Base has no such setting that matters, but two seeds."""
    settings = {
        size: {"model": {"num_capsules": size, "layers_with_aggregator": [1, 2]}, "training": {"patience": 4}}
        for size in (8, 32, 128)
    }
    made = [make_record(model="em", accuracy=60.0 + size / 8, settings=one) for size, one in settings.items()]
    return [*made, *(make_record(model="base", accuracy=70.0, seed=seed, settings=settings[8]) for seed in (0, 1))]


def test_rows_are_sorted_by_model_and_size_of_the_value(records):
    (group,) = group_results(records)
    sweep = find_sweep(group, ["model.num_capsules"])
    assert [(row.label, row.values) for row in sweep.rows] == [("Base", (8,)), *(("EM", (n,)) for n in (8, 32, 128))]
    assert find_sweep(group).settings == ["model.num_capsules"]


@pytest.mark.parametrize("format", ["table", "markdown", "latex", "csv"])
def test_every_format_has_all_values(records, format):
    text = render_sweep(records, ["model.num_capsules"], format)
    lines = text.splitlines()
    for size in (8, 32, 128):
        assert any("EM" in line and str(size) in line and f"{60 + size / 8:.1f}" in line for line in lines)


def test_json_has_a_row_for_each_figure(records):
    rows = json.loads(render_sweep(records, ["model.num_capsules"], "json"))
    assert [(row["label"], row["model.num_capsules"], row["seeds"]) for row in rows][:2] == [
        ("Base", "8", 2),
        ("EM", "8", 1),
    ]


def test_settings_are_chosen_by_dev(records, change):
    """Dev accuracies are one point above those of the test sentences."""
    records = [change(one, outcome__dev_accuracy=one.scores.test_accuracy + 1) for one in records]
    text = render_sweep(records, ["model.num_capsules"], "markdown", dev=True)
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| ")]
    assert rows[0] == ["Model", "model.num\\_capsules", "Tense", "Avg."]
    assert rows[1:] == [
        ["Base", "8", "71.00", "71.00"],
        ["EM", "8", "62.00", "62.00"],
        ["EM", "32", "65.00", "65.00"],
        ["EM", "128", "77.00", "77.00"],
    ]
    assert "Dev accuracy in percent against model.num\\_capsules, mean over the seeds. Avg.: over Tense." in text
    figures = json.loads(render_sweep(records, ["model.num_capsules"], "json"))
    assert [row["mean_dev_accuracy"] for row in figures] == [71.0, 62.0, 65.0, 77.0]


def test_the_average_is_over_tasks_that_all_rows_have(records, make_record):
    other = make_record(task="WC", model="base", accuracy=90.0, settings=records[0].identity.settings)
    text = render_sweep([*records, other], ["model.num_capsules"], "table", dev=True)
    base = next(line for line in text.splitlines() if line.startswith("Base"))
    assert base.split() == ["Base", "8", "90.00", "70.00", "70.00"]
    assert "Avg.: over Tense. " in text


def test_notes_name_rows_by_their_values_and_swept_settings_are_no_doubt(records, make_record):
    bad = make_record(model="em", accuracy=None, seed=1, settings=records[1].identity.settings)
    text = render_sweep([*records, bad], ["model.num_capsules"], "table")
    assert "Note: Tense EM (num_capsules=32) seed 1 failed: " in text
    assert "not trained alike" not in text


def test_mistakes_are_named(records, make_record):
    with pytest.raises(ProbingError, match="unknown setting 'model.capsules'"):
        render_sweep(records, ["model.capsules"], "table")
    with pytest.raises(ProbingError, match="all models have the same settings here"):
        render_sweep([make_record()], [], "table")
    with pytest.raises(ProbingError, match="--by makes a table, not 'html'"):
        render_sweep(records, ["model.num_capsules"], "html")


def test_values_that_span_much_have_a_logarithmic_axis(records):
    (group,) = group_results(records)
    sweep = find_sweep(group)
    positions = Positions(sweep, "Tense")
    assert positions.values == [8, 32, 128]
    assert positions.is_logarithmic
    assert list(list_lines(sweep)) == ["Base", "EM"]


def test_a_sweep_is_drawn(records, tmp_path):
    pytest.importorskip("matplotlib")
    for record in records:
        Store(tmp_path / "results").save(record)
    options = {"by": ["model.num_capsules"], "on_damaged": pytest.fail}
    load_and_plot(tmp_path / "results", "sweep", tmp_path / "sweep.svg", **options)
    text = (tmp_path / "sweep.svg").read_text(encoding="utf-8")
    assert all(f">{word}<" in text for word in ("128", "EM", "Base", "Tense", "model.num_capsules"))
    with pytest.raises(ProbingError, match="--by goes with the figure sweep, not with dots"):
        load_and_plot(tmp_path / "results", "dots", tmp_path / "dots.svg", **options)
