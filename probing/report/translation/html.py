"""The report on translations as one page that stands alone: tables, costs, training curves, and sentences to compare.

As in the page of the probing tasks, everything from records and texts is escaped or inserted as text.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from probing.report.html import list_facts, render_page
from probing.report.translation.grouping import TranslationGroup, TranslationSystem
from probing.report.translation.phenomena import score_phenomena
from probing.report.translation.sentences import list_sentences
from probing.report.translation.tables import TranslationTable, make_translation_tables
from probing.results import Record

SCRIPTS = ("charts.js", "translation.js")
"""Files that make up the page's script, in order."""


def render_translation_page(
    records: Sequence[Record],
    folder: Path,
    *,
    table: str | None = None,
    against_paper: bool = False,
    test: str | None = None,
    lowercase: bool = False,
) -> str:
    """Return the page for some records; the translations are read from the results folder."""
    tables = make_translation_tables(records, table=table, against_paper=against_paper, test=test, lowercase=lowercase)
    groups = list({id(group): group for shown in tables for group in shown.groups}.values())
    described = [_describe_group(group, folder) for group in groups]
    command = ["probe", "translate", "report", "--results", folder.name, "--format", "html", "-o", "report.html"]
    options = {"--table": table, "--test": test, "--against": "paper" if against_paper else None}
    command += [part for name, value in options.items() if value for part in (name, value)]
    return render_page(
        "translation.html",
        SCRIPTS,
        [section for section, _ in described],
        tables=[_describe_table(shown) for shown in tables],
        groups=[page | {"systems": section["systems"]} for section, page in described],
        command=shlex.join(command),
    )


def _describe_table(table: TranslationTable) -> dict[str, Any]:
    """Return the template's variables for one table."""
    spans: list[tuple[str, int]] = []
    for top, _ in table.headers:
        if spans and top and spans[-1][0] == top:
            spans[-1] = (top, spans[-1][1] + 1)
        else:
            spans.append((top, 1))
    return {"table": table, "spans": spans if any(top for top, _ in spans) else [], "title": table.title}


def _describe_group(group: TranslationGroup, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a group's data for the script, and its variables for the template."""
    measured = group.list_measured()
    sentences = list_sentences(group, folder)
    section = {
        "systems": [system.label for system in measured],
        "costs": [_describe_costs(group, system) for system in measured],
        "curves": [
            curve
            for place, system in enumerate(measured)
            for record in system.records
            for curve in [_describe_curve(record, place)]
            if curve["steps"]
        ],
        "phenomena": _describe_phenomena(group, measured),
        "sentences": sentences.as_data(),
    }
    page = {
        "title": group.title,
        "facts": list_facts(group.records),
        "test": group.test,
        "missing": sentences.missing,
        "left_out": sentences.left_out,
        "compares": len(sentences.outputs) > 1,
        "has_phenomena": bool(section["phenomena"]),
    }
    return section, page


def _describe_phenomena(group: TranslationGroup, systems: Sequence[TranslationSystem]) -> list[dict[str, Any]]:
    """Return for each phenomenon what it is, and each system's score on it; null if it was not judged."""
    return [
        {
            "name": f"{row.attention}: {row.name}" if row.is_average else row.name,
            "attention": row.attention,
            "description": row.description,
            "scores": [
                None if score is None else [round(score.mean, 2), round(score.low, 2), round(score.high, 2)]
                for score in (row.scores.get(system.label) for system in systems)
            ],
        }
        for row in score_phenomena(group)
    ]


def _describe_costs(group: TranslationGroup, system: TranslationSystem) -> dict[str, Any]:
    bleu = group.bleus[system.label]
    return {
        "mean": round(bleu.mean, 4),
        "low": round(bleu.mean - bleu.half, 4),
        "high": round(bleu.mean + bleu.half, 4),
        "parameters": system.parameters,
        "decode": system.find_speed("sentences_per_second"),
        "train": system.find_speed("steps_per_second"),
    }


def _describe_curve(record: Record, system: int) -> dict[str, Any]:
    """Return the curve of one record; a figure that was not measured is null."""
    assert record.translation is not None
    curve = record.translation.curve
    figures = {
        name: [None if point.get(name) is None else round(point[name], 4) for point in curve]
        for name in ("loss", "dev_loss", "dev_bleu")
    }
    return {
        "system": system,
        "seed": record.identity.seed,
        "steps": [point["steps"] for point in curve],
        "kept": record.translation.best_epoch - 1,
        **figures,
    }
