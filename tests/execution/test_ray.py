"""Cells on a real Ray cluster, whose workers die."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from probing.errors import ProbingError
from probing.execution.ray import RayCluster

pytest.importorskip("ray")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A cluster of this machine, with room for two cells."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = tempfile.mkdtemp(prefix="ray")  # the names of its sockets must be short
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "XDG_CACHE_HOME": str(tmp_path_factory.mktemp("node"))}
    command = f"start --head --block --port {port} --num-cpus 2 --include-dashboard=false --temp-dir {folder}"
    command += f" --node-ip-address 127.0.0.1 --object-store-memory {80 << 20}"
    ray = Path(sys.executable).with_name("ray")
    cluster = subprocess.Popen(
        [ray, *command.split()], env=environment, stdout=subprocess.DEVNULL, start_new_session=True
    )
    for _ in range(600):
        if Path(folder, "session_latest", "sockets", "raylet").exists():
            break
        assert cluster.poll() is None
        time.sleep(0.1)
    yield f"127.0.0.1:{port}"
    os.killpg(cluster.pid, signal.SIGKILL)  # asked to end, it would drain for half a minute
    cluster.wait(30)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.slow
@pytest.mark.usefixtures("_far_away")
def test_a_run_on_a_cluster_gives_what_a_local_one_gives(address: str, check_study: Callable[..., str]) -> None:
    said = check_study(backend="ray", address=address)
    assert f"cells run on the Ray cluster at {address}, with a CPU each" in said
    assert "the process that ran it died; it is run again" in said
    assert re.search(r"epoch \d/3 loss", said), "the display shows how far cells are"


@pytest.mark.slow
def test_mistakes_surface_as_they_are(address: str, study: Any, tmp_path: Path) -> None:
    with pytest.raises(ProbingError) as caught:
        study.run("results", backend="ray", address=address, gpus_per_cell=1.0)
    assert str(caught.value) == "--gpus-per-cell 1: the cluster has 0 GPUs"
    study.marker.touch()
    (tmp_path / "deadly.py").write_text("class Deadly:\n    pass\n", encoding="utf-8")
    with pytest.raises(ProbingError) as caught:
        study.run("results", backend="ray", address=address)
    assert type(caught.value) is ProbingError
    assert "Deadly" in str(caught.value)
    assert "Traceback" not in str(caught.value)


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ProbingError, match=r"--backend ray needs Ray: pip install 'probing\[ray\]'"):  # noqa: SIM117
        with RayCluster("127.0.0.1:6379", 0.0, torch.device("cpu")).open(print, 1, print):
            pass


@pytest.mark.slow
def test_no_code_of_the_current_folder_is_run(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = tmp_path / "imported"
    (tmp_path / "hostile_module.py").write_text(f"open({str(mark)!r}, 'w').close()\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    def run(work: Any, device: Any, on_status: Any) -> Any:
        import importlib.util

        return importlib.util.find_spec("hostile_module") is not None

    class Work:
        def files(self) -> dict[str, Path]:
            return {}

        def moved(self, files: Any) -> Any:
            return self

    with RayCluster(address, 0.0, torch.device("cpu")).open(run, 1, print) as slots:
        assert slots.submit(Work()).result() is False  # type: ignore[comparison-overlap]
    assert Path.cwd() == tmp_path
