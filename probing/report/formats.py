"""Renders records as tables in text, Markdown or LaTeX, or as rows in CSV or JSON."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from tabulate import tabulate

from probing.errors import ProbingError
from probing.report.frame import make_frame
from probing.report.table import Row, Table, Value, make_tables
from probing.results import Result, Store

MISSING = "–"


def load_and_render(
    folder: Path, format: str, *, against_paper: bool, colour: bool, on_damaged: Callable[[str], None]
) -> str:
    """Return the report on a results folder; with nothing to report, say what to run."""
    results = Store(folder).load(on_damaged)
    if not results:
        raise ProbingError(f"{folder}: no results there. Run `probe run --task all --aggregator all` first")
    return render(results, format, against_paper=against_paper, colour=colour)


def render(
    results: Sequence[Result], format: str = "table", *, against_paper: bool = False, colour: bool = False
) -> str:
    """Return the report on some records as table, markdown, latex, csv or json."""
    if format in ("csv", "json"):
        frame = make_frame(results, against_paper=against_paper)
        if format == "json":
            return frame.to_json(orient="records", indent=2, force_ascii=False, double_precision=15)
        return frame.assign(settings=frame["settings"].map(json.dumps)).to_csv(index=False).rstrip("\n")
    tables = make_tables(results, against_paper=against_paper)
    if format == "latex":
        labels = ["tab:probing", *(f"tab:probing-{number}" for number in range(2, len(tables) + 1))]
        return "\n\n".join(map(render_latex, tables, labels))
    renderers: dict[str, Callable[[Table], str]] = {
        "table": lambda table: render_text(table, colour=colour),
        "markdown": render_markdown,
    }
    return "\n\n".join(renderers[format](table) for table in tables)


def render_text(table: Table, *, colour: bool = False) -> str:
    """Return the table for a terminal; the best of a column is bold, or starred where nothing can be bold."""

    def mark(text: str) -> str:
        return f"\033[1m{text}\033[0m" if colour else f"*{text}"

    headers = ["Model", *(f"{family}\n{_one_line(column)}" for family, column in _headers(table))]
    body = tabulate(
        _cells(table, mark),
        headers,
        tablefmt="simple",
        disable_numparse=True,
        colalign=("left", *("right" for _ in table.columns)),
    )
    best = "Bold" if colour else "*"
    lines = [f"{table.caption} {best}: best of its column.", *_notes(table)]
    return "\n".join([body, "", *map(_one_line, lines)])


def render_markdown(table: Table) -> str:
    """Return the table in GitHub's Markdown."""
    headers = ["Model", *(f"{family}<br>{_escape_markdown(column)}" for family, column in _headers(table))]
    rows = [[_escape_markdown(row[0]), *row[1:]] for row in _cells(table, lambda text: f"**{text}**")]
    body = tabulate(
        rows,
        headers,
        tablefmt="pipe",
        disable_numparse=True,
        colalign=("left", *("right" for _ in table.columns)),
    )
    notes = [_escape_markdown(note) for note in _notes(table)]
    return "\n\n".join([body, f"{_escape_markdown(table.caption)} **Bold**: best of its column.", *notes])


def render_latex(table: Table, label: str) -> str:
    """Return the table in LaTeX, which needs the package booktabs."""
    groups = [(family, len(list(members))) for family, members in itertools.groupby(table.families.values())]
    spans, rules, start = [], [], 2
    for family, width in groups:
        spans.append(rf"\multicolumn{{{width}}}{{c}}{{{_escape_latex(family.capitalize())}}}")
        rules.append(rf"\cmidrule(lr){{{start}-{start + width - 1}}}")
        start += width
    lines = [
        r"\begin{table*}[t]",
        r"  \centering",
        rf"  \begin{{tabular}}{{l{'r' * len(table.columns)}}}",
        r"    \toprule",
        f"    & {' & '.join(spans)}{' &' * (len(table.columns) - len(table.families))} \\\\",
        f"    {' '.join(rules)}",
        f"    Model & {' & '.join(_escape_latex(column) for column in table.columns)} \\\\",
        r"    \midrule",
    ]
    for row in table.rows:
        cells = [_latex_value(row, row.values.get(column)) for column in table.columns]
        lines.append(f"    {_escape_latex(row.label)} & {' & '.join(cells)} \\\\")
    lines += [
        r"    \bottomrule",
        r"  \end{tabular}",
        rf"  \caption{{{_escape_latex(' '.join([table.caption, 'Bold: best of its column.', *_notes(table)]))}}}",
        rf"  \label{{{label}}}",
        r"\end{table*}",
    ]
    return "\n".join(lines)


def _headers(table: Table) -> list[tuple[str, str]]:
    """Return (family, column) pairs; a family is named above its first column only."""
    headers, previous = [], ""
    for column in table.columns:
        family = table.families.get(column, "")
        headers.append((family.capitalize() if family != previous else "", column))
        previous = family
    return headers


def _cells(table: Table, mark: Callable[[str], str]) -> list[list[str]]:
    return [
        [_one_line(row.label), *(_value(row, row.values.get(column), mark) for column in table.columns)]
        for row in table.rows
    ]


def _value(row: Row, value: Value | None, mark: Callable[[str], str]) -> str:
    if value is None:
        return MISSING
    text = value.text(signed=row.signed)
    return mark(text) if value.best else text


def _latex_value(row: Row, value: Value | None) -> str:
    text = "--" if value is None else value.text(signed=row.signed).replace("±", r"$\pm$")
    text = text.replace("-", "$-$", 1) if text.startswith("-") and value is not None else text
    return rf"\textbf{{{text}}}" if value is not None and value.best else text


def _notes(table: Table) -> Sequence[str]:
    return [f"Note: {note}." for note in table.notes]


def _one_line(text: str) -> str:
    """Return a name without line breaks and other control characters, which would break a table."""
    return "".join(character if character.isprintable() else " " for character in text)


def _escape_markdown(text: str) -> str:
    for character in "\\|*_`[]~$":
        text = text.replace(character, f"\\{character}")
    return _one_line(text).replace("&", "&amp;").replace("<", "&lt;")


_LATEX = (
    {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "|": r"\textbar{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "−": "$-$", "±": r"$\pm$", "–": "--"}
    | {c: f"\\{c}" for c in "&%$#_{}"}
    # At the start of a row these would be taken for an argument of the line break before.
    | {c: f"{{{c}}}" for c in "[]*"}
)


def _escape_latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in _one_line(text))
