"""Cells on a real Dask cluster, whose workers die."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from probing.display import Display, Status
from probing.errors import ProbingError
from probing.execution.dask import DaskCluster
from tests.studies import make_settings

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A cluster of two processes of this machine, each with two threads, of which a cell must use one."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=2, processes=True, dashboard_address=":0", silence_logs=50
    ) as cluster:
        yield cluster.scheduler_address


@pytest.mark.slow
@pytest.mark.usefixtures("_far_away")
def test_a_run_on_a_cluster_gives_what_a_local_one_gives(address: str, check_study: Callable[..., str]) -> None:
    said = check_study(backend="dask", address=address)
    assert f"cells run on the Dask cluster at {address}, one per worker process" in said
    assert re.search(r"epoch \d/3 loss", said), "the display shows how far cells are"


@pytest.mark.slow
def test_mistakes_surface_as_they_are(address: str, study: Any) -> None:
    with pytest.raises(ProbingError) as caught:
        study.run("results", backend="dask", address=address, gpus_per_cell=1.0)
    assert str(caught.value) == (
        "--gpus-per-cell 1: no worker of the cluster offers that. Start them as `dask worker --resources GPU=1`"
    )
    study.marker.touch()
    (study.folder / "deadly.py").write_text("class Deadly:\n    pass\n", encoding="utf-8")
    with pytest.raises(ProbingError) as caught:
        study.run("results", backend="dask", address=address)
    assert type(caught.value) is ProbingError
    assert "Deadly" in str(caught.value)


BLOCK = """
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "probing":
            raise ModuleNotFoundError("No module named 'probing'", name="probing")

sys.meta_path.insert(0, Block())
"""


@pytest.fixture
def start_cluster(tmp_path: Path) -> Iterator[Callable[..., tuple[str, subprocess.Popen[bytes]]]]:
    """Return a function that starts a scheduler and a worker; it gives the address and the scheduler's process."""
    processes: list[subprocess.Popen[bytes]] = []

    def start(python_path: str = "") -> tuple[str, subprocess.Popen[bytes]]:
        place = tmp_path / "scheduler.json"
        where = ["--scheduler-file", place, "--no-dashboard"]
        programs = (["dask_scheduler", "--port", "0", *where], ["dask_worker", "--nthreads", "1", "--no-nanny", *where])
        for program, *options in programs:
            command = [sys.executable, "-m", f"distributed.cli.{program}", *options]
            environment = {**os.environ, "PYTHONPATH": python_path}
            with (tmp_path / f"{program}.log").open("wb") as log:
                processes.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=tmp_path))
            while not place.exists():
                assert processes[0].poll() is None
                time.sleep(0.05)
        return json.loads(place.read_text())["address"], processes[0]

    yield start
    for process in processes:
        process.kill()
        process.wait()


@pytest.mark.slow
def test_a_cluster_without_probing_is_named_at_once(
    tmp_path: Path, study: Any, start_cluster: Callable[..., tuple[str, Any]]
) -> None:
    """Dask itself would try for ever, or fail with a traceback."""
    (tmp_path / "block").mkdir()
    (tmp_path / "block" / "sitecustomize.py").write_text(BLOCK, encoding="utf-8")
    address, _ = start_cluster(str(tmp_path / "block"))
    with pytest.raises(ProbingError) as caught:
        study.run("results", backend="dask", address=address)
    assert re.fullmatch(
        r"--backend dask: (worker \S+|the scheduler) of the cluster cannot import probing. "
        r"Install the same version there, \S+",
        str(caught.value),
    )
    assert not (study.folder / "results").exists()


class Murderous(Display):
    """Kills the scheduler as soon as a cell runs."""

    scheduler: Any = None

    def update(self, status: Status) -> None:
        self.scheduler.kill()
        super().update(status)


@pytest.mark.slow
def test_a_scheduler_that_dies_in_the_middle_ends_the_run_in_one_line(
    study: Any, start_cluster: Callable[..., tuple[str, Any]], capfd: pytest.CaptureFixture[str]
) -> None:
    study.marker.touch()  # no worker is killed
    address, scheduler = start_cluster()
    display = Murderous(verbosity=-1)
    display.scheduler = scheduler
    options: dict[str, Any] = {"settings": make_settings(max_epochs=100_000), "display": display}
    with pytest.raises(ProbingError) as caught:
        study.run("results", backend="dask", address=address, **options)
    assert str(caught.value) == (
        f"--backend dask: the scheduler at {address} has gone. Finished cells and checkpoints are kept: start it, "
        "then the same command again"
    )
    assert "Traceback" not in capfd.readouterr().err
    assert not (study.folder / "results" / ".leases").exists()


def test_without_dask_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ProbingError, match=r"--backend dask needs Dask: pip install 'probing\[dask\]'"):  # noqa: SIM117
        with DaskCluster("127.0.0.1:8786", 0.0, torch.device("cpu")).open(print, 1, print):
            pass


@pytest.mark.slow
def test_a_run_that_ends_stops_its_cells(address: str, tmp_path: Path) -> None:
    begun, ended = tmp_path / "begun", tmp_path / "ended"

    def run_cell(cell: Any, device: torch.device, on_status: Callable[[Status], None]) -> None:
        begun.touch()
        try:
            for _ in range(1200):
                on_status(Status(work="cell", fraction=0.5, milestone=True))
                time.sleep(0.05)
        except Exception as error:
            ended.write_text(type(error).__name__, encoding="utf-8")
            raise

    class Parcels:
        def unpack(self, fetch: Any) -> None:
            return None

    def wait_for(path: Path) -> None:
        for _ in range(600):
            if path.exists():
                return
            time.sleep(0.1)
        raise AssertionError(f"there is no {path.name}")

    with DaskCluster(address, 0.0, torch.device("cpu")).open(run_cell, 1, lambda status: None) as slots:
        slots.packer.pack = lambda cell: Parcels()  # type: ignore[attr-defined]
        slots.submit(None)
        wait_for(begun)
    wait_for(ended)
    assert ended.read_text(encoding="utf-8") == "CancelledCellError"
