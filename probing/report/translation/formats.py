"""Tables of translations in text, Markdown or LaTeX, and records as rows in CSV or JSON."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

from probing.errors import as_one_line, unknown
from probing.report import FORMATS
from probing.report.blocks import (
    add_hint,
    align,
    compose_latex,
    compose_markdown,
    compose_text,
    escape_latex,
    escape_markdown,
    render_frame,
    split_columns,
)
from probing.report.translation.cells import TranslationCell
from probing.report.translation.grouping import load_translations
from probing.report.translation.tables import TranslationTable, make_translation_tables
from probing.results import Record
from probing.storage import pausing_garbage_collection

WIDTHS = {"components": 10, "layers": 30, "systems": 24, "phenomena": 20}
"""Number of characters at which texts in a table's cells are wrapped in a terminal, so that 80 columns are enough."""


def load_and_render_translations(
    folder: Path,
    format: str,
    *,
    table: str | None = None,
    against_paper: bool = False,
    test: str | None = None,
    lowercase: bool = False,
    explain: bool = False,
    width: int | None = None,
    on_damaged: Callable[[str], None],
) -> str:
    """Return the report on a folder's translations; if there are none, the error names the command to run."""
    with pausing_garbage_collection():
        records = load_translations(folder, on_damaged)
        if format != "html":
            return render_translations(
                records,
                format,
                table=table,
                against_paper=against_paper,
                test=test,
                lowercase=lowercase,
                explain=explain,
                width=width,
            )
        from probing.report.translation.html import render_translation_page  # jinja2 is not needed for other formats

        return render_translation_page(
            records, folder, table=table, against_paper=against_paper, test=test, lowercase=lowercase
        )


def render_translations(
    records: Sequence[Record],
    format: str = "table",
    *,
    table: str | None = None,
    against_paper: bool = False,
    test: str | None = None,
    lowercase: bool = False,
    explain: bool = False,
    width: int | None = None,
) -> str:
    """Return the report on some translations as table, markdown, latex, csv or json; a table for a terminal's width."""
    if format not in FORMATS or format == "html":
        raise unknown("format", format, [known for known in FORMATS if known != "html"])
    tables = make_translation_tables(records, table=table, against_paper=against_paper, test=test, lowercase=lowercase)
    if format in ("csv", "json"):
        from probing.report.translation.frame import make_translation_frame  # pandas is not needed for the others

        return render_frame(make_translation_frame(tables, against_paper=against_paper), format)
    if format == "latex":
        labels = ["tab:translation", *(f"tab:translation-{number}" for number in range(2, len(tables) + 1))]
        return "\n\n".join(map(_render_latex, tables, labels))
    if format == "markdown":
        return "\n\n".join(map(_render_markdown, tables))
    text = "\n\n".join(_render_text(one, explain, width) for one in tables)
    return text if explain else add_hint(text, width)


def _render_text(table: TranslationTable, explain: bool, width: int | None) -> str:
    def show(cell: TranslationCell) -> str:
        # Arrows stand before the figure, so that the digits stay aligned.
        return "\n".join(filter(None, [cell.mark + as_one_line(cell.text), cell.below]))

    def wrap(cell: TranslationCell) -> str:
        return "\n".join(textwrap.wrap(as_one_line(cell.text), WIDTHS[table.name]))

    texts = table.texts
    rows = [[*map(wrap, row.cells[:texts]), *map(show, row.cells[texts:])] for row in table.rows]
    cells = [_stack_headers(table), *rows]
    parts = split_columns(cells, [column for _, column in table.headers[texts:]], width, texts=texts)
    bodies = [align([[*row[:texts], *(row[place] for place in part)] for row in cells], texts=texts) for part in parts]
    explained = [as_one_line(text) for text in table.list_explanations(explain=explain)]
    return compose_text("\n\n".join(bodies), explained, table.notes, table.claims, width=width)


def _render_markdown(table: TranslationTable) -> str:
    def show(cell: TranslationCell) -> str:
        return "<br>".join(filter(None, [escape_markdown(cell.text) + cell.mark, cell.below]))

    columns = [escape_markdown(column) for _, column in table.headers]
    headers = [f"{escape_markdown(top)}<br>{name}" for top, name in zip(_list_tops(table), columns, strict=True)]
    rows = [[show(cell) for cell in row.cells] for row in table.rows]
    body = align([headers if any(_list_tops(table)) else columns, *rows], "pipe", texts=table.texts)
    explained = [escape_markdown(text) for text in table.explanations]
    return compose_markdown(body, explained, table.notes, table.claims)


def _list_tops(table: TranslationTable) -> list[str]:
    """Return what stands above the columns; a heading of several columns is named above the first of them."""
    pairs = itertools.pairwise([("", ""), *table.headers])
    return [top if top != before else "" for (before, _), (top, _) in pairs]


def _stack_headers(table: TranslationTable) -> list[str]:
    """Return the columns' headings for a terminal: narrow, on as few lines as they need, the lowest at the bottom."""
    names = [column.replace("-", "-\n") for _, column in table.headers]
    if table.name == "phenomena":
        names = [column.replace(", ", "\n").replace(" + ", "\n") for _, column in table.headers]
    if table.name == "systems":  # there the heading above, a language pair, is needed
        names = [f"{top}\n{name}" if top else name for top, name in zip(_list_tops(table), names, strict=True)]
    height = max(name.count("\n") for name in names)
    return ["\n" * (height - name.count("\n")) + name for name in names]


def _render_latex(table: TranslationTable, label: str) -> str:
    def show(cell: TranslationCell) -> str:
        text = escape_latex(cell.text)
        text = text.replace("-", "$-$", 1) if cell.text.startswith("-") else text
        indent = r"\quad " if cell.text.startswith("+ ") else ""
        # Arrows take no room, so that the digits stay aligned.
        return indent + text + (rf"\rlap{{{escape_latex(cell.mark)}}}" if cell.mark else "")

    lines = [
        *_list_spans(table),
        f"{' & '.join(escape_latex(column) for _, column in table.headers)} \\\\",
        r"\midrule",
    ]
    for row in table.rows:
        lines.append(f"{' & '.join(map(show, row.cells))} \\\\")
        if any(cell.below for cell in row.cells):
            below = [rf"{{\scriptsize {escape_latex(cell.below)}}}" if cell.below else "" for cell in row.cells]
            lines.append(f"{' & '.join(below)} \\\\")
    letters = "".join("l" if place < table.texts else "r" for place in range(len(table.headers)))
    explained = [escape_latex(text) for text in table.explanations]
    packages = r"\usepackage{booktabs,amssymb}"
    return compose_latex(letters, lines, explained, table.notes, table.claims, label, packages)


def _list_spans(table: TranslationTable) -> list[str]:
    """Return the line of headings above several columns, and the rules below them, if there are any."""
    spans, rules, start = [], [], 1
    for top, members in itertools.groupby(table.headers, key=lambda header: header[0]):
        width = len(list(members))
        spans.append(rf"\multicolumn{{{width}}}{{c}}{{{escape_latex(top)}}}" if top else " &" * (width - 1))
        rules += [rf"\cmidrule(lr){{{start}-{start + width - 1}}}"] if top else []
        start += width
    return [f"{' & '.join(spans)} \\\\", " ".join(rules)] if rules else []
