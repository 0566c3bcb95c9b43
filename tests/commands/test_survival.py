"""`probe run` is killed at random moments, started again each time, and ends as if nothing had happened.

`python -m pytest tests/test_survival.py --kills 50 --timeout 0 -s` kills it more often than a test should.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from probing.display import Display, Status
from probing.errors import ProbingError
from probing.experiments import running
from probing.results.store import Store
from tests import studies

PROBE = Path(sys.executable).with_name("probe")
SIZES = {"model_dim": 16, "num_heads": 2, "num_capsules": 8, "feed_forward_dim": 16, "head_dim": 16, "num_layers": 1}
CODES = {signal.SIGKILL: -signal.SIGKILL, signal.SIGTERM: 143, signal.SIGINT: 130}

Start = Callable[..., subprocess.Popen[str]]


def make_settings(epochs: int) -> list[str]:
    sizes = [f"model.{name}={value}" for name, value in SIZES.items()]
    return [
        *sizes,
        f"training.max_epochs={epochs}",
        f"training.patience={epochs}",
        "training.min_frequency=1",
        "training.min_epoch_steps=1",
    ]


@pytest.fixture(scope="module")
def kills(request: pytest.FixtureRequest) -> int:
    return int(request.config.getoption("--kills"))


@pytest.fixture(scope="module")
def epochs(kills: int) -> int:
    """Of each of the two cells: more than the kills let pass."""
    return 10 + 2 * kills


@pytest.fixture(scope="module")
def task_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A task of which nobody can learn more than half, so that no training ends early."""
    draw = random.Random(0)
    lines = [
        f"{split}\t{label}\t{' '.join(draw.choices('abcdefgh', k=draw.randint(1, 6)))} {draw.choice([label, 'MAYBE'])}"
        for split, size in (("tr", 150), ("va", 25), ("te", 25))
        for label in ("YES", "NO")
        for _ in range(size)
    ]
    path = tmp_path_factory.mktemp("task") / "answers.tsv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def start(task_file: Path, epochs: int) -> Start:
    """Return a function that starts a run of two cells, as the leader of a group of processes."""

    def begin(results: Path, *options: str) -> subprocess.Popen[str]:
        command = [PROBE, "run", "--task-file", task_file, "--aggregator", "base,em", "--preset", "mini", "-v"]
        command += ["--device", "cpu", "--results", results, *options]
        command += [part for setting in make_settings(epochs) for part in ("--set", setting)]
        return subprocess.Popen(
            [str(part) for part in command],
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # the background of a shell ignores it
        )

    return begin


