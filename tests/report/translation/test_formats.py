"""The report on translations in every format."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from probing.errors import ProbingError
from probing.report.translation.formats import load_and_render_translations, render_translations
from probing.results import Record, Store
from tests.translations import BASE, COMPONENTS, LAYERS, SYSTEMS, Run, fail, make_translation, save, vary

FORMATS = ["table", "markdown", "latex", "csv", "json"]
LONG = Run(
    "a_package.with_a_long_name:AggregatorWithAVeryLongName", ("enc-self",), settings=(("model", "iterations", 2),)
)
HOSTILE = "\\input{x} & 100% $ # _ ~ ^ | <b>\r\x1b[31m"


@pytest.fixture(scope="module")
def story() -> list[Record]:
    """Return the records behind the goldens: the paper's rows with two seeds, one of which failed, and two presets."""
    runs = [*vary(COMPONENTS[:5], 2), *COMPONENTS[5:], *LAYERS[2:], *SYSTEMS[2:4]]
    records = [make_translation(run) for run in runs]
    return [*records, fail(replace(COMPONENTS[6], seed=1))]


def write(record: Record, label: str) -> Record:
    """Return a record whose names hold anything."""
    data = structs.replace(record.identity.data, name=label)
    model = structs.replace(record.identity.model, label=label)
    identity = structs.replace(record.identity, data=data, model=model)
    return structs.replace(record, identity=identity, key=identity.key)


@pytest.mark.parametrize(
    ("format", "name"), [("table", "translation.txt"), ("markdown", "translation.md"), ("latex", "translation.tex")]
)
def test_goldens(story: list[Record], golden: Callable[[str, str], None], format: str, name: str) -> None:
    golden(name, re.sub(r"version:[\d.]+\d", "version:X", render_translations(story, format, against_paper=True)))


@pytest.mark.parametrize("against_paper", [False, True])
def test_tables_fit_a_terminal(against_paper: bool) -> None:
    fast = [replace(run, speeds=(12345.6, 98765.4)) for run in COMPONENTS]
    for runs in (
        COMPONENTS,
        LAYERS,
        SYSTEMS,
        [*fast, LONG, replace(LONG, settings=())],
        [*LAYERS, replace(LONG, layers=(1,))],
    ):
        text = render_translations([make_translation(run) for run in runs], against_paper=against_paper)
        for block in text.split("\n\n"):
            if "\n---" in block:
                assert max(map(len, block.splitlines())) <= 80, block


def test_every_row_of_a_latex_table_has_its_columns(story: list[Record]) -> None:
    for environment in render_translations(story, "latex", against_paper=True).split(r"\begin{table*}")[1:]:
        (specification,) = re.findall(r"\\begin{tabular}{(\w+)}", environment)
        for row in [line for line in environment.splitlines() if line.endswith("\\\\")]:
            spanned = sum(int(width) - 1 for width in re.findall(r"\\multicolumn{(\d)}", row))
            assert row.count("&") - row.count(r"\&") + 1 + spanned == len(specification)


def test_every_row_of_a_markdown_table_has_its_columns(story: list[Record]) -> None:
    for block in render_translations(story, "markdown", against_paper=True).split("\n\n"):
        if block.startswith("|"):
            assert len({row.count("|") for row in block.splitlines()}) == 1


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_compiles(story: list[Record], tmp_path: Path) -> None:
    body = render_translations([*story, write(make_translation(LONG), HOSTILE)], "latex", against_paper=True)
    start = r"\documentclass{article}\usepackage{booktabs,amssymb}\begin{document}"
    (tmp_path / "table.tex").write_text("\n".join([start, body, r"\end{document}"]), encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "table.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]
    assert (tmp_path / "table.pdf").stat().st_size > 10_000


@pytest.mark.parametrize("format", FORMATS)
def test_names_may_hold_anything(format: str) -> None:
    text = render_translations([write(make_translation(COMPONENTS[2]), HOSTILE)], format)
    assert "\x1b" not in text or format in ("json", "csv")  # the command escapes those two
    if format == "latex":
        assert r"\input" not in text


@pytest.mark.parametrize("format", FORMATS)
def test_only_failed_cells_can_be_reported(format: str) -> None:
    assert "the loss became nan in step 300" in render_translations([fail(BASE)], format)


def test_rows_for_programs(story: list[Record]) -> None:
    rows = json.loads(render_translations(story, "json", against_paper=True))
    assert len(rows) == len({row["key"] for row in rows}) == len(story)
    table = list(csv.DictReader(io.StringIO(render_translations(story, "csv"))))
    assert [row["key"] for row in table] == [row["key"] for row in rows]


def test_an_unknown_format_is_named() -> None:
    with pytest.raises(ProbingError, match=r"^unknown format 'pdf'. Known: table, markdown, latex, csv, json$"):
        render_translations([make_translation(BASE)], "pdf")


def test_a_folder_is_read_and_other_records_are_left_alone(tmp_path: Path, make_record: Callable[..., Record]) -> None:
    save(tmp_path, COMPONENTS)
    Store(tmp_path).save(make_record())
    (tmp_path / "a--b.json").write_text("{")
    lines: list[str] = []
    text = load_and_render_translations(tmp_path, "table", on_damaged=lines.append)
    assert text == render_translations([make_translation(run) for run in COMPONENTS])
    assert lines == [f"{tmp_path}/a--b.json: not a whole JSON file. Delete it and run the cell again"]
