"""Records rendered as tables in text, Markdown or LaTeX, or as rows in CSV or JSON."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

from probing.errors import as_one_line, unknown
from probing.report import FORMATS
from probing.report.blocks import (
    MISSING,
    add_hint,
    align,
    compose_latex,
    compose_markdown,
    compose_text,
    escape_latex,
    escape_markdown,
    introduce_notes,
    render_frame,
    split_columns,
)
from probing.report.explanations import load_explanations
from probing.report.grouping import load_records
from probing.report.selection import EVERYTHING, Selection
from probing.report.table import Row, Table, TableValue, make_tables
from probing.results import Record
from probing.storage import pausing_garbage_collection


def load_and_render(
    folder: Path,
    format: str,
    *,
    against_paper: bool = False,
    reference: str | None = None,
    selection: Selection = EVERYTHING,
    explain: bool = False,
    colour: bool = False,
    width: int | None = None,
    on_damaged: Callable[[str], None],
) -> str:
    """Return the report on a results folder; if there is nothing to report, the error names the command to run."""
    with pausing_garbage_collection():
        records = selection.apply(load_records(folder, on_damaged), on_damaged, also=reference)
        if format != "html":
            text = render(
                records,
                format,
                against_paper=against_paper,
                reference=reference,
                explain=explain,
                colour=colour,
                width=width,
            )
            return add_hint(text, width) if format == "table" and not explain else text
        from probing.report.html import render_html  # jinja2 is not needed for the other formats

        explanations = load_explanations(folder, on_damaged)
        return render_html(
            records,
            explanations,
            # A page must not tell the paths of a machine.
            folder.name if folder.is_absolute() or ".." in folder.parts else folder.as_posix(),
            chosen=selection.as_options(),
            against_paper=against_paper,
            reference=reference,
        )


def render(
    records: Sequence[Record],
    format: str = "table",
    *,
    against_paper: bool = False,
    reference: str | None = None,
    explain: bool = False,
    colour: bool = False,
    width: int | None = None,
) -> str:
    """Return the report on some records as table, markdown, latex, csv or json, or as HTML for a notebook.

    `explain` adds the method to a text table; the other formats always have it. `width` is that of the terminal in
    which a table is shown; without it, lines are as long as they are.
    """
    if format not in (*FORMATS, "notebook") or format == "html":
        raise unknown("format", format, [known for known in FORMATS if known != "html"])
    if format in ("csv", "json"):
        from probing.report.frame import make_frame  # pandas is not needed for the other formats

        return render_frame(make_frame(records, against_paper=against_paper, reference=reference), format)
    made = make_tables(records, against_paper=against_paper, reference=reference)
    tables = [one for table in made for one in (table, *table.supplements)]
    if format == "latex":
        labels = ["tab:probing", *(f"tab:probing-{number}" for number in range(2, len(tables) + 1))]
        return "\n\n".join(map(render_latex, tables, labels))
    if format == "table":
        texts = [render_text(table, explain=explain, colour=colour, width=width) for table in tables]
        return "\n\n".join(texts)
    return "\n\n".join(map(render_markdown if format == "markdown" else render_notebook, tables))


def render_text(table: Table, *, explain: bool = False, colour: bool = False, width: int | None = None) -> str:
    """Return the table for a terminal; the best of a column are bold, or have a star if there is no colour.

    A table that is wider than the terminal is cut between families of tasks, and its parts stand below each other.
    """

    def show(value: TableValue, figure: str) -> str:
        # Marks stand before the figure, so that the digits stay aligned.
        best = f"\033[1m{figure}\033[0m" if colour else f"*{figure}"
        return "\n".join(filter(None, [value.mark + (best if value.best else figure), value.format_below()]))

    columns, families = table.every_column, _list_families(table)
    parts = split_columns(_render_cells(table, show, as_one_line, "\n"), families, width)
    bodies = [
        align(_render_cells(table, show, as_one_line, "\n", only=[columns[place - 1] for place in part]))
        for part in parts
    ]
    explained = _explain(table, "Bold" if colour else "*", as_one_line, explain=explain)
    return compose_text("\n\n".join(bodies), explained, table.notes, table.claims, width=width)


def render_markdown(table: Table) -> str:
    """Return the table in GitHub's Markdown."""

    def show(value: TableValue, figure: str) -> str:
        best = (f"**{figure}**" if value.best else figure) + value.mark
        return "<br>".join(filter(None, [best, value.format_below()]))

    body = align(_render_cells(table, show, escape_markdown, "<br>"), "pipe")
    return compose_markdown(body, _explain(table, "**Bold**", escape_markdown), table.notes, table.claims)


