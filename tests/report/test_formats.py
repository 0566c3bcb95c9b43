from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess

import pytest

from probing.errors import ProbingError
from probing.report.blocks import guard_cell
from probing.report.formats import load_and_render, render
from probing.report.frame import COLUMNS
from probing.results import DescriptionLength, Store

FORMATS = ("table", "markdown", "latex", "csv", "json")
HOSTILE = ["a|b", "<script>alert(1)</script>", "back\\slash", "under_score", "100%", "two\nlines", "**bold**", "[x](y)"]
HOSTILE += ["{brace}", "$x^2$", "~tilde", "#1 & 2", "`code`", "[1em]", "*star", "\x1b[31mred", "\r", "&lt;"]


@pytest.fixture(scope="session")
def story(make_record):
    """Return the goldens' records: two data sets, seeds, failed and missing cells, a user's model and task."""
    accuracies = {"base": (82.5, 61.0, 55.25), "simple": (83.125, 64.5, 54.0), "em": (84.0, 64.5, 57.75)}
    records = [
        make_record(task, model, value + seed / 4, seed=seed, majority=16.67 if task == "SeLen" else 54.0)
        for model, values in accuracies.items()
        for task, value in zip(("SeLen", "TrDep", "Tense"), values, strict=True)
        for seed in (0, 1, 2)
    ]
    records += [make_record("SeLen", "my_file.py:MeanOfHeads", 71.0, majority=16.67)]
    records += [make_record("Tense", "my_file.py:MeanOfHeads", None)]
    records += [make_record(task, "em", 91.0, data="books_2", preset="small") for task in ("Tense", "my_task")]
    return records


@pytest.mark.parametrize(
    ("format", "name"), [("markdown", "report.md"), ("latex", "report.tex"), ("table", "report.txt")]
)
def test_the_report_is_the_one_that_a_person_has_looked_at(story, golden, format, name):
    golden(name, render(story, format, against_paper=True, reference="base"))


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_has_every_model(story, format):
    text = render(story, format)
    for label in ("Base", "Simple", "EM", "MeanOfHeads"):
        assert label in text
    assert text == text.strip("\n")


def test_bold_on_a_terminal_and_stars_elsewhere(story):
    coloured = render(story, colour=True)
    plain = render(story)
    assert "\033[1m84.25\033[0m" in coloured
    assert "\nBold: best of its column, or not significantly worse than any other." in coloured
    assert "*84.25" in plain
    assert "\033" not in plain
    assert "\n*: best of its column, or not significantly worse than any other." in plain
    assert re.sub(r"\033\[\d+m", "", coloured).count("\n") == plain.count("\n")


