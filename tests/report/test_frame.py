from __future__ import annotations

import pandas as pd
import pytest

from probing.report.frame import COLUMNS, make_frame


def test_one_row_per_record_with_stable_columns(make_result):
    frame = make_frame([make_result(), make_result("WC", "base", 60.5, seed=3)])
    assert tuple(frame.columns) == COLUMNS
    assert len(frame) == 2
    row = frame.iloc[1]
    assert (row.data, row.preset, row.task, row.family) == ("mini", "mini", "WC", "surface")
    assert (row.model, row.label, row.seed, row.status) == ("base", "Base", 3, "finished")
    assert (row.test_accuracy, row.dev_accuracy, row.majority_accuracy) == (60.5, 60.5, 50.0)
    assert (row.best_epoch, row.epochs, row.parameters) == (2, 3, 1234)
    assert (row.seconds, row.tokens_per_second) == (12.5, 3000.0)
    assert row.settings["training"] == {"patience": 4}
    assert row.error is None or pd.isna(row.error)


def test_scores_of_failed_cells_are_missing(make_result):
    frame = make_frame([make_result(accuracy=None), make_result()])
    failed, finished = frame.iloc[0], frame.iloc[1]
    assert failed.status == "failed"
    assert failed.error == "the loss became nan in epoch 2"
    scores = ["test_accuracy", "dev_accuracy", "majority_accuracy", "best_epoch", "epochs", "parameters"]
    assert failed[scores].isna().all()
    assert finished[scores].notna().all()
    assert str(frame.dtypes["best_epoch"]) == "Int64"


def test_only_failed_cells(make_result):
    frame = make_frame([make_result(accuracy=None)], against_paper=True)
    assert pd.isna(frame["difference"][0])
    assert frame["paper_accuracy"][0] == 88.17


def test_the_papers_figures_beside_ours(make_result):
    results = [make_result("Tense", "em", 90.0), make_result("Tense", "my.py:Mine", 90.0)]
    results.append(make_result("my_task", "em", 90.0))
    frame = make_frame(results, against_paper=True)
    assert tuple(frame.columns) == (*COLUMNS, "paper_accuracy", "difference")
    assert frame["difference"][0] == pytest.approx(1.83)
    assert frame["paper_accuracy"].isna().tolist() == [False, True, True]


def test_nothing_of_the_paper_to_compare_with(make_result):
    frame = make_frame([make_result("my_task", "em", 90.0)], against_paper=True)
    assert frame[["paper_accuracy", "difference"]].isna().all(axis=None)


def test_the_figures_of_a_cell_stand_in_the_rows_of_all_its_seeds(make_result):
    values = {"base": 80.0, "simple": 80.1, "em": 84.0}
    results = [
        make_result(model=model, accuracy=a + seed / 4, seed=seed) for model, a in values.items() for seed in (0, 1)
    ]
    frame = make_frame(results)
    assert frame["mean_accuracy"].tolist() == pytest.approx([80.125, 80.125, 80.225, 80.225, 84.125, 84.125])
    assert (frame["low"] < frame["mean_accuracy"] - 0.3).all()
    assert (frame["high"] > frame["mean_accuracy"] + 0.3).all()
    assert frame["best"].tolist() == [False] * 4 + [True] * 2
    assert frame["compared_with"].fillna("").tolist() == ["EM"] * 4 + [""] * 2
    assert (frame["p"][:4] <= frame["p_holm"][:4]).all()
    assert (frame["p_holm"][:4] < 0.05).all()
    assert frame["p"][4:].isna().all()


def test_the_reference_is_the_one_that_is_named(make_result):
    frame = make_frame([make_result(model=m, accuracy=a) for m, a in (("base", 80.0), ("em", 84.0))], reference="base")
    assert frame["compared_with"].fillna("").tolist() == ["", "Base"]
    assert frame["p_holm"][1] < 0.001
    assert frame["best"].tolist() == [False, True]


def test_a_failed_seed_has_no_figures_of_its_cell(make_result):
    frame = make_frame([make_result(accuracy=None), make_result(seed=1)])
    columns = ["mean_accuracy", "low", "high", "best", "p"]
    assert frame.iloc[0][columns].isna().all()
    assert frame.iloc[1][columns[:4]].notna().all()
