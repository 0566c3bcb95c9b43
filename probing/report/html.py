"""The report as one page that needs nothing else: no network, no other file.

What comes from records stands escaped in the markup, and again as JSON for the page's own script, which writes it as
text only. The page allows no script but that one (by its hash) and no request to anywhere.
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
from probing.report.grouping import Group
from probing.report.page import list_differing_settings, make_section
from probing.report.reproduction import list_commands
from probing.report.table import Table, make_tables
from probing.results.record import Record
from probing.tasks.table import COUNTERPARTS, TASKS

SCRIPTS = ("charts.js", "explanations.js", "report.js")
VERSIONS = ("probing", "torch", "python", "device")
VIEWS = {"compression": "description length"}
"""What a view is called where its measure has another name."""
ESCAPED = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def render_html(
    results: Sequence[Record],
    *,
    folder: str = "results",
    against_paper: bool = False,
    reference: str | None = None,
    explanations: Explanations | None = None,
) -> str:
    """Return the page for some records."""
    tables = make_tables(results, against_paper=against_paper, reference=reference)
    sections = [make_section(table) for table in tables]
    explained = explanations or Explanations()
    script = "\n".join(_read(name) for name in SCRIPTS)
    environment = Environment(
        loader=PackageLoader("probing.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = environment.get_template("report.html").render(
        tables=[
            _describe(table, section, folder, reference, against_paper)
            for table, section in zip(tables, sections, strict=True)
        ],
        explained=explained,
        data=embed({"sections": sections, "explanations": dataclasses.asdict(explained)}),
        style=Markup(_read("report.css")),
        script=Markup(script),
        policy=f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{_hash(script)}'",
    )
    # A folder's name need not be Unicode, and a page is.
    return page.encode(errors="replace").decode()


def embed(data: object) -> Markup:
    """Return data as JSON that is inert within a script element."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(text.translate(ESCAPED))


def _describe(
    table: Table, section: Mapping[str, Any], folder: str, reference: str | None, against_paper: bool
) -> dict[str, Any]:
    """Return what the template shows of one table."""
    group = table.analysis.group
    first = group.results[0]
    chosen = next(iter(section["differences"]), None)
    marks = section["differences"].get(chosen, [])
    report = ["probe", "report", "--results", folder, "--format", "html", "-o", "report.html"]
    report += ["--compare", reference] if reference else []
    report += ["--against", "paper"] if against_paper else []
    return {
        "title": f"{first.identity.data.name}, preset {first.identity.preset}",
        "facts": _list_facts(group),
        "families": [(name, len(list(members))) for name, members in itertools.groupby(table.families.values())],
        "columns": [(column, _explain(column)) for column in table.columns],
        "rows": [
            (row, values, [difference and difference[-1] for difference in (marks[place] if marks else [])])
            for place, (row, values) in enumerate(zip(section["rows"], section["views"]["accuracy"], strict=True))
        ],
        "views": {one.measure: VIEWS.get(one.measure, one.measure) for one in table.supplements},
        "caption": table.caption,
        "legend": table.legend,
        "reference": chosen,
        "references": list(section["differences"]),
        "models": section["models"],
        "notes": table.notes,
        "claims": table.claims,
        "stacks": section["stacks"],
        "settings": list_differing_settings(group),
        "labels": [model.label for model in group.models],
        "commands": [*list_commands(group, folder), shlex.join(report)],
    }


def _list_facts(group: Group) -> list[tuple[str, str]]:
    finished = sorted(result.timing.finished_at[:10] for result in group.results)
    versions = {name: sorted({str(result.where.get(name, "?")) for result in group.results}) for name in VERSIONS}
    days = finished[0] if finished[0] == finished[-1] else f"{finished[0]} to {finished[-1]}"
    return [
        ("Records", f"{len(group.results)}, {days}"),
        *((name.capitalize(), ", ".join(found)) for name, found in versions.items()),
    ]


def _explain(column: str) -> str:
    return next((task.asks for task in TASKS + COUNTERPARTS if task.name == column), "")


def _read(name: str) -> str:
    return (resources.files("probing.report") / "templates" / name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