@pytest.fixture(scope="module")
def undisturbed(start: Start, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    results = tmp_path_factory.mktemp("undisturbed")
    finish(start(results, "--jobs", "1"))
    return read_records(results)


def finish(process: subprocess.Popen[str], code: int = 0) -> str:
    """Wait for a process and all that it started, and return what it said."""
    said = process.communicate(timeout=600)[1]
    assert process.returncode == code, said
    deadline = time.monotonic() + 30
    while left := list(find_session(process.pid)):
        assert time.monotonic() < deadline, f"processes {left} outlive the run"
        time.sleep(0.05)
    return said


def find_session(session: int) -> Iterator[int]:
    """Yield the living processes of a session."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            yield int(folder.name)


def read_records(results: Path) -> list[dict[str, Any]]:
    """Return what must be the same in any run of the same cells."""
    records = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(results.glob("*.json"))]
    for record in records:
        del record["timing"]
    return records


def wait_for_epochs(process: subprocess.Popen[str], count: int) -> None:
    """Return when so many more epochs have ended, or the process has."""
    assert process.stderr is not None
    for line in process.stderr:
        count -= ": epoch " in line
        if count <= 0:
            return


@pytest.mark.slow
@pytest.mark.parametrize(
    "numbers", [[signal.SIGKILL], [signal.SIGTERM, signal.SIGINT]], ids=["SIGKILL", "SIGTERM and SIGINT"]
)
def test_a_run_that_is_killed_again_and_again_ends_as_if_nothing_had_happened(
    tmp_path: Path, start: Start, undisturbed: list[dict[str, Any]], kills: int, numbers: list[signal.Signals]
) -> None:
    """Every other time it has workers, which get the signal too if it is Ctrl-C."""
    draw = random.Random(str(numbers))
    inside, longest = 0, 0.0
    for kill in range(kills):
        number, jobs = numbers[kill % len(numbers)], 1 + kill // len(numbers) % 2
        process = start(tmp_path, "--jobs", str(jobs))
        if number == signal.SIGKILL and draw.random() < 0.2:
            time.sleep(draw.uniform(0, 4))  # while it starts
        else:
            wait_for_epochs(process, draw.randint(1, 5))
            time.sleep(draw.uniform(0, 0.2))
        assert process.poll() is None, "too few epochs for so many kills"
        (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
        began = time.monotonic()
        said = finish(process, CODES[number])
        longest = max(longest, time.monotonic() - began)
        assert "Traceback" not in said
        inside += any((tmp_path / "checkpoints").glob("*/*.safetensors"))
        sys.stdout.write(f"\r{kill + 1} kills, {inside} inside a cell, gone after {longest:.1f} s at most ")
        sys.stdout.flush()
    finish(start(tmp_path, "--jobs", "1"))
    assert inside > 0
    assert read_records(tmp_path) == undisturbed
    records = sorted(tmp_path.glob("own--*.json"))
    assert sorted(tmp_path.iterdir()) == records, "nothing else is left"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], capture_output=True, text=True, check=False
    )
    if mount.returncode:
        pytest.skip(f"cannot mount: {mount.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def run(
    task_file: Path, epochs: int, results: Path, aggregators: Sequence[str] = ("base", "em"), **options: Any
) -> running.Summary:
    """Do in this process what `start` does in another."""
    defaults: dict[str, Any] = {"preset": "mini", "device": "cpu", "jobs": 1, "display": Display(verbosity=-1)}
    return studies.run(
        aggregators=aggregators,
        task_files=[task_file],
        settings=make_settings(epochs),
        results=results,
        **defaults | options,
    )


class Impatient(Display):
    """Stops a run after so many statuses."""

    patience = 0

    def update(self, status: Status) -> None:
        self.patience -= 1
        if self.patience == 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize(
    "options",
    [
        {"aggregators": ["em"], "controls": ["random-labels"]},
        {"aggregators": ["base"], "mdl": True},
        {"aggregators": ["em"], "controls": ["random-encoder"]},
        {"aggregators": [], "encoders": ["transformer"], "fine_tune": True},
        {"aggregators": [], "encoders": ["length"], "probe": "linear"},
    ],
    ids=lambda options: "-".join(key for key in options if key != "aggregators"),
)
def test_every_kind_of_cell_goes_on(task_file: Path, tmp_path: Path, options: dict[str, Any]) -> None:
    expected = run(task_file, 3, tmp_path / "whole", **options)
    display = Impatient(verbosity=-1)
    for stop in range(40):
        display.patience = 3 + stop
        try:
            summary = run(task_file, 3, tmp_path / "stopped", display=display, **options)
            break
        except KeyboardInterrupt:
            continue
    assert stop > 0
    assert summary.finished + summary.skipped == expected.finished
    assert read_records(tmp_path / "stopped") == read_records(tmp_path / "whole")
    assert not (tmp_path / "stopped" / "checkpoints").exists()


def test_a_disk_with_no_room_for_checkpoints(
    task_file: Path, disk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(task_file, 3, tmp_path / "elsewhere")
    (disk / "filler").write_bytes(bytes(32 << 10))
    assert run(task_file, 3, disk).finished == 2
    said = capsys.readouterr().err
    assert said.count("no checkpoint can be written (") == 2, "once for each cell"
    assert "No space left on device" in said
    assert read_records(disk) == read_records(tmp_path / "elsewhere")


def test_a_full_disk_loses_nothing_that_was_whole(task_file: Path, disk: Path, tmp_path: Path) -> None:
    run(task_file, 3, tmp_path / "elsewhere")
    run(task_file, 3, disk, ["base"])
    (whole,) = disk.glob("own--*.json")
    before = whole.read_bytes()
    filler = disk / "filler"
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass
    with pytest.raises(ProbingError, match="No space left on device"):
        run(task_file, 3, disk)
    assert whole.read_bytes() == before
    filler.unlink()
    assert run(task_file, 3, disk) == running.Summary(finished=1, skipped=1, failed=0)
    assert read_records(disk) == read_records(tmp_path / "elsewhere")


def test_a_results_folder_that_is_read_only(task_file: Path, disk: Path) -> None:
    run(task_file, 3, disk, ["base"])
    (whole,) = disk.glob("own--*.json")
    before = whole.read_bytes()
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    with pytest.raises(ProbingError, match=r"results cannot be written there \(Read-only file system\)"):
        run(task_file, 3, disk)
    assert whole.read_bytes() == before


def test_a_record_that_was_cut_in_half_is_made_again(task_file: Path, tmp_path: Path) -> None:
    run(task_file, 3, tmp_path)
    whole, other = (path.read_bytes() for path in sorted(tmp_path.glob("own--*.json")))
    path = min(tmp_path.glob("own--*.json"))
    path.write_bytes(whole[: len(whole) // 2])
    damaged: list[str] = []
    assert len(Store(tmp_path).load(damaged.append)) == 1
    assert damaged == [f"{path}: not a whole JSON file. Delete it and run the cell again"]
    assert run(task_file, 3, tmp_path) == running.Summary(finished=1, skipped=1, failed=0)
    assert max(tmp_path.glob("own--*.json")).read_bytes() == other
    assert len(Store(tmp_path).load(damaged.append)) == 2
