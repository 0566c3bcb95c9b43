"""The report as one page that stands alone: it needs no network and no other file.

Everything from the records is escaped in the markup, and repeated as JSON for the page's own script, which inserts it
as text only. The page's security policy allows that one script (by its hash) and no requests.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import itertools
import json
import shlex
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from probing.report.explanations import Explanations
from probing.report.page import list_differing_settings, make_section
from probing.report.reproduction import list_commands
from probing.report.table import Table, make_tables
from probing.results import Record

SCRIPTS = ("charts.js", "view.js", "explanations.js", "parts.js", "report.js")
"""Files that make up the page's script, in order."""
CONTENTS = {
    "dots": "task by task",
    "curves": "training curves",
    "labels": "label by label",
    "layers": "layer by layer",
    "bleu": "accuracy against BLEU",
    "costs": "costs",
    "settings": "settings",
    "commands": "how to reproduce it",
}
"""Sections below a table, by the beginning of their addresses."""
VERSIONS = ("probing", "torch", "python", "device", "processor")
"""Facts about where records were made that stand above a table."""
VIEWS = {"compression": "description length"}
"""Name of a view, if it is not that of its measure."""
ESCAPED = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}
"""Characters that JSON within a script element must not contain, and their escapes."""


def render_html(
    records: Sequence[Record],
    explanations: Explanations | None = None,
    folder: str = "results",
    *,
    chosen: Sequence[str] = (),
    against_paper: bool = False,
    reference: str | None = None,
) -> str:
    """Return the page for some records; `chosen` are the options that chose them."""
    tables = make_tables(records, against_paper=against_paper, reference=reference)
    sections = [make_section(table) for table in tables]
    explained = explanations or Explanations()
    return render_page(
        "report.html",
        SCRIPTS,
        {"sections": sections, "explanations": dataclasses.asdict(explained)},
        tables=[
            _describe_table(table, section, folder, _list_options(reference, against_paper, chosen))
            for table, section in zip(tables, sections, strict=True)
        ],
        explained=explained,
    )


def render_page(template: str, scripts: Sequence[str], data: object, **variables: Any) -> str:
    """Return a page from its template, its script's files and the data for the script."""
    script = "\n".join(map(_read, scripts))
    environment = Environment(
        loader=PackageLoader("probing.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = environment.get_template(template).render(
        data=embed(data),
        style=Markup(_read("report.css")),
        script=Markup(script),
        policy=f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{_hash(script)}'",
        **variables,
    )
    # A folder's name may contain bytes that are not Unicode; the page must be.
    return page.encode(errors="replace").decode()


def embed(data: object) -> Markup:
    """Return data as JSON that a browser reads as mere text within a script element."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(text.translate(ESCAPED))


def _describe_table(table: Table, section: Mapping[str, Any], folder: str, options: Sequence[str]) -> dict[str, Any]:
    """Return the template's variables for one table."""
    group = table.analysis.group
    chosen = next(iter(section["differences"]), None)
    marks = section["differences"].get(chosen, [[] for _ in section["rows"]])
    needed = {"layers": bool(section["stacks"]), "bleu": bool(table.bleu)}
    report = ["probe", "report", "--results", folder, "--format", "html", "-o", "report.html", *options]
    return {
        "table": table,
        "section": section,
        "title": f"{group.identity.data.name}, preset {group.identity.preset}",
        "facts": list_facts(group.records),
        "families": [(name, len(list(members))) for name, members in itertools.groupby(table.families.values())],
        "questions": [(task, asks, section["meanings"].get(task)) for task, asks in section["asks"].items()],
        "contents": [item for item in CONTENTS.items() if needed.get(item[0], True)],
        "columns": [(column, section["asks"].get(column, "")) for column in table.columns],
        "rows": [
            (row, values, [difference and difference[-1] for difference in differences])
            for row, values, differences in zip(section["rows"], section["views"]["accuracy"], marks, strict=True)
        ],
        "views": {other.measure: VIEWS.get(other.measure, other.measure) for other in table.supplements},
        "reference": chosen,
        "settings": list_differing_settings(group),
        "labels": [model.label for model in group.models],
        "commands": [*list_commands(group, folder), shlex.join(report)],
    }


def _list_options(reference: str | None, against_paper: bool, chosen: Sequence[str]) -> list[str]:
    """Return the options with which the page was made."""
    compared = ["--compare", reference] if reference else []
    return [*compared, *(["--against", "paper"] if against_paper else []), *chosen]


def list_facts(records: Sequence[Record]) -> list[tuple[str, str]]:
    """Return the names and values of the facts above a table."""
    finished = sorted(record.timing.finished_at[:10] for record in records)
    versions = {name: sorted({str(record.where.get(name, "?")) for record in records}) for name in VERSIONS}
    days = finished[0] if finished[0] == finished[-1] else f"{finished[0]} to {finished[-1]}"
    return [
        ("Records", f"{len(records)}, {days}"),
        *((name.capitalize(), ", ".join(found)) for name, found in versions.items() if found != ["?"]),
    ]


def _read(name: str) -> str:
    return (resources.files("probing.report") / "templates" / name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
