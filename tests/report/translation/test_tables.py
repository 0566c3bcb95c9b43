"""Which tables there are, and what stands in their rows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from probing.errors import ProbingError
from probing.report.translation.tables import TranslationTable, make_translation_tables
from tests.translations import BASE, COMPONENTS, LAYERS, SYSTEMS, Run, fail, make_translation

EFFECTIVE = Run("em", ("enc-self",), (1, 2))


def make(runs: list[Run], **options: object) -> list[TranslationTable]:
    return make_translation_tables([make_translation(run) for run in runs], **options)  # type: ignore[arg-type]


def texts(table: TranslationTable, *, paper: bool = False) -> list[list[str]]:
    return [[cell.text for cell in row.cells] for row in table.rows if row.is_paper == paper]


def test_components() -> None:
    (table,) = make(COMPONENTS)
    assert table.name == "components"
    assert [row[:7] for row in texts(table)] == [
        ["×", "×", "×", "n/a", "88.0M", "1.92", "1.67"],
        ["✓", "×", "×", "Simple", "+12.6M", "1.23", "1.66"],
        ["✓", "×", "×", "EM", "+12.6M", "1.20", "1.65"],
        ["×", "✓", "×", "EM", "+12.6M", "1.20", "1.21"],
        ["×", "×", "✓", "EM", "+12.6M", "1.21", "1.21"],
        ["✓", "✓", "×", "EM", "+25.2M", "0.87", "1.20"],
        ["✓", "✓", "✓", "EM", "+37.8M", "0.66", "0.89"],
    ]
    bleus = [float(row[7]) for row in texts(table)]
    assert [row[8] for row in texts(table)] == ["–", *(f"{bleu - bleus[0]:+.2f}" for bleu in bleus[1:])]


def test_bleu_without_regard_to_case_is_a_column() -> None:
    records = [make_translation(run) for run in COMPONENTS]
    (table,) = make_translation_tables(records, lowercase=True)
    assert table.headers[-1] == ("", "lc")
    expected = [record.translation.test.bleu_lowercase for record in records if record.translation]
    assert [row[-1] for row in texts(table)] == [f"{bleu:.2f}" for bleu in expected]


def test_layers() -> None:
    found = {table.name: table for table in make(LAYERS)}
    assert [row[:3] for row in texts(found["layers"])] == [
        ["None", "88.0M", "1.92"],
        ["[1-6]", "100.6M", "1.20"],
        ["[4-6]", "94.3M", "1.54"],
        ["[1-3]", "94.3M", "1.54"],
        ["[1,2]", "92.2M", "1.67"],
        ["[6]", "90.1M", "1.88"],
        ["[1]", "90.1M", "1.88"],
    ]
    assert list(found) == ["components", "layers", "systems"]
    assert found["layers"].title == "wmt14 En⇒De, preset base: EM in enc-self"


def test_systems() -> None:
    (table,) = make(SYSTEMS)
    assert [top for top, _ in table.headers] == ["", "En⇒De", "En⇒De", "Zh⇒En", "Zh⇒En"]
    assert [[row[0], row[1], row[3]] for row in texts(table)] == [
        ["Transformer-Base", "88M", "88M"],
        ["+ Effective Aggregation", "92M", "92M"],
        ["Transformer-Big", "264M", "264M"],
        ["+ Effective Aggregation", "297M", "297M"],
    ]
    assert [row.cells[2].mark for row in table.rows] == ["", "⇑", "", "⇑"]


def test_the_papers_figures_stand_below_ours() -> None:
    (components,) = make(COMPONENTS, against_paper=True)
    assert [row[4:] for row in texts(components, paper=True)] == [
        ["88.0M", "1.92", "1.67", "27.31", "–"],
        ["+12.6M", "1.23", "1.66", "27.98", "+0.67"],
        ["+12.6M", "1.20", "1.65", "28.28", "+0.97"],
        ["+12.6M", "1.20", "1.21", "27.94", "+0.63"],
        ["+12.6M", "1.21", "1.21", "28.15", "+0.84"],
        ["+25.2M", "0.87", "1.20", "28.45", "+1.14"],
        ["+37.8M", "0.66", "0.89", "28.47", "+1.16"],
    ]
    assert [row.is_paper for row in components.rows] == [False, True] * 7
    (layers,) = make(LAYERS, against_paper=True, table="layers")
    assert texts(layers, paper=True)[5] == ["paper", "90.1M", "1.88", "27.68"]
    (systems,) = make(SYSTEMS, against_paper=True)
    assert texts(systems, paper=True)[3] == ["paper", "297M", "28.96", "337M", "25.00"]


def test_stacks_of_other_depths_have_the_papers_corresponding_layers() -> None:
    shallow = (("model", "num_layers", 4),)
    runs = [replace(BASE, settings=shallow)]
    runs += [Run("em", ("enc-self",), layers, settings=shallow) for layers in ((), (3, 4), (1, 2), (2, 3), (4,))]
    (table,) = make(runs, against_paper=True, table="layers")
    assert [row.cells[0].text for row in table.rows] == [
        *("None", "paper", "[1-4]", "paper [1-6]", "[3,4]", "paper [4-6]", "[2,3]", "[1,2]", "paper"),
        *("[4]", "paper [6]"),
    ]


def test_figures_of_the_big_model_are_not_held_against_those_of_base() -> None:
    big = [replace(run, preset="big") for run in COMPONENTS]
    (table,) = make(big, against_paper=True, table="components")
    assert texts(table, paper=True) == []


def test_a_language_pair_of_two_data_sets_has_two_tables() -> None:
    runs = [BASE, EFFECTIVE, replace(BASE, data="other"), replace(EFFECTIVE, data="other")]
    assert [table.title for table in make(runs, table="systems")] == [
        "other En⇒De: architectures",
        "wmt14 En⇒De: architectures",
    ]


def test_other_training_never_shares_a_table() -> None:
    """Not for the same language pair, and not for the same preset with another pair."""
    short = (("training", "max_steps", 500),)
    for other in (replace(BASE, settings=short), replace(BASE, settings=short, task="zh-en", data="wmt17")):
        runs = [BASE, EFFECTIVE, other, replace(EFFECTIVE, settings=short, task=other.task, data=other.data)]
        tables = make(runs, table="systems")
        assert [len(table.rows) for table in tables] == [2, 2]
        assert [len(table.headers) for table in tables] == [3, 3]
    variants = [BASE, replace(BASE, settings=short)]
    assert [table.name for table in make(variants)] == ["components", "components"]


def test_a_missing_pair_is_a_dash() -> None:
    (table,) = make(SYSTEMS[:5], table="systems")
    assert [row[3] for row in texts(table)] == ["88M", "–", "–", "–"]


def test_base_alone_has_a_table() -> None:
    (table,) = make([BASE])
    assert (table.name, table.marks.full, len(table.rows)) == ("components", "", 1)


def test_without_base_figures_are_absolute() -> None:
    (table,) = make([run for run in COMPONENTS if run.aggregator == "em"])
    assert texts(table)[0][4] == "100.6M"
    assert {row[8] for row in texts(table)} == {"–"}
    assert (table.marks.full, table.claims) == ("", [])
    assert "Base has no results on wmt14 En⇒De, preset base, so nothing is compared with it" in table.notes


def test_layers_of_two_attentions_have_a_table_of_their_own() -> None:
    both = Run("em", ("enc-self", "enc-dec"), (1,))
    tables = make([BASE, Run("em", ("enc-self",), (1,)), both], table="layers")
    assert [table.title for table in tables] == [
        "wmt14 En⇒De, preset base: EM in enc-self",
        "wmt14 En⇒De, preset base: EM in enc-self + enc-dec",
    ]


def test_a_failed_run_has_a_row_of_dashes_and_a_note() -> None:
    (table,) = make_translation_tables([make_translation(BASE), fail(COMPONENTS[2])])
    assert texts(table)[1] == ["✓", "×", "×", "EM", "–", "–", "–", "–", "–"]
    assert table.notes == ["EM, enc-self seed 0 failed: the loss became nan in step 300"]


def test_nothing_but_failures_is_a_table_of_dashes() -> None:
    (table,) = make_translation_tables([fail(BASE)])
    assert texts(table) == [["×", "×", "×", "n/a", "–", "–", "–", "–", "–"]]
    assert "Data: wmt14 En⇒De." in table.caption.full


@pytest.mark.parametrize(
    ("name", "runs", "needed"),
    [
        ("components", [BASE, EFFECTIVE], "Base, or an aggregator in all layers"),
        ("layers", COMPONENTS, "an aggregator in some of the layers"),
        ("systems", COMPONENTS, "an aggregator in encoder self-attention of layers 1 and 2, or several presets"),
    ],
)
def test_a_table_without_rows_is_an_error(name: str, runs: list[Run], needed: str) -> None:
    if name == "components":
        runs = [EFFECTIVE]
    with pytest.raises(ProbingError, match=f"there are no rows for the table '{name}': it needs {needed}"):
        make(runs, table=name)
