"""Parts that all reports share: aligned cells with caption, notes and claims below, in text, Markdown and LaTeX."""

from __future__ import annotations

import itertools
import json
import math
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
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
GAP = 2
"""Number of spaces between two columns."""
PROSE = 100
"""Number of characters at which prose is broken on a wide terminal, so that it is easy to read."""
CLAIMS_HEADING = "The paper's claims, and what these results say about them"
"""Heading of the list of claims below a table."""
ARROWS_MEAN = "⇑, ↑: better than Base with p < .01, p < .05; ⇓, ↓: worse"
"""Meaning of the arrows in tables of translations."""
EXPLAIN_HINT = "--explain tells how intervals and tests are computed."
"""Line below the tables of a terminal if they are not explained."""


@dataclass(frozen=True, slots=True)
class Statement:
    """Sentences below a table: what it shows, and how that was computed."""

    short: str
    """Texts below a table that its reader must know."""
    full: str
    """The same with the method."""

    def __bool__(self) -> bool:
        return bool(self.full)

    def choose(self, *, explain: bool) -> str:
        """Return the full text, or the short one unless the method is to be explained."""
        return self.full if explain else self.short


def add_method(what: str, method: str) -> Statement:
    """Return a sentence, given without its full stop, that the method continues."""
    return Statement(f"{what}.", f"{what}{method}.")


NOTHING = Statement("", "")
"""Statement where there is nothing to say."""


def align(cells: Sequence[Sequence[str]], style: str = "simple", *, texts: int = 1) -> str:
    """Return headers and rows as a table in one of tabulate's styles, figures at the right of their columns.

    `texts` is the number of columns that hold texts.
    """
    headers, *rows = cells
    alignment = ["left"] * texts + ["right"] * (len(headers) - texts)
    return tabulate(rows, headers, tablefmt=style, disable_numparse=True, colalign=alignment)


def split_columns(
    cells: Sequence[Sequence[str]], groups: Sequence[str], width: int | None, *, texts: int = 1
) -> list[list[int]]:
    """Return the columns of figures in parts, each of which fits with the texts at the left into a terminal's width.

    `groups` names the group of each column of figures; a group stays together if it fits. Without a width, there is
    one part.
    """
    headers, *rows = cells
    # tabulate leaves two spaces more than a header needs.
    sizes = [
        max(_measure(header) + 2, *(_measure(row[place]) for row in rows)) + GAP for place, header in enumerate(headers)
    ]
    every = list(range(texts, len(sizes)))
    room = sum(sizes) if width is None else width + GAP - sum(sizes[:texts])
    parts: list[list[int]] = [[]]
    for _, members in itertools.groupby(every, key=lambda place: groups[place - texts]):
        for some in _cut(list(members), sizes, room):
            if parts[-1] and sum(sizes[place] for place in (*parts[-1], *some)) > room:
                parts.append([])
            parts[-1] += some
    return parts


def _cut(columns: list[int], sizes: Sequence[int], room: int) -> list[list[int]]:
    """Return the columns of one group together if they fit, else one by one."""
    return [columns] if sum(sizes[place] for place in columns) <= room else [[place] for place in columns]


def _measure(text: str) -> int:
    """Return the width of a cell, without the codes that make text bold."""
    return max(len(re.sub(r"\033\[\d+m", "", line)) for line in text.split("\n"))


def wrap(line: str, width: int | None) -> str:
    """Return a line of prose broken at words; without a width it stays as it is."""
    if width is None:
        return line
    return "\n".join(textwrap.wrap(line, min(width, PROSE), subsequent_indent="  ", break_on_hyphens=False)) or line


def add_hint(text: str, width: int | None) -> str:
    """Return text tables that are not explained; a terminal is told which option does it."""
    return text if width is None else f"{text}\n\n{wrap(EXPLAIN_HINT, width)}"


def compose_text(
    body: str,
    explained: Sequence[str],
    notes: Sequence[str],
    claims: Sequence[object],
    *,
    width: int | None = None,
) -> str:
    """Return a table for a terminal; what explains it stands below, broken at words if the terminal has a width."""
    lines = [*explained, *(as_one_line(_introduce(note)) for note in notes)]
    if claims:
        lines += [f"{CLAIMS_HEADING}:", *(f"- {as_one_line(str(claim))}" for claim in claims)]
    return "\n".join([body, "", *(wrap(line, width) for line in lines)])


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
    """Return a DataFrame of figures as CSV or JSON; a column of settings is JSON in either."""
    if format == "json":
        pairs = zip(frame.astype(object).to_dict("records"), frame.isna().to_dict("records"), strict=True)
        rows = [{name: None if gaps[name] else _clean(value) for name, value in row.items()} for row, gaps in pairs]
        return json.dumps(rows, indent=2, ensure_ascii=False, default=lambda value: value.item())
    if "settings" in frame:
        frame = frame.assign(settings=frame["settings"].map(json.dumps))
    return frame.map(guard_cell).to_csv(index=False).rstrip("\n")


def _clean(value: Any) -> Any:
    """Return a value in which all texts can be written as UTF-8, and numbers that JSON does not know are missing."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
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
