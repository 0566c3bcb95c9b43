from __future__ import annotations

import pandas as pd
import pytest
from msgspec import structs

from probing.report.frame import COLUMNS, make_frame, make_wide_frame
from probing.results import DescriptionLength


def test_one_row_per_record_with_stable_columns(make_record):
    frame = make_frame([make_record(), make_record("WC", "base", 60.5, seed=3)])
    assert tuple(frame.columns) == tuple(COLUMNS)
    assert len(frame) == 2
    row = frame.iloc[1]
    assert (row.data, row.preset, row.task, row.family) == ("mini", "mini", "WC", "surface")
    assert (row.model, row.label, row.seed, row.status) == ("base", "Base", 3, "finished")
    assert (row.test_accuracy, row.dev_accuracy, row.majority_accuracy) == (60.5, 60.5, 50.0)
    assert (row.best_epoch, row.epochs, row.parameters) == (2, 3, 1234)
    assert (row.seconds, row.tokens_per_second) == (12.5, 3000.0)
    assert row.settings["training"] == {"patience": 4}
    assert pd.isna(row.error)


def test_scores_of_failed_cells_are_missing(make_record):
    frame = make_frame([make_record(accuracy=None), make_record()])
    failed, finished = frame.iloc[0], frame.iloc[1]
    assert failed.status == "failed"
    assert failed.error == "the loss became nan in epoch 2"
    scores = ["test_accuracy", "dev_accuracy", "majority_accuracy", "best_epoch", "epochs", "parameters"]
    assert failed[scores].isna().all()
    assert finished[scores].notna().all()
    assert str(frame.dtypes["best_epoch"]) == "Int64"


def test_only_failed_cells(make_record):
    frame = make_frame([make_record(accuracy=None)], against_paper=True)
    assert pd.isna(frame["difference"][0])
    assert frame["paper_accuracy"][0] == 88.17


def test_the_papers_figures_beside_ours(make_record):
    records = [make_record("Tense", "em", 90.0), make_record("Tense", "my.py:Mine", 90.0)]
    records.append(make_record("my_task", "em", 90.0))
    frame = make_frame(records, against_paper=True)
    assert tuple(frame.columns) == (*COLUMNS, "paper_accuracy", "difference")
    assert frame["difference"][0] == pytest.approx(1.83)
    assert frame["paper_accuracy"].isna().tolist() == [False, True, True]


def test_nothing_of_the_paper_to_compare_with(make_record):
    frame = make_frame([make_record("my_task", "em", 90.0)], against_paper=True)
    assert frame[["paper_accuracy", "difference"]].isna().all(axis=None)


def test_figures_over_all_seeds_stand_in_the_row_of_each_seed(make_record):
    values = {"base": 80.0, "simple": 80.1, "em": 84.0}
    records = [
        make_record(model=model, accuracy=a + seed / 4, seed=seed) for model, a in values.items() for seed in (0, 1)
    ]
    frame = make_frame(records)
    assert frame["mean_accuracy"].tolist() == pytest.approx([80.125, 80.125, 80.225, 80.225, 84.125, 84.125])
    assert (frame["low"] < frame["mean_accuracy"] - 0.3).all()
    assert (frame["high"] > frame["mean_accuracy"] + 0.3).all()
    assert frame["best"].tolist() == [False] * 4 + [True] * 2
    assert frame["compared_with"].fillna("").tolist() == ["EM"] * 4 + [""] * 2
    assert (frame["p"][:4] <= frame["p_holm"][:4]).all()
    assert (frame["p_holm"][:4] < 0.05).all()
    assert frame["p"][4:].isna().all()


def test_the_reference_is_the_one_that_is_named(make_record):
    frame = make_frame([make_record(model=m, accuracy=a) for m, a in (("base", 80.0), ("em", 84.0))], reference="base")
    assert frame["compared_with"].fillna("").tolist() == ["", "Base"]
    assert frame["p_holm"][1] < 0.001
    assert frame["best"].tolist() == [False, True]


