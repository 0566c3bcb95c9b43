"""Translations as a pandas DataFrame, one row per record, with stable column names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
from msgspec import UNSET

from probing.corpus.language import PHENOMENA
from probing.report.translation.grouping import TranslationGroup, TranslationSystem
from probing.report.translation.paper import COMPONENTS, LAYERS, PaperFigures, find_layers
from probing.report.translation.tables import TranslationTable, is_effective
from probing.results import ABSENT, RIGHT, Record

COLUMNS: Mapping[str, Callable[[Record], Any] | None] = {
    "data": lambda record: record.identity.data.name,
    "data_sha256": lambda record: record.identity.data.sha256,
    "pair": lambda record: record.identity.task,
    "preset": lambda record: record.identity.preset,
    **dict.fromkeys(("label", "aggregator", "apply", "layers")),
    "seed": lambda record: record.identity.seed,
    "status": lambda record: record.status,
    **dict.fromkeys(("test", "sentences", "bleu", "bleu_lowercase", "chrf", "signature")),
    "dev_score": lambda record: record.translation and record.translation.dev_score,
    "dev_measure": lambda record: record.translation and record.translation.dev_measure,
    "parameters": lambda record: record.translation and record.translation.parameters,
    "added_parameters": None,
    "steps_per_second": lambda record: _get(record.timing.steps_per_second),
    "sentences_per_second": lambda record: _get(record.timing.sentences_per_second),
    "seconds": lambda record: record.timing.seconds,
    "finished_at": lambda record: record.timing.finished_at,
    **dict.fromkeys(("mean_bleu", "low", "high", "compared_with", "difference", "difference_low", "difference_high")),
    "p": None,
    "device": lambda record: record.where.get("device"),
    "threads": lambda record: record.where.get("threads"),
    "processor": lambda record: record.where.get("processor"),
    "settings": lambda record: record.identity.settings,
    "error": lambda record: record.error,
    "key": lambda record: record.key,
}
"""Columns, each with the function that computes it from a record.

Columns without a function need the table: they describe the system, its scores on the table's test set, or its mean
over seeds and the difference of that from the baseline's. Text in the constructed language has a column for each
phenomenon behind them: the share of its sentences in which it is right, in percent.
"""


def make_translation_frame(tables: Sequence[TranslationTable], *, against_paper: bool = False) -> pd.DataFrame:
    """Return the records behind some tables, each once; scores of failed ones are missing."""
    rows: dict[str, dict[str, Any]] = {}
    for table in tables:
        shown = [row.system for row in table.rows]
        for group in table.groups:
            for system in group.systems:
                in_systems = table.name == "systems" and (system.is_base or is_effective(system))
                if in_systems or system in shown or table.name == "phenomena":
                    rows |= _describe_system(group, system, against_paper)
    names = [*COLUMNS, *(("paper_bleu", "paper_difference") if against_paper else ())]
    names += [name for name in PHENOMENA if any(name in row for row in rows.values())]
    frame = pd.DataFrame(list(rows.values()), columns=names)
    return frame.astype(dict.fromkeys(("sentences", "parameters", "added_parameters"), "Int64"))


def _describe_system(
    group: TranslationGroup, system: TranslationSystem, against_paper: bool
) -> dict[str, dict[str, Any]]:
    """Return the rows of a system's records, by key."""
    shared: dict[str, Any] = {
        "label": system.label,
        "aggregator": system.aggregator,
        "apply": ",".join(system.apply),
        "layers": ",".join(map(str, system.layers)),
        "test": group.test or None,
    }
    if (bleu := group.bleus.get(system.label)) is not None:
        shared |= {"mean_bleu": bleu.mean, "low": bleu.mean - bleu.half, "high": bleu.mean + bleu.half}
    if (compared := group.compare_with_base(system)) is not None and group.base is not None:
        shared |= {
            "compared_with": group.base.label,
            "difference": compared.difference,
            "difference_low": compared.low,
            "difference_high": compared.high,
            "p": compared.p,
        }
    if group.base is not None and system.parameters is not None and group.base.parameters is not None:
        shared["added_parameters"] = system.parameters - group.base.parameters
    if against_paper and (figures := _find_paper(system)):
        shared |= {"paper_bleu": figures.bleu, "paper_difference": figures.difference}
    return {record.key: _describe_record(record, group.test) | shared for record in (*system.records, *system.failed)}


def _describe_record(record: Record, test: str) -> dict[str, Any]:
    row = {column: compute(record) for column, compute in COLUMNS.items() if compute}
    scores = record.translation.tests.get(test) if record.translation else None
    if scores is not None:
        row |= {name: getattr(scores, name) for name in ("bleu", "bleu_lowercase", "chrf", "signature")}
        row["sentences"] = len(scores.statistics)
        verdicts = scores.phenomena or {}
        row |= {name: _share(letters) for name, letters in verdicts.items() if name in PHENOMENA}
    return row


def _share(letters: str) -> float | None:
    """Return the share in percent of the sentences with a phenomenon in which it is right."""
    sentences = len(letters) - letters.count(ABSENT)
    return 100 * letters.count(RIGHT) / sentences if sentences else None


def _find_paper(system: TranslationSystem) -> PaperFigures | None:
    """Return the paper's figures for a system of Tables 2 and 3."""
    if system.is_base or system.is_full:
        return COMPONENTS.get((system.aggregator, system.apply))
    if (system.aggregator, system.apply) != ("em", ("enc-self",)):
        return None
    papers = find_layers(system.layers, system.num_layers)
    return None if papers is None else LAYERS[papers]


def _get(value: Any) -> Any:
    return None if value is UNSET else value
