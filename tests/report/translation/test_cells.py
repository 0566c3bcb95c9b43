"""Cells as the paper prints them."""

from __future__ import annotations

import pytest

from probing.report.translation.cells import (
    choose_mark,
    format_parameters,
    format_speed,
    make_paper_cells,
    spell_layers,
)
from probing.report.translation.paper import COMPONENTS


@pytest.mark.parametrize(
    ("number", "plain", "signed", "whole"),
    [
        (88_000_000, "88.0M", "+88.0M", "88M"),
        (12_613_632, "12.6M", "+12.6M", "12M"),
        (37_840_896, "37.8M", "+37.8M", "37M"),
        (100_613_632, "100.6M", "+100.6M", "100M"),
        (297_673_728, "297.7M", "+297.7M", "297M"),  # the paper cuts off what is behind the last digit
        (1_999_999, "2.0M", "+2.0M", "2.0M"),  # whole millions would say too little about a small model
        (131_584, "131.6K", "+131.6K", "131.6K"),
        (0, "0.0K", "+0.0K", "0.0K"),
        (-2_102_272, "-2.1M", "-2.1M", "-2.1M"),
    ],
)
def test_parameters(number: int, plain: str, signed: str, whole: str) -> None:
    found = (
        format_parameters(number),
        format_parameters(number, signed=True),
        format_parameters(number, whole=True),
    )
    assert found == (plain, signed, whole)


@pytest.mark.parametrize(
    ("speed", "text"), [(1.921, "1.92"), (0.664, "0.66"), (12.34, "12.3"), (234.5, "234"), (None, "–"), (0.0, "0.00")]
)
def test_speeds(speed: float | None, text: str) -> None:
    assert format_speed(speed) == text


@pytest.mark.parametrize(
    ("layers", "text"),
    [
        ((), "None"),
        ((1, 2, 3, 4, 5, 6), "[1-6]"),
        ((4, 5, 6), "[4-6]"),
        ((1, 2), "[1,2]"),
        ((6,), "[6]"),
        ((1, 3, 4, 5), "[1,3-5]"),
        ((1, 2, 5, 6), "[1,2,5,6]"),
    ],
)
def test_layers(layers: tuple[int, ...], text: str) -> None:
    assert spell_layers(layers) == text


@pytest.mark.parametrize(
    ("difference", "p", "mark"),
    [
        (0.5, 0.009, "⇑"),
        (0.5, 0.01, "↑"),
        (0.5, 0.05, ""),
        (-0.5, 0.009, "⇓"),
        (-0.5, 0.049, "↓"),
        (0.0, 0.001, ""),
    ],
)
def test_arrows(difference: float, p: float, mark: str) -> None:
    assert choose_mark(difference, p) == mark


def test_the_papers_cells() -> None:
    cells = make_paper_cells(COMPONENTS["em", ("enc-self", "enc-dec")])
    assert [cell.text for cell in cells.values()] == ["+25.2M", "0.87", "1.20", "28.45", "+1.14"]
    assert make_paper_cells(COMPONENTS["base", ()])["Δ"].text == "–"
