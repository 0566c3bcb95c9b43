"""`probe run --encoder`, `probe encoders` and `probe cache` as a user meets them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Probe = Callable[..., tuple[int, str, str]]
GOOD = "".join(
    f"{split}\t{label}\t{' '.join([label] * size)}\n"
    for split in ("tr", "va", "te")
    for label, size in (("A", 2), ("B", 5))
    for _ in range(4)
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("task.tsv").write_text(GOOD, encoding="utf-8")


def test_an_encoder_is_run_reported_cached_and_cleared(probe: Probe) -> None:
    run = ("run", "--task-file", "task.tsv", "--encoder", "length", "--probe", "linear", "--device", "cpu")
    code, out, err = probe(*run)
    assert (code, out) == (0, "")
    assert "task Length: 24 sentences embedded, 0s" in err
    assert "[1/1] task Length seed 0: test 100.00" in err
    assert "Length" in probe("report")[1]
    assert "1 of 1 cells are already in results and skipped" in probe(*run)[2]
    renamed = [argument.replace("length", "My words=length") for argument in run]
    assert "1 of 1 cells are already in results and skipped" in probe(*renamed)[2]
    assert [line.split("  ")[0] for line in probe("report")[1].splitlines() if "100.00" in line] == ["My words"]
    assert probe("cache", "list")[1].splitlines()[2].split()[:6] == ["length", "task", "24", "1", "1", "float32"]
    assert probe("cache", "clear", "--encoder", "length")[1].startswith("1 entries deleted, 0.0 MB")
    vectors, _, _ = probe("cache", "list")[1].partition("\n\n")  # compiled kernels may follow
    assert len(vectors.splitlines()) == 2


def test_encoders_are_listed(probe: Probe) -> None:
    lines = probe("encoders")[1].splitlines()
    assert lines[2].startswith("bag-of-words")
    assert lines[-3].startswith("module:Name, file.py:Name")
    assert lines[-2].startswith("file.py:Name?path=x&dim=3")
    assert lines[-1].startswith("NAME=SPEC ")
