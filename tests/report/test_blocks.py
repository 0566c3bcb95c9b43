"""Parts that all reports share."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from probing.report.blocks import (
    align,
    compose_latex,
    compose_markdown,
    compose_text,
    escape_latex,
    escape_markdown,
    guard_cell,
    introduce_notes,
    render_frame,
    split_columns,
    wrap,
)


def test_texts_stand_at_the_left_and_figures_at_the_right() -> None:
    text = align([["a", "b", "c"], ["x", "y", "1"], ["long", "longer", "1000"]], texts=2)
    assert text.splitlines()[2:] == ["x     y          1", "long  longer  1000"]


def test_what_explains_a_table_stands_below_it() -> None:
    parts = (["Caption.", "Legend."], ["a_b"], ["claim: supported (1)"])
    assert compose_text("body", *parts).splitlines() == [
        "body",
        "",
        "Caption.",
        "Legend.",
        "Note: a_b.",
        "The paper's claims, and what these results say about them:",
        "- claim: supported (1)",
    ]
    assert compose_markdown("body", *parts).split("\n\n")[:3] == ["body", "Caption. Legend.", "Note: a\\_b."]
    latex = compose_latex("lr", ["a & b \\\\"], *parts, "tab:x")
    assert r"\caption{Caption. Legend. Note: a\_b.}" in latex
    assert "    a & b \\\\\n    \\bottomrule" in latex
    assert r"\item claim: supported (1)" in latex
    assert "claims" not in compose_text("body", [], [], [])
    assert introduce_notes(["one", "two"]) == ["Note: one.", "Note: two."]


@pytest.mark.parametrize(
    ("text", "escaped"),
    [("⇑", r"$^\Uparrow$"), ("✓×", r"$\checkmark$$\times$"), ("En⇒De", r"En$\Rightarrow$De"), ("Δ", r"$\Delta$")],
)
def test_signs_of_the_tables_of_translation_in_latex(text: str, escaped: str) -> None:
    assert escape_latex(text) == escaped


def test_markdown_and_spreadsheets_take_no_commands() -> None:
    assert escape_markdown("a|b*c<d") == "a\\|b\\*c&lt;d"
    assert guard_cell("=1+1") == "'=1+1"
    assert guard_cell(-1) == -1


def test_frames() -> None:
    frame = pd.DataFrame([{"label": "+x", "settings": {"a": 1}}])
    assert render_frame(frame, "csv") == 'label,settings\n\'+x,"{""a"": 1}"'
    assert render_frame(frame, "json") == json.dumps([{"label": "+x", "settings": {"a": 1}}], indent=2)


CELLS = [["Model", "aaaa", "bbbb", "cccc", "dddd"], ["Base", "1", "\033[1m22\033[0m", "3\n±4", "5"]]


@pytest.mark.parametrize(
    ("width", "parts"),
    [
        (None, [[1, 2, 3, 4]]),
        (39, [[1, 2, 3, 4]]),
        (38, [[1, 2], [3, 4]]),  # the groups stay together
        (23, [[1, 2], [3, 4]]),
        (22, [[1], [2], [3], [4]]),
        (3, [[1], [2], [3], [4]]),  # nothing fits: each column stands alone
    ],
)
def test_columns_are_split_between_groups(width: int | None, parts: list[list[int]]) -> None:
    assert split_columns(CELLS, ["x", "x", "y", "y"], width) == parts
    if width is not None and width > 22:
        drawn = [align([[row[0], *(row[place] for place in part)] for row in CELLS]) for part in parts]
        assert max(len(line) for body in drawn for line in body.splitlines() if "\033" not in line) <= width


def test_prose_is_broken_at_words() -> None:
    line = "one two three four five six seven eight nine ten eleven twelve"
    assert wrap(line, None) == line
    assert wrap(line, 30) == "one two three four five six\n  seven eight nine ten eleven\n  twelve"
    assert max(map(len, wrap(line * 9, 500).splitlines())) <= 100
    assert wrap("", 80) == ""


def test_numbers_in_json_have_their_shortest_form():
    frame = pd.DataFrame({"a": [0.1 + 0.2, 84.1], "b": [None, 1.5], "c": pd.array([1, None], dtype="Int64")})
    frame["d"] = [{"x": 1e-05}, {"x": 2}]
    text = render_frame(frame, "json")
    assert '"a": 84.1,' in text
    assert json.loads(text) == [
        {"a": 0.1 + 0.2, "b": None, "c": 1, "d": {"x": 1e-05}},
        {"a": 84.1, "b": 1.5, "c": None, "d": {"x": 2}},
    ]
