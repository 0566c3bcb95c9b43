"""The `probe` command as a user meets it: help, exit codes, one line for each mistake."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import pytest

from probing.commands import main
from probing.experiments.options import Experiment

Probe = Callable[..., tuple[int, str, str]]
FAST = [
    *("--preset", "mini", "--device", "cpu", "--set", "model.model_dim=16", "--set", "model.num_capsules=16"),
    *("--set", "model.feed_forward_dim=16", "--set", "training.max_epochs=1", "--set", "training.min_frequency=1"),
]
GOOD = "".join(f"{split}\t{label}\t{label} and more\n" for split in ("tr", "va", "te") for label in ("A", "B"))


def commands(group: click.Group = main, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


@pytest.mark.parametrize(("path", "command"), list(commands()), ids=lambda value: str(value))
def test_every_command_and_option_is_explained(probe: Probe, path: tuple[str, ...], command: click.Command) -> None:
    code, out, _ = probe(*path, "--help")
    assert code == 0
    assert command.help
    undocumented = [item.name for item in command.params if isinstance(item, click.Option) and not item.help]
    assert undocumented == []
    if command.params:
        assert f"probe {' '.join(path)}" in out.partition("Options:")[0].partition("\n")[2], "help shows an example"


GROUPS = [(), *sorted({path[:-1] for path, _ in commands() if len(path) > 1})]


@pytest.mark.parametrize("path", [*GROUPS, *(path for path, _ in commands())], ids=" ".join)
def test_help_fits_a_terminal_of_80_columns(
    probe: Probe, monkeypatch: pytest.MonkeyPatch, path: tuple[str, ...]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = probe(*path, "--help")
    assert code == 0
    assert [line for line in out.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("command", ["--help", "tasks"])
def test_what_only_lists_imports_nothing_heavy(command: str) -> None:
    program = (
        "import sys\n"
        "from probing.commands import main\n"
        f"try: main(['{command}'])\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'pandas', 'numpy', 'sklearn', 'rich', 'nltk', 'pooch'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_run_then_report_through_the_installed_command(tmp_path: Path) -> None:
    task = tmp_path / "task.tsv"
    task.write_bytes(GOOD.replace("\n", "\r\n").encode())

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(Path(sys.executable).with_name("probe")), *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    first = run("run", "--task-file", "task.tsv", "--aggregator", "all", "--jobs", "1", *FAST)
    assert first.returncode == 0, first.stderr
    assert first.stdout == ""
    assert first.stderr.startswith("data: own (task files task.tsv); preset: mini; device: cpu\n")
    assert "[3/3] task EM seed 0: test " in first.stderr
    second = run("run", "--task-file", "task.tsv", "--aggregator", "all", "--jobs", "1", *FAST)
    assert "3 of 3 cells are already in results and skipped" in second.stderr
    assert first.stderr.endswith("\nThe table: probe report\n")
    table = run("report")
    assert [line.split()[0] for line in table.stdout.splitlines()[3:11:2]] == ["Majority", "Base", "Simple", "EM"]
    rows = json.loads(run("report", "--format", "json").stdout)
    assert [row["model"] for row in rows] == ["base", "em", "simple"]


def test_a_failed_cell_gives_exit_code_1(probe: Probe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("task.tsv").write_text(GOOD, encoding="utf-8")
    Path("broken.py").write_text(
        "from torch import nn\n"
        "class Broken(nn.Module):\n"
        "    def __init__(self, model_dim, num_heads): super().__init__()\n"
        "    def forward(self, heads): return heads.flatten(1) / 0\n",
        encoding="utf-8",
    )
    arguments = ["run", "--task-file", "task.tsv", "--aggregator", "broken.py:Broken", "--aggregator", "base", *FAST]
    code, _, err = probe(*arguments, "--jobs", "1")
    assert code == 1
    assert "failed after" in err
    assert "Base seed 0: test" in err
    _, table, _ = probe("report")
    assert "Note: task Broken seed 0 failed: the loss became" in table


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_ends_with_130_and_says_how_to_go_on(tmp_path: Path, jobs: str) -> None:
    contradiction = "va\tA\tB and more\n"  # else all of dev is soon right, and the training over
    (tmp_path / "task.tsv").write_text(GOOD * 200 + contradiction, encoding="utf-8")
    command = [
        str(Path(sys.executable).with_name("probe")),
        "run",
        "--task-file",
        "task.tsv",
        "--jobs",
        jobs,
        "-v",
        *FAST,
    ]
    process = subprocess.Popen(
        [*command, "--set", "training.max_epochs=100000", "--set", "training.patience=100000"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "epoch 1/" in line:
            break
    time.sleep(0.2)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "stopped: 0 of 3 cells are finished and kept in results. The same command goes on with the rest" in err
    assert "Traceback" not in err


def test_report_writes_a_file_and_describe_prints_json(
    probe: Probe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("task.tsv").write_text(GOOD, encoding="utf-8")
    assert probe("run", "--task-file", "task.tsv", "--aggregator", "base", "-q", *FAST) == (0, "", "")
    assert probe("report", "--format", "latex", "-o", "table.tex")[:2] == (0, "")
    assert Path("table.tex").read_text(encoding="utf-8").splitlines()[1] == r"\begin{table*}[t]"
    code, out, _ = probe("describe", "--aggregator", "em", "--json")
    description = json.loads(out)
    assert code == 0
    assert description["total"] == sum(sum(parts.values()) for parts in description["parameters"].values())
    assert description["shapes"]["votes"] == "(T, H=8, N=512, K=1)"


@pytest.mark.parametrize(
    ("arguments", "seeds"),
    [
        ([], (0,)),
        (["--seeds", "3"], (0, 1, 2)),
        (["--seeds", "1"], (0,)),
        (["--seeds", "4,2"], (4, 2)),
        (["--seeds", "7,"], (7,)),
        (["--seed", "5", "--seed", "6"], (5, 6)),
        (["--seed", "5", "--seeds", "2"], (5, 0, 1)),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_seeds_can_be_counted_listed_or_named(
    probe: Probe, arguments: list[str], seeds: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    from probing.experiments import running

    asked: list[Sequence[int]] = []

    def run(experiment: Experiment, *where: Any) -> running.Summary:
        asked.append(experiment.settings.seeds)
        return running.Summary(0, 0, 0)

    monkeypatch.setattr(running, "run", run)
    assert probe("run", *arguments) == (0, "", "")
    assert asked == [seeds]


def test_two_models_are_compared(probe: Probe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("task.tsv").write_text(GOOD, encoding="utf-8")
    run = ["run", "--task-file", "task.tsv", "--aggregator", "base,em", "--seeds", "2", "-q", "--jobs", "1", *FAST]
    assert probe(*run) == (0, "", "")
    code, out, err = probe("compare", "em", "Base")
    assert (code, err) == (0, "")
    assert "EM against Base. Data: own; preset: mini; seeds 0, 1." in out
    (contest,) = json.loads(probe("compare", "em", "base", "--json")[1])
    assert contest["wins"] + contest["ties"] + contest["losses"] == 1
    assert "differs from Base" in probe("report", "--compare", "base")[1]
    code, _, err = probe("report", "--compare", "bass")
    assert (code, err) == (2, "probe: unknown model 'bass'. Did you mean 'Base'? Known: Base, EM\n")


def test_lists(probe: Probe) -> None:
    assert probe("tasks")[1].count("\n") == 2 + 12
    assert "em-code" in probe("aggregators")[1]
