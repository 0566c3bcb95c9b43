"""The cells of a run: their order, their shards, and the files that they are made of."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from probing.errors import ProbingError
from probing.experiments.options import SettingOptions
from probing.experiments.running import Summary
from tests import studies
from tests.studies import load, make_settings, write_answers

start = partial(studies.start, aggregators=["em"])


@pytest.fixture
def task_file(tmp_path: Path) -> Path:
    return write_answers(tmp_path)


def test_cells_come_seed_by_seed(task_file: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"task_files": [task_file], "preset": "mini", "settings": make_settings()}
    options |= {"results": tmp_path}
    planned = studies.plan(aggregators=["base", "simple"], seeds=[1, 0, 1], **options)
    assert [item.cell for item in planned.cells] == [
        "answers Base seed 1",
        "answers Simple seed 1",
        "answers Base seed 0",
        "answers Simple seed 0",
    ]


def test_shards_are_fixed_parts_that_make_the_whole(task_file: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "task_files": [task_file],
        "settings": make_settings(),
        "preset": "mini",
        "seeds": range(7),
    }
    options |= {"results": tmp_path}
    whole = [item.record for item in studies.plan(**options).cells]
    parts = [[item.record for item in studies.plan(shard=(number, 4), **options).cells] for number in (1, 2, 3, 4)]
    assert sorted(record for part in parts for record in part) == sorted(whole)
    assert [len(part) for part in parts] == [6, 5, 5, 5]
    for part in parts:
        assert part == [record for record in whole if record in part]
    mine = options | {"shard": (2, 4), "seeds": [0, 1], "jobs": 1}
    assert studies.run(**mine) == Summary(finished=2, skipped=0, failed=0)
    assert studies.run(**mine) == Summary(finished=0, skipped=2, failed=0)


def test_senteval_files_that_are_not_the_published_ones_are_named(
    task_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "past_present.txt").write_bytes(task_file.read_bytes())
    results = tmp_path / "results"
    start(task_file, results, task_files=[], tasks=["Tense"], data_dir=tmp_path)
    assert "is not SentEval's published file" in " ".join(capsys.readouterr().err.split())
    (result,) = load(results)
    assert (result.identity.data.name, result.identity.data.verified) == ("senteval", False)


def test_everything_is_checked_before_anything_is_trained(task_file: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.tsv"
    bad.write_text("tr\tYES\n", encoding="utf-8")
    with pytest.raises(ProbingError, match=r"bad.tsv:1: expected 3 tab-separated fields, got 2"):
        start(task_file, tmp_path / "results", task_files=[task_file, bad])
    assert not list((tmp_path / "results").glob("*.json"))


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_has_32_bits(seed: int) -> None:
    with pytest.raises(ProbingError, match=f"a seed must be a whole number from 0 to 4294967295. Got {seed}"):
        SettingOptions(seeds=[seed])