def make_hostile_records(make_record, change):
    return [
        change(
            make_record("Tense", f"my.py:{number}"),
            model__label=name,
            task=name,
            family="own",
            data__name=name,
            error=name,
        )
        for number, name in enumerate(HOSTILE)
    ] + [change(make_record(accuracy=None), error="\n".join(HOSTILE), model__label=HOSTILE[1])]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_in_markdown(make_record, change, name):
    records = [
        change(make_record(task, accuracy=a), model__label=name, data__name=name)
        for task, a in (("Tense", 80.0), ("WC", None))
    ]
    records += [change(records[0], task=name, family="own")]
    text = render(records, "markdown")
    lines = text.splitlines()
    rows = [line for line in lines if line.startswith("|")]
    assert len(rows) == 4  # the header, the rule, the baseline, the model
    for row in rows:
        assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) == 6
    assert "<script" not in text
    assert not re.search(r"(?<!\\)[\[~`$]", text)
    assert "\x1b" not in text
    assert all(len(block.splitlines()) == 1 for block in text.split("\n\n")[1:])


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_in_latex(make_record, change, name):
    records = [
        change(make_record(task, accuracy=a), model__label=name, data__name=name)
        for task, a in (("Tense", 80.0), ("WC", None))
    ]
    records += [change(records[0], task=name, family="own")]
    comment, _, text = render(records, "latex").partition("\n")
    assert comment.startswith("% Needs")
    braces = re.sub(r"\\[{}]", "", text)
    depth = 0
    for character in braces:
        depth += {"{": 1, "}": -1}.get(character, 0)
        assert depth >= 0
    assert depth == 0
    for row in [line for line in text.splitlines() if line.endswith("\\\\") and "multicolumn" not in line]:
        assert len(re.findall(r"(?<!\\)&", row)) == 4
        assert not row.strip().startswith(("[", "*"))
    assert not re.search(r"(?<!\\)[%#_]", text)
    assert not re.search(r"[~^<>|]", text.replace(r"\textbar", ""))
    assert "\x1b" not in text


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_compiles(story, make_record, change, tmp_path):
    records = [*story, *(change(make_record(), model__label=name, data__name=name) for name in HOSTILE)]
    body = render(records, "latex", against_paper=True)
    page = "\n".join([r"\documentclass{article}\usepackage{booktabs}\begin{document}", body, r"\end{document}"])
    (tmp_path / "table.tex").write_text(page, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "table.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]
    assert (tmp_path / "table.pdf").stat().st_size > 10_000


def test_a_backslash_is_no_command_in_latex(make_record, change):
    text = render([change(make_record(), model__label=r"\input{/etc/passwd}")], "latex")
    assert r"\textbackslash{}input\{/etc/passwd\}" in text
    assert r"\input" not in text


def test_hostile_names_in_text(make_record, change):
    for table in render(make_hostile_records(make_record, change)).split("\n\n"):
        assert "\x1b" not in table
        assert "\r" not in table


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_every_row_of_a_latex_table_has_its_columns(make_record, columns):
    tasks = ["Tense", "WC", "SeLen"][:columns]
    text = render([make_record(task) for task in tasks], "latex", against_paper=True)
    (specification,) = re.findall(r"\\begin{tabular}{(\w+)}", text)
    for row in [line for line in text.splitlines() if line.endswith("\\\\")]:
        spanned = sum(int(width) - 1 for width in re.findall(r"\\multicolumn{(\d)}", row))
        assert row.count("&") + 1 + spanned == len(specification)
    rules = [tuple(map(int, pair)) for pair in re.findall(r"\\cmidrule\(lr\){(\d)-(\d)}", text)]
    assert rules[0][0] == 2
    assert rules[-1][1] == 1 + columns


def test_csv_can_be_read_back(make_record, change):
    # Python's csv writes a lone \r without quotes, and its own reader then reads it as the end of a line.
    hostile = make_hostile_records(make_record, change)
    records = [record for record in hostile if "\r" not in f"{record.identity.task}{record.error}"]
    records += [make_record(accuracy=None)]
    rows = list(csv.DictReader(io.StringIO(render(records, "csv"), newline="")))
    assert len(rows) == len(records)
    for row, record in zip(rows, records, strict=True):
        assert tuple(row) == tuple(COLUMNS)
        assert row["label"] == record.identity.model.label
        assert row["error"] == (record.error or "")
        assert json.loads(row["settings"]) == record.identity.settings
    assert float(rows[0]["test_accuracy"]) == 80.0
    assert rows[0]["best_epoch"] == "2"
    assert rows[-1]["test_accuracy"] == rows[-1]["best_epoch"] == ""


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("=HYPERLINK(1)", "'=HYPERLINK(1)"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("\r=1", "'\\r=1"),
        ("＝1", "'＝1"),
        ("a=1", "a=1"),
        ("12", "12"),
        ("two\nlines", "two\nlines"),
    ],
)
def test_no_cell_of_csv_is_a_formula(make_record, change, name, cell):
    record = change(make_record(), model__label=name)
    (row,) = csv.DictReader(io.StringIO(render([record], "csv"), newline=""))
    assert row["label"] == cell
    assert row["test_accuracy"] == "80.0"


def test_numbers_stay_numbers_in_csv():
    assert guard_cell(-1.5) == -1.5
    assert guard_cell(None) is None


def test_json_can_be_read_back(make_record, change):
    records = make_hostile_records(make_record, change)
    records[0] = make_record(accuracy=100 / 3)
    rows = json.loads(render(records, "json"))
    assert len(rows) == len(records)
    for row, record in zip(rows, records, strict=True):
        assert tuple(row) == tuple(COLUMNS)
        assert row["label"] == record.identity.model.label
        assert row["settings"] == record.identity.settings
    assert rows[0]["test_accuracy"] == pytest.approx(100 / 3, abs=1e-12)
    assert rows[0]["best_epoch"] == 2
    assert type(rows[0]["best_epoch"]) is int
    assert rows[-1]["test_accuracy"] is None
    assert rows[-1]["best_epoch"] is None


