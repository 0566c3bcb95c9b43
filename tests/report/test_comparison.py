from __future__ import annotations

import json

import pytest

from probing.errors import ProbingError
from probing.report.comparison import compare_models, format_p, load_and_compare, render_text
from probing.results import Store


@pytest.fixture(scope="module")
def records(make_record):
    """Return records in which EM is better on one task, worse on one and equal on one; only EM has WC."""
    values = {"base": (80.0, 80.0, 80.0), "em": (84.0, 76.0, 80.1)}
    found = [
        make_record(task, model, value + seed / 10, seed=seed)
        for model, accuracies in values.items()
        for task, value in zip(("Tense", "SubNm", "ObjNm"), accuracies, strict=True)
        for seed in (0, 1, 2)
    ]
    return [*found, make_record("WC", "em", 70.0)]


@pytest.fixture(scope="module")
def single(make_record):
    values = {"base": (80.0, 80.0), "em": (80.9, 80.3)}
    return [make_record(task, m, a) for m, row in values.items() for task, a in zip(("Tense", "WC"), row, strict=True)]


def compare(*arguments):
    """Return the only comparison."""
    (comparison,) = compare_models(*arguments)
    return comparison


def test_wins_ties_and_losses(records):
    comparison = compare(records[:18], "em", "base")
    assert (comparison.wins, comparison.ties, comparison.losses) == (1, 1, 1)
    assert [line.task for line in comparison.tasks] == ["Tense", "SubNm", "ObjNm"]
    assert [line.verdict.difference for line in comparison.tasks] == pytest.approx([4.0, -4.0, 0.1])
    assert comparison.overall.verdict.difference == pytest.approx(0.1 / 3)
    assert comparison.overall.accuracy == pytest.approx([80.1 + 0.1 / 3, 80.1])
    assert comparison.overall.verdict.low < 0 < comparison.overall.verdict.high
    turned = compare(records[:18], "Base", "EM")
    assert (turned.wins, turned.ties, turned.losses) == (1, 1, 1)
    assert turned.tasks[0].verdict.difference == pytest.approx(-4.0)


def test_the_text_is_the_one_that_a_person_has_looked_at(records, single, golden):
    comparisons = [compare(records[:18], "em", "base"), compare(single, "em", "base")]
    golden("compare.txt", "\n\n".join(map(render_text, comparisons)))


def test_single_seeds_have_both_tests(single):
    line = compare(single, "em", "base").tasks[0]
    assert line.verdict.test == "mcnemar"
    assert line.verdict.p == line.p_mcnemar
    assert line.p_randomisation == pytest.approx(line.p_mcnemar, abs=0.02)
    assert compare(single, "em", "base").overall.verdict.test == "randomisation"


def test_a_task_that_only_one_model_has_is_left_out(records):
    comparison = compare(records, "em", "base")
    assert comparison.left_out == ["WC has not been measured for Base"]
    assert len(comparison.tasks) == 3
    assert render_text(comparison).endswith("\nLeft out: WC has not been measured for Base.")


def test_different_sentences_are_left_out(single, make_record):
    comparison = compare([*single, make_record("SOMO", "em"), make_record("SOMO", "base", size=9_998)], "em", "base")
    assert comparison.left_out == ["Base and EM have different test labels on SOMO: not compared"]


def test_every_data_set_that_both_have(single, make_record):
    records = [*single, make_record(data="books"), make_record(model="base", data="books"), make_record(data="web")]
    assert [comparison.data for comparison in compare_models(records, "em", "base")] == ["books", "mini"]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("em", "bas"), "unknown model 'bas'. Did you mean 'Base'? Known: Base, EM, Mine"),
        (("em", "EM"), "'em' and 'EM' are the same model: EM. Name two"),
        (("em", "mine"), "'em' and 'mine' have no task in common on the same data and preset. See `probe report`"),
        (
            ("base", "my.py:Mine"),
            "'base' and 'my.py:Mine' have no task in common on the same data and preset. See `probe report`",
        ),
    ],
)
def test_mistakes(single, make_record, names, message):
    with pytest.raises(ProbingError) as caught:
        compare_models([*single, make_record("SOMO", "my.py:Mine"), make_record(data="z", model="em")], *names)
    assert str(caught.value) == message


def test_json_has_all_figures(tmp_path, records):
    store = Store(tmp_path)
    for record in records[:18]:
        store.save(record)
    (tmp_path / "mini--x.json").write_text("{")
    warnings = []
    (comparison,) = json.loads(load_and_compare(tmp_path, "em", "base", as_json=True, on_damaged=warnings.append))
    assert (comparison["first"], comparison["second"], comparison["data"], comparison["preset"]) == (
        "EM",
        "Base",
        "mini",
        "mini",
    )
    assert (comparison["wins"], comparison["ties"], comparison["losses"]) == (1, 1, 1)
    line = comparison["tasks"][0]
    assert (line["task"], line["accuracy"], line["seeds"]) == ("Tense", pytest.approx([84.1, 80.1]), [[0, 1, 2]] * 2)
    assert line["low"] < line["difference"] < line["high"]
    assert line["p"] <= line["p_holm"] < 0.05
    assert line["test"] == "seeds"
    assert comparison["overall"]["task"] == "average of 3"
    assert warnings == [f"{tmp_path}/mini--x.json: not a whole JSON file. Delete it and run the cell again"]


def test_an_empty_folder_names_the_command_to_run(tmp_path):
    with pytest.raises(ProbingError, match=r"no results there\. Run `probe run --task all --aggregator all` first"):
        load_and_compare(tmp_path, "em", "base", as_json=False, on_damaged=pytest.fail)


def test_hostile_names_break_no_line(make_record, change):
    records = [change(make_record(model=f"my.py:{name}"), model__label=name) for name in ("a\nb", "c\x1b[1m")]
    text = render_text(compare(records, "a\nb", "c\x1b[1m"))
    assert "\x1b" not in text
    assert text.splitlines()[4] == "a\\nb against c\\x1b[1m. Data: mini; preset: mini; seed 0."


@pytest.mark.parametrize(
    ("p", "printed"), [(0.0004, "< .001"), (0.001, ".001"), (0.04, ".040"), (0.9996, "1.000"), (1.0, "1.000")]
)
def test_the_text_of_a_p_value(p, printed):
    assert format_p(p) == printed
    assert format_p(p, equals="= ") == (printed if printed.startswith("<") else f"= {printed}")
