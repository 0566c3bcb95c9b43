"""Work in several processes: the order, errors, interruptions, and no code of the current folder."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from probing.corpus.processes import map_in_order
from probing.errors import ProbingError


def square(number: int) -> tuple[int, int]:
    if number == 13:
        raise ProbingError("thirteen")
    return number * number, os.getpid()


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_come_in_order(jobs: int) -> None:
    results = list(map_in_order(square, range(12), jobs=jobs))
    assert [result for result, _ in results] == [number * number for number in range(12)]
    assert ({pid for _, pid in results} == {os.getpid()}) == (jobs == 1)


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_comes_at_its_place(jobs: int) -> None:
    results = map_in_order(square, range(20), jobs=jobs)
    assert [result for result, _ in islice(results, 13)] == [number * number for number in range(13)]
    with pytest.raises(ProbingError, match="thirteen"):
        next(results)


def test_items_are_taken_as_they_are_needed() -> None:
    taken = []

    def items() -> Iterator[int]:
        for number in range(12):
            taken.append(number)
            yield number

    results = map_in_order(square, items(), jobs=2)
    next(results)
    assert len(taken) < 12
    results.close()


def test_no_code_of_the_current_folder_is_run(tmp_path: Path) -> None:
    for name in ("joblib", "threading", "signal", "marshal"):
        (tmp_path / f"{name}.py").write_text("open('executed', 'w').close()\n", encoding="utf-8")
    trees = "(S (NP (DT The) (NN dog)) (VP (VBD saw) (NP (DT the) (NN cat))) (. .))\n" * 50
    (tmp_path / "trees.mrg").write_text(trees, encoding="utf-8")
    probe = Path(sys.executable).with_name("probe")
    sizes = ["--train", "10", "--dev", "2", "--test", "2"]
    command = [probe, "data", "build", "--trees", "trees.mrg", "--jobs", "2", "--output", "out", *sizes]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode in (0, 1), result.stderr
    assert (tmp_path / "out" / "datasheet.md").is_file()
    assert not (tmp_path / "executed").exists()


def test_its_processes_are_not_those_of_training() -> None:
    """joblib ends a process whose memory grows by much after its first work, and torch alone is so much."""
    from joblib.externals.loky import get_reusable_executor

    from probing.signals import end_with

    assert list(map_in_order(abs, [-1, -2], jobs=2)) == [1, 2]
    ours = get_reusable_executor(reuse=True)
    theirs = get_reusable_executor(2, timeout=300, initializer=end_with, initargs=(os.getpid(),))
    assert ours is not theirs
    theirs.shutdown()