def render_notebook(table: Table) -> str:
    """Return the table as HTML for a notebook; the best of a column are bold."""

    def show(value: TableValue, figure: str) -> str:
        text = escape(f"{figure}{value.mark}")
        half = f"<br><small>{escape(value.format_below())}</small>" if value.format_below() else ""
        return (f"<b>{text}</b>" if value.best else text) + half

    (model, *columns), *rows = _render_cells(table, show, escape, "<br>")
    headers = "".join(f"<th>{column}</th>" for column in columns)
    body = "".join(
        f"<tr><th>{label}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>" for label, *cells in rows
    )
    caption = " ".join([*_explain(table, "<b>Bold</b>", escape), *map(escape, introduce_notes(table.notes))])
    return f"<table><thead><tr><th>{model}</th>{headers}</tr></thead><tbody>{body}</tbody></table><p>{caption}</p>"


def render_latex(table: Table, label: str) -> str:
    """Return the table in LaTeX, which needs the package booktabs."""
    columns = table.every_column
    spans, rules, start = [], [], 2
    for family, members in itertools.groupby(_list_families(table)):
        width = len(list(members))
        spans.append(rf"\multicolumn{{{width}}}{{c}}{{{escape_latex(family)}}}" if family else "")
        rules += [rf"\cmidrule(lr){{{start}-{start + width - 1}}}"] if family else []
        start += width
    lines = [
        f"& {' & '.join(spans).rstrip()} \\\\",
        " ".join(rules),
        f"Model & {' & '.join(escape_latex(column) for column in columns)} \\\\",
        r"\midrule",
        *(line for row in table.rows for line in _render_latex_rows(row, table)),
    ]
    explained = _explain(table, "Bold", escape_latex)
    return compose_latex(f"l{'r' * len(columns)}", lines, explained, table.notes, table.claims, label)


def _render_latex_rows(row: Row, table: Table) -> list[str]:
    """Return a row's line of figures and, if there are any, the line of intervals below it."""
    values = [row.values.get(column) for column in table.every_column]
    lines = [f"{escape_latex(row.label)} & {' & '.join(_render_latex_value(row, value) for value in values)} \\\\"]
    halves = ["" if value is None else value.format_below() for value in values]
    if any(halves):
        small = [rf"{{\scriptsize {escape_latex(half)}}}" if half else "" for half in halves]
        lines.append(f"& {' & '.join(small)} \\\\")
    return lines


def _render_cells(
    table: Table,
    show: Callable[[TableValue, str], str],
    escape_name: Callable[[str], str],
    line_break: str,
    *,
    only: Sequence[str] | None = None,
) -> list[list[str]]:
    """Return the texts of the headers and of each row; `show` adds emphasis, mark and interval to a figure's text.

    A family is named above its first column only. `only` names the columns to show, if not all.
    """
    every = dict(zip(table.every_column, _list_families(table), strict=True))
    columns = list(every if only is None else only)
    families = [every[column] for column in columns]
    headers = ["Model"]
    for column, (previous, family) in zip(columns, itertools.pairwise(["", *families]), strict=True):
        headers.append(f"{family if family != previous else ''}{line_break}{escape_name(column)}")
    cells = [headers]
    for row in table.rows:
        values = [row.values.get(column) for column in columns]
        figures = [MISSING if value is None else show(value, value.format(signed=row.signed)) for value in values]
        cells.append([escape_name(as_one_line(row.label)), *figures])
    return cells


def _list_families(table: Table) -> list[str]:
    """Return the heading above each column: its family, nothing for the average, a word for the other measures'."""
    families = [family.capitalize() for family in table.families.values()]
    averages = "Average" if len(table.families) > 1 else "Also"
    bleu = [""] if table.bleu else []
    return [*families, *("" for _ in table.columns[len(families) :]), *(averages for _ in table.averages), *bleu]


def _explain(table: Table, bold: str, escape_text: Callable[[str], str], *, explain: bool = True) -> list[str]:
    """Return the caption and the meaning of bold figures, of marks and of BLEU, as far as there are any."""
    statements = (table.caption, table.legend, table.marks, table.bleu)
    caption, legend, marks, bleu = (one.choose(explain=explain) for one in statements)
    if table.supplements:
        *first, last = (other.measure for other in table.supplements)
        measures = f"{', '.join(first)} and {last}" if first else last
        caption += f" {', '.join(table.averages)}: {measures}, see below."
    bold_means = f"{bold}: {escape_text(legend)}" if legend else ""
    return list(filter(None, [escape_text(caption), bold_means, escape_text(marks), escape_text(bleu)]))


def _render_latex_value(row: Row, value: TableValue | None) -> str:
    if value is None:
        return "--"
    text = value.format(signed=row.signed)
    text = text.replace("-", "$-$", 1) if text.startswith("-") else text
    text = rf"\textbf{{{text}}}" if value.best else text
    # Marks take no room, so that the digits stay aligned.
    return text + (rf"\rlap{{{escape_latex(value.mark)}}}" if value.mark else "")
