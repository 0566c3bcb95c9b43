"""Translations as rows of a DataFrame."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from probing.report.translation.frame import COLUMNS, make_translation_frame
from probing.report.translation.tables import make_translation_tables
from tests.translations import BASE, COMPONENTS, LAYERS, Run, fail, make_translation, vary

EM = Run("em", ("enc-self",), wrong=0.1)


def test_columns_of_the_system_and_of_the_seed() -> None:
    records = [make_translation(run) for run in vary([BASE, EM], 2)]
    frame = make_translation_frame(make_translation_tables(records)).set_index(["aggregator", "seed"])
    assert list(frame.reset_index().columns)[2:] == [name for name in COLUMNS if name not in ("aggregator", "seed")]
    bleus = frame["bleu"]
    assert frame["mean_bleu"]["em"].tolist() == pytest.approx([bleus["em"].mean()] * 2)
    assert frame["difference"]["em"][0] == pytest.approx(bleus["em"].mean() - bleus["base"].mean())
    assert frame["difference"]["base"].isna().all()
    assert frame["added_parameters"].tolist() == [0, 0, 12_613_632, 12_613_632]
    assert frame["layers"]["em"][0] == "1,2,3,4,5,6"
    assert frame["compared_with"]["em"][0] == "Base"
    assert frame["sentences"].tolist() == [200] * 4


def test_what_was_not_measured_is_missing() -> None:
    records = [make_translation(replace(BASE, speeds=None)), fail(EM)]
    frame = make_translation_frame(make_translation_tables(records))
    assert frame["steps_per_second"].isna().all()
    assert frame["status"].tolist() == ["finished", "failed"]
    assert pd.isna(frame["bleu"][1])
    assert frame["error"][1] == "the loss became nan in step 300"


def test_a_chosen_table_has_its_own_records_only() -> None:
    records = [make_translation(run) for run in [*COMPONENTS, *LAYERS[2:]]]
    frame = make_translation_frame(make_translation_tables(records, table="layers"))
    assert set(frame["apply"]) == {"", "enc-self"}
    assert len(frame) == len(LAYERS)


def test_the_table_of_systems_has_its_own_records_only() -> None:
    records = [make_translation(run) for run in [*COMPONENTS, *LAYERS[2:]]]
    frame = make_translation_frame(make_translation_tables(records, table="systems"))
    assert frame["label"].tolist() == ["Base", "EM, enc-self, layers 1,2"]


def test_the_papers_figures_stand_beside() -> None:
    records = [make_translation(run) for run in [*COMPONENTS, *LAYERS[2:]]]
    frame = make_translation_frame(make_translation_tables(records, against_paper=True), against_paper=True)
    found = frame.set_index("label")["paper_bleu"].to_dict()
    assert found["Base"] == 27.31
    assert found["EM, enc-self + enc-dec + dec-self"] == 28.47
    assert found["EM, enc-self, layers 6"] == 27.68
