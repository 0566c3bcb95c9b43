"""Parts that all reports share: aligned cells with caption, notes and claims below, in text, Markdown and LaTeX."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tabulate import tabulate

from probing.errors import as_one_line
from probing.storage import as_unicode

if TYPE_CHECKING:
    import pandas as pd

MISSING = "–"
"""Text of a figure that was not measured."""
FORMULA = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
"""First characters by which spreadsheets recognise a formula."""
CLAIMS_HEADING = "The paper's claims, and what these results say about them"
"""Heading of the list of claims below a table."""


def align(cells: Sequence[Sequence[str]], style: str = "simple", *, texts: int = 1) -> str:
    """Return headers and rows as a table in one of tabulate's styles, figures at the right of their columns.

    `texts` is the number of columns that hold texts.
    """
    headers, *rows = cells
    alignment = ["left"] * texts + ["right"] * (len(headers) - texts)
    return tabulate(rows, headers, tablefmt=style, disable_numparse=True, colalign=alignment)


def compose_text(body: str, explained: Sequence[str], notes: Sequence[str], claims: Sequence[object]) -> str:
    """Return a table for a terminal; what explains it stands below, a line each."""
    lines = [*explained, *(as_one_line(_introduce(note)) for note in notes)]
    if claims:
        lines += [f"{CLAIMS_HEADING}:", *(f"- {as_one_line(str(claim))}" for claim in claims)]
    return "\n".join([body, "", *lines])


def compose_markdown(body: str, explained: Sequence[str], notes: Sequence[str], claims: Sequence[object]) -> str:
    """Return a table in GitHub's Markdown; what explains it stands below, in paragraphs."""
    blocks = [body, " ".join(explained), *(escape_markdown(_introduce(note)) for note in notes)]
    if claims:
        blocks += [f"{escape_markdown(CLAIMS_HEADING)}:", "\n".join(f"- {escape_markdown(str(one))}" for one in claims)]
    return "\n\n".join(blocks)


def compose_latex(
    columns: str,
    lines: Sequence[str],
    explained: Sequence[str],
    notes: Sequence[str],
    claims: Sequence[object],
    label: str,
    packages: str = r"\usepackage{booktabs}",
) -> str:
    """Return a table in LaTeX from its columns' letters and its lines; what explains it stands in the caption."""
    caption = " ".join([*explained, *(escape_latex(_introduce(note)) for note in notes)])
    composed = [
        rf"% Needs {packages}; names in other scripts need XeLaTeX or LuaLaTeX and a font that has them.",
        r"\begin{table*}[t]",
        r"  \centering\small\setlength{\tabcolsep}{3pt}",
        rf"  \begin{{tabular}}{{{columns}}}",
        r"    \toprule",
        *(f"    {line}" for line in lines),
        r"    \bottomrule",
        r"  \end{tabular}",
        rf"  \caption{{{caption}}}",
        rf"  \label{{{label}}}",
        r"\end{table*}",
    ]
    if claims:
        items = [rf"  \item {escape_latex(str(claim))}" for claim in claims]
        composed += ["", f"{escape_latex(CLAIMS_HEADING)}:", r"\begin{itemize}", *items, r"\end{itemize}"]
    return "\n".join(composed)


def introduce_notes(notes: Sequence[str]) -> list[str]:
    """Return notes as sentences."""
    return [_introduce(note) for note in notes]


def _introduce(note: str) -> str:
    return f"Note: {note}."


def render_frame(frame: pd.DataFrame, format: str) -> str:
    """Return a DataFrame of records, with their settings in a column, as CSV or JSON."""
    if format == "json":
        frame = frame.map(_clean)
        return frame.to_json(orient="records", indent=2, force_ascii=False, double_precision=15)
    return frame.assign(settings=frame["settings"].map(json.dumps)).map(guard_cell).to_csv(index=False).rstrip("\n")


def _clean(value: Any) -> Any:
    """Return a value in which all texts can be written as UTF-8."""
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    return as_unicode(value) if isinstance(value, str) else value


def guard_cell(value: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula: a text that begins like one gets an apostrophe.

    A carriage return becomes an escape: programs differ on whether it ends a line. Numbers stay as they are.
    """
    if not isinstance(value, str):
        return value
    return ("'" * value.startswith(FORMULA) + value).replace("\r", "\\r")


def escape_markdown(text: str) -> str:
    """Return a text with Markdown's special characters escaped, also those of tables."""
    text = as_one_line(text)
    for character in "\\|*_`[]~$":
        text = text.replace(character, f"\\{character}")
    return text.replace("&", "&amp;").replace("<", "&lt;")


_LATEX = (
    {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "|": r"\textbar{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "−": "$-$", "±": r"$\pm$", "–": "--"}
    | {"†": r"$^\dagger$", "‡": r"$^\ddagger$", "≥": r"$\geq$", "Δ": r"$\Delta$", "⇒": r"$\Rightarrow$"}
    | {"⇑": r"$^\Uparrow$", "↑": r"$^\uparrow$", "⇓": r"$^\Downarrow$", "↓": r"$^\downarrow$"}
    | {"✓": r"$\checkmark$", "×": r"$\times$"}
    | {c: f"\\{c}" for c in "&%$#_{}"}
    # At the start of a row LaTeX would read these as an argument of the line break before.
    | {c: f"{{{c}}}" for c in "[]*"}
)


def escape_latex(text: str) -> str:
    """Return a text with LaTeX's special characters escaped."""
    return "".join(_LATEX.get(character, character) for character in as_one_line(text))
