"""Text that fits a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tabulate import tabulate

from probing.commands.screen import fit

TABLE = """\
parameters      embeddings    attention    sum
------------  ------------  -----------  -----
layer 1                             480    480
total                  900          480  1,380"""


def test_without_a_terminal_nothing_changes() -> None:
    assert fit(f"{'word ' * 50}\n\n{TABLE}", None) == f"{'word ' * 50}\n\n{TABLE}"


def test_a_table_that_fits_stays() -> None:
    assert fit(TABLE, 47) == TABLE


def test_a_wide_table_is_cut_between_columns() -> None:
    assert fit(f"sizes\n\n{TABLE}\n\nT tokens.", 40) == (
        "sizes\n\n"
        "parameters      embeddings    attention\n"
        "------------  ------------  -----------\n"
        "layer 1                             480\n"
        "total                  900          480\n"
        "\n"
        "parameters      sum\n"
        "------------  -----\n"
        "layer 1         480\n"
        "total         1,380\n\n"
        "T tokens."
    )


def test_a_title_stays_above_its_table() -> None:
    assert fit(f"Layer 1, attention\n{TABLE}", 40).startswith("Layer 1, attention\nparameters      emb")


def test_prose_is_broken_at_words() -> None:
    assert fit("aggregator=em, num_classes=2, dropout=0.1", 30) == "aggregator=em, num_classes=2,\n  dropout=0.1"


@pytest.mark.parametrize(
    "line", ["  probe run --task all --aggregator all", "PRES\tthe cat sees a dog in a big tree ."]
)
def test_what_has_a_form_of_its_own_stays(line: str) -> None:
    assert fit(line, 20) == line


def test_the_text_of_a_labelled_line_stays_below_itself() -> None:
    line = "  word forms   that the verb occurs in one partition"
    assert fit(line, 32) == "  word forms   that the verb\n               occurs in one\n               partition"


cells = st.text("abc1 ", min_size=1, max_size=12).map(str.strip).filter(bool)


@given(st.integers(2, 6).flatmap(lambda n: st.lists(st.lists(cells, min_size=n, max_size=n), min_size=2, max_size=5)))
def test_no_cell_is_lost_and_no_line_too_long(rows: list[list[str]]) -> None:
    text = tabulate(rows[1:], rows[0], disable_numparse=True)
    fitted = fit(text, 36)
    assert all(len(line) <= 36 for line in fitted.split("\n"))
    assert all(cell in fitted for row in rows for cell in row)
