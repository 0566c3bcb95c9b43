"""The table of phenomena: shares, intervals and tests are those of the probing tasks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from probing.corpus.language import PHENOMENA
from probing.report.translation.grouping import group_translations
from probing.report.translation.phenomena import AVERAGE, PhenomenonRow, explain_phenomena, score_phenomena
from probing.report.translation.tables import make_translation_tables
from probing.statistics import Sample, accuracy_interval
from probing.statistics.comparisons import mcnemar
from tests.translations import BASE, Run, make_translation

FIRST, SECOND = [name for name, phenomenon in PHENOMENA.items() if phenomenon.attention == "enc-dec"][:2]
ROUTED = Run("em", ("enc-self",))


def judged(run: Run, **letters: str) -> Run:
    return replace(run, phenomena=tuple(letters.items()))


def score(*runs: Run) -> list[PhenomenonRow]:
    (group,) = group_translations([make_translation(run) for run in runs])
    return score_phenomena(group)


def test_a_share_is_that_of_the_sentences_with_the_phenomenon() -> None:
    letters = "1" * 60 + "0" * 40 + "-" * 100
    rows = score(judged(BASE, **{FIRST: letters, SECOND: "1" * 200}))
    assert [(row.attention, row.name, row.sentences) for row in rows] == [
        ("enc-dec", FIRST, 100),
        ("enc-dec", SECOND, 200),
        ("enc-dec", AVERAGE, 2),
    ]
    means = [row.scores["Base"].mean for row in rows]
    assert means == pytest.approx([60.0, 100.0, 80.0])
    interval = accuracy_interval(Sample(np.array([[True] * 60 + [False] * 40])))
    assert (rows[0].scores["Base"].low, rows[0].scores["Base"].high) == pytest.approx(
        (100 * interval.low, 100 * interval.high)
    )
    assert rows[0].verdicts == {}
    assert rows[0].description == PHENOMENA[FIRST].description


def test_systems_are_compared_on_the_same_sentences() -> None:
    base = judged(BASE, **{FIRST: "1" * 100 + "0" * 100, SECOND: "10" * 100})
    better = judged(ROUTED, **{FIRST: "1" * 150 + "0" * 50, SECOND: "10" * 100})
    first, second, average = score(base, better)
    verdict = first.verdicts["EM, enc-self"]
    assert verdict.difference == pytest.approx(25.0)
    assert verdict.p == pytest.approx(mcnemar(50, 0))
    assert verdict.p_holm == pytest.approx(3 * mcnemar(50, 0))
    assert second.verdicts["EM, enc-self"].p == 1.0
    assert average.verdicts["EM, enc-self"].difference == pytest.approx(12.5)
    assert explain_phenomena([first]).full.endswith(
        "by McNemar's exact test, Holm's correction over all rows and systems."
    )


def test_seeds_are_pooled() -> None:
    letters = ["1" * right + "0" * (200 - right) for right in (100, 120, 140)]
    runs = [judged(replace(BASE, seed=seed), **{FIRST: letters[seed]}) for seed in range(3)]
    row, _ = score(*runs)
    assert row.scores["Base"].mean == pytest.approx(60.0)
    assert row.sentences == 200


def test_the_table_has_a_column_for_each_system() -> None:
    base = judged(BASE, **{FIRST: "1" * 100 + "0" * 100})
    better = judged(ROUTED, **{FIRST: "1" * 200})
    tables = make_translation_tables([make_translation(run) for run in (base, better)])
    assert [table.name for table in tables] == ["components", "phenomena"]
    table = tables[1]
    assert table.title == "wmt14 En⇒De, preset base: phenomena"
    assert [column for _, column in table.headers] == ["Attention", "Phenomenon", "n", "Base", "EM, enc-self"]
    assert [cell.text for cell in table.rows[0].cells] == ["enc-dec", FIRST, "200", "50.0", "100.0"]
    assert [cell.mark for cell in table.rows[0].cells] == ["", "", "", "", "⇑"]
    assert "Seed 0, ± half the 95 % interval over sentences (Wilson's)." in table.caption.full


def test_a_system_that_was_judged_on_other_sentences_is_left_out() -> None:
    base = judged(BASE, **{FIRST: "1" * 200})
    other = judged(ROUTED, **{FIRST: "1" * 199 + "-"})
    tables = make_translation_tables([make_translation(run) for run in (base, other)])
    assert [column for _, column in tables[1].headers][3:] == ["Base"]
    assert tables[1].notes == ["not judged on the same phenomena, and left out: EM, enc-self"]


def test_other_text_has_no_such_table() -> None:
    assert score(BASE, ROUTED) == []
    assert [table.name for table in make_translation_tables([make_translation(BASE)])] == ["components"]
    assert score(judged(BASE, **{"of-another-version": "1" * 200})) == []