def test_significant_differences_from_the_reference_are_marked(make_record):
    records = [make_record("Tense", model, value) for model, value in (("base", 80.0), ("simple", 80.9), ("em", 84.0))]
    plain = {line.split()[0]: line.split()[1:] for line in render(records, reference="Base").splitlines()[3:9]}
    assert plain == {
        "Majority": ["50.00"],
        "±0.98": [],
        "Base": ["80.00"],
        "±0.78": [],
        "Simple": ["80.90"],
        "±0.77": [],
    }
    assert "‡*84.00" in render(records, reference="base")
    assert "**84.00**‡<br>±0.72" in render(records, "markdown", reference="base")
    assert r"\textbf{84.00}\rlap{$^\ddagger$}" in render(records, "latex", reference="base")
    assert (
        "†, ‡: differs from Base with p < .05, p < .01 (same test; "
        "Holm's correction over all comparisons of the table with Base)."
    ) in render(records, reference="base", explain=True)
    assert "‡" not in render(records)
    # The same difference is significant in the opposite direction.
    assert "‡80.00" in render(records, reference="em")


@pytest.mark.parametrize("format", FORMATS)
def test_an_unknown_reference_is_named(make_record, format):
    with pytest.raises(ProbingError, match=r"^unknown model 'bas'\. Did you mean 'Base'\? Known: Base, EM$"):
        render([make_record(model="base"), make_record()], format, reference="bas")


def test_rows_for_programs_have_the_papers_figures_too(make_record):
    (row,) = json.loads(render([make_record("Tense", "em", 90.0)], "json", against_paper=True))
    assert row["paper_accuracy"] == 88.17
    assert row["difference"] == pytest.approx(1.83)


def test_an_empty_or_missing_folder_names_the_command_to_run(tmp_path):
    for folder in (tmp_path, tmp_path / "not there"):
        with pytest.raises(ProbingError) as caught:
            load_and_render(folder, "table", against_paper=False, colour=False, on_damaged=pytest.fail)
        expected = f"{folder}: no results there. Run `probe run --task all --aggregator all` first"
        assert str(caught.value) == expected


@pytest.mark.parametrize("format", FORMATS)
def test_a_folder_is_read_and_damaged_records_are_named(tmp_path, make_record, format):
    store = Store(tmp_path)
    store.save(make_record())
    (tmp_path / "mini--x.json").write_text("{")
    warnings = []
    text = load_and_render(tmp_path, format, against_paper=False, colour=False, on_damaged=warnings.append)
    assert text == render(store.load(lambda text: None), format)
    assert warnings == [f"{tmp_path}/mini--x.json: not a whole JSON file. Delete it and run the cell again"]


@pytest.mark.parametrize("format", FORMATS)
def test_only_failed_cells_can_be_reported(make_record, format):
    text = render([make_record(accuracy=None)], format, against_paper=True)
    assert "the loss became nan in epoch 2" in text


@pytest.fixture(scope="session")
def selective(story, make_record, change):
    """Return the goldens' records, and a control and a description length of EM on all tasks."""
    code = DescriptionLength(bits=25_000.0, uniform_bits=100_000.0, compression=4.0, pieces=[])
    controls = [change(make_record(task, "em", 40.0), measure="random-labels") for task in ("SeLen", "TrDep", "Tense")]
    codes = [change(one, measure="description-length", outcome__description=code) for one in controls]
    return [*story, *controls, *codes]


@pytest.mark.parametrize("format", ["table", "markdown", "latex"])
def test_other_measures_follow_with_the_same_rows_and_columns(story, selective, format):
    before, after = render(story, format, explain=True), render(selective, format, explain=True)
    assert [len(re.findall(r"^\W*Model\b", text, re.MULTILINE)) for text in (before, after)] == [2, 4]
    for word in ("Select.", "Compr.", "25.00", "Hewitt", "Titov"):
        assert word in after
        assert word not in before


def test_every_row_of_a_latex_table_has_its_columns_with_other_measures(selective):
    for environment in render(selective, "latex").split(r"\begin{table*}")[1:]:
        (specification,) = re.findall(r"\\begin{tabular}{(\w+)}", environment)
        for row in [line for line in environment.splitlines() if line.endswith("\\\\")]:
            spanned = sum(int(width) - 1 for width in re.findall(r"\\multicolumn{(\d)}", row))
            assert row.count("&") + 1 + spanned == len(specification)


def test_every_row_of_a_markdown_table_has_its_columns_with_other_measures(selective):
    for table in render(selective, "markdown").split("\n\n"):
        if table.startswith("|"):
            assert len({row.count("|") for row in table.splitlines()}) == 1


def test_only_other_measures_are_nothing_to_report(tmp_path, make_record, change):
    Store(tmp_path).save(change(make_record(), measure="random-labels"))
    with pytest.raises(ProbingError) as caught:
        load_and_render(tmp_path, "table", on_damaged=pytest.fail)
    assert str(caught.value) == (
        f"{tmp_path}: no accuracies there, only controls or description lengths. "
        "Run the same `probe run` command to its end"
    )
