"""The options and commands for many machines: --plan, --shard, `probe merge`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from probing.results.record import Record
from probing.results.store import Store

Probe = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize("shard", ["0/8", "9/8", "3", "3/", "/8", "a/b", "-1/8", "1/8/2", ""])
def test_a_shard_is_one_of_so_many(probe: Probe, shard: str) -> None:
    line = f"probe: --shard must be a number and how many shards there are, such as 3/8. Got {shard!r}\n"
    assert probe("run", "--shard", shard) == (2, "", line)


def test_json_goes_with_a_plan(probe: Probe) -> None:
    line = "probe: --json goes with --plan. For results as JSON, see `probe report --format json`\n"
    assert probe("run", "--json") == (2, "", line)


def test_a_plan_goes_to_stdout(probe: Probe, task_file: Callable[..., Path], tmp_path: Path) -> None:
    results = tmp_path / "results"
    options = ["run", "--task-file", str(task_file()), "--preset", "mini", "--results", str(results), "--plan"]
    code, out, err = probe(*options, "--seeds", "2")
    assert code == 0
    assert "my_task EM seed 1      to run" in out
    assert "6 cells: 0 finished, 6 to run." in out
    assert "data: own" in err
    code, out, _ = probe(*options, "--seeds", "2", "--shard", "3/3", "--json", "-q")
    assert (code, len(json.loads(out)["cells"])) == (0, 2)
    assert not results.exists()


def test_folders_are_merged(probe: Probe, tmp_path: Path, make_record: Callable[..., Record]) -> None:
    first, second, both = (tmp_path / name for name in ("first", "second", "both"))
    Store(first).save(make_record(seed=0))
    Store(second).save(make_record(seed=1))
    merge = ["merge", str(first), str(second), "-o", str(both)]
    assert probe(*merge) == (0, f"{both}: 2 records written, 0 were there already\n", "")
    damaged = Store(second).save(make_record(seed=1))
    damaged.write_text("{", encoding="utf-8")
    code, out, err = probe(*merge)
    assert (code, out) == (1, f"{both}: 0 records written, 2 were there already\n")
    assert err.startswith(f"{damaged}: not a whole JSON file.")
    Store(second).save(make_record(seed=0, accuracy=1.0))
    code, out, err = probe(*merge)
    assert (code, out) == (2, "")
    assert "contradict each other (test accuracy 80.00 and 1.00)" in err.splitlines()[-1]
