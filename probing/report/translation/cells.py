"""Cells of the tables of translation, as the paper prints them: parameters, speeds, layers, BLEU with its arrows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from probing.report.blocks import MISSING
from probing.report.significance import LEVEL, STRICT_LEVEL, format_difference
from probing.report.translation.grouping import TranslationGroup, TranslationSystem
from probing.report.translation.paper import PaperFigures

ARROWS = {1: ("↑", "⇑"), -1: ("↓", "⇓")}
"""Arrows of differences with p < .05 and p < .01, by their sign."""


@dataclass(frozen=True, slots=True)
class TranslationCell:
    """Text in a table, what stands below it, and its arrow."""

    text: str = MISSING
    below: str = ""
    mark: str = ""


def format_parameters(number: int, *, signed: bool = False, whole: bool = False) -> str:
    """Return a number of parameters as the paper prints it: millions with a decimal, or whole ones, cut off."""
    sign = "-" if number < 0 else "+" if signed else ""
    size = abs(number)
    unit, letter = (1_000_000, "M") if size >= 950_000 else (1000, "K")
    tenths = (size * 10 + unit // 2) // unit
    if whole and tenths >= 100 and letter == "M":
        return f"{sign}{tenths // 10}M"
    return f"{sign}{tenths // 10}.{tenths % 10}{letter}"


def format_speed(speed: float | None) -> str:
    """Return a speed with three digits or more."""
    if speed is None:
        return MISSING
    digits = 2 if speed < 10 else 1 if speed < 100 else 0
    return f"{speed:.{digits}f}"


def spell_layers(layers: Sequence[int]) -> str:
    """Return layers as the paper writes them: [1-6], [1,2], [6], or None."""
    if not layers:
        return "None"
    # Consecutive layers have the same difference from their place.
    runs = [[layer for _, layer in run] for _, run in itertools.groupby(enumerate(layers), lambda one: one[1] - one[0])]
    parts = [f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run)) for run in runs]
    return f"[{','.join(parts)}]"


def choose_mark(difference: float, p: float) -> str:
    """Return the arrow of a significant difference."""
    if p >= LEVEL or not difference:
        return ""
    return ARROWS[round(math.copysign(1, difference))][p < STRICT_LEVEL]


def make_bleu_cell(group: TranslationGroup, system: TranslationSystem) -> TranslationCell:
    """Return a system's BLEU with half its interval below and the arrow of its difference from the baseline."""
    bleu = group.bleus.get(system.label)
    if bleu is None:
        return TranslationCell()
    compared = group.compare_with_base(system)
    mark = choose_mark(compared.difference, compared.p) if compared else ""  # not corrected, as in the paper
    return TranslationCell(f"{bleu.mean:.2f}", f"±{bleu.half:.2f}", mark)


def make_difference_cell(group: TranslationGroup, system: TranslationSystem) -> TranslationCell:
    """Return the difference of a system from the baseline."""
    compared = group.compare_with_base(system)
    return TranslationCell() if compared is None else TranslationCell(format_difference(compared.difference))


def make_parameter_cell(
    group: TranslationGroup, system: TranslationSystem, *, relative: bool = False, whole: bool = False
) -> TranslationCell:
    """Return a system's number of parameters, or what it adds to the baseline's."""
    number, base = system.parameters, group.base.parameters if group.base else None
    if number is None:
        return TranslationCell()
    if relative and base is not None and not system.is_base:
        return TranslationCell(format_parameters(number - base, signed=True))
    return TranslationCell(format_parameters(number, whole=whole))


def make_paper_cells(figures: PaperFigures) -> dict[str, TranslationCell]:
    """Return the paper's figures by column."""
    difference = figures.difference
    return {
        "# Para.": TranslationCell(figures.parameters),
        "Train": TranslationCell(format_speed(figures.train)),
        "Decode": TranslationCell(format_speed(figures.decode)),
        "BLEU": TranslationCell(f"{figures.bleu:.2f}", mark=figures.mark),
        "Δ": TranslationCell() if difference is None else TranslationCell(format_difference(difference)),
    }