def test_a_failed_seed_has_no_figures_over_all_seeds(make_record):
    frame = make_frame([make_record(accuracy=None), make_record(seed=1)])
    columns = ["mean_accuracy", "low", "high", "best", "p"]
    assert frame.iloc[0][columns].isna().all()
    assert frame.iloc[1][columns[:4]].notna().all()


def test_the_wide_form_has_a_row_per_model_and_a_column_per_task(make_record):
    records = [make_record(task, "em", 80.0 + seed, seed=seed) for task in ("WC", "SeLen") for seed in (0, 1)]
    records += [make_record("Tense", "base", 70.0), make_record("Tense", "base", None, data="books")]
    frame = make_wide_frame(records)
    assert frame.index.names == ["data", "preset", "label"]
    assert list(frame.columns) == ["Tense", "SeLen", "WC"]
    assert frame.loc[("mini", "mini", "EM"), "WC"] == pytest.approx(80.5)
    assert pd.isna(frame.loc[("mini", "mini", "EM"), "Tense"])
    assert frame.loc[("mini", "mini", "Base"), "Tense"] == 70.0
    assert frame.loc[("books", "mini", "Base")].isna().all()


@pytest.mark.parametrize(("make", "columns"), [(make_frame, len(COLUMNS)), (make_wide_frame, 0)])
def test_no_records_give_an_empty_frame(make, columns):
    assert make([]).shape == (0, columns)


def test_other_measures_have_their_own_rows_and_columns_in_the_rows_of_accuracies(make_record, change):
    code = DescriptionLength(bits=250.0, uniform_bits=1000.0, compression=4.0, pieces=[])
    records = [make_record(accuracy=80.0 + seed, seed=seed) for seed in (0, 1)]
    records += [change(make_record(accuracy=60.0, seed=seed), measure="random-labels") for seed in (0, 1)]
    records += [change(make_record(accuracy=70.0), measure="description-length", outcome__description=code)]
    records += [make_record("WC")]
    frame = make_frame(records, against_paper=True).set_index("measure")
    assert frame.index.tolist() == ["accuracy"] * 2 + ["random-labels"] * 2 + ["description-length", "accuracy"]
    rows = frame.loc["accuracy"]
    assert rows["control_accuracy"].tolist()[:2] == [60.0, 60.0]
    assert rows["selectivity"].tolist()[:2] == pytest.approx([20.5, 20.5])
    assert rows["compression"].tolist()[:2] == pytest.approx([4.0, 4.0])
    assert rows[["control_accuracy", "selectivity", "codelength", "compression"]].iloc[2].isna().all()
    assert rows[["word_control_accuracy", "word_selectivity"]].isna().all(axis=None)
    others = frame.loc[["random-labels", "description-length"]]
    assert others["test_accuracy"].tolist() == [60.0, 60.0, 70.0]
    assert others[["mean_accuracy", "best", "p", "paper_accuracy"]].isna().all(axis=None)
    assert others["codelength"].tolist()[2:] == [250.0]
    assert others["uniform_codelength"].tolist()[2:] == [1000.0]


def test_the_wide_form_has_accuracies_only(make_record, change):
    records = [make_record(accuracy=80.0), change(make_record(accuracy=60.0), measure="random-labels")]
    assert make_wide_frame(records)["Tense"].tolist() == [80.0]


def test_the_processor_is_a_column_and_missing_in_older_records(make_record):
    named = structs.replace(make_record(), where={"processor": "AMD EPYC", "instruction_set": "AVX2"})
    frame = make_frame([named, make_record(seed=1)])
    assert frame["processor"].tolist()[0] == "AMD EPYC"
    assert frame["instruction_set"].tolist()[0] == "AVX2"
    assert frame[["processor", "instruction_set"]].iloc[1].isna().all()


def test_the_two_controls_have_columns_of_their_own(make_record, change):
    records = [make_record(accuracy=80.0)]
    for measure, accuracy in (("random-labels", 60.0), ("word-labels", 70.0)):
        records.append(change(make_record(accuracy=accuracy), measure=measure, key=measure))
    row = make_frame(records).set_index("measure").loc["accuracy"]
    names = ["control_accuracy", "selectivity", "word_control_accuracy", "word_selectivity"]
    assert row[names].tolist() == [60.0, 20.0, 70.0, 10.0]
