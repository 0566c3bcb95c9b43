"""A cluster that cannot be reached is told within seconds; on a node one cell runs at a time."""

from __future__ import annotations

import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from probing.display import Status
from probing.errors import ProbingError
from probing.execution import node
from probing.execution.node import check_reachable, run_on_node

CPU = torch.device("cpu")


class FakeShipment:
    """Unpacks to the content that its one file has."""

    def unpack(self, fetch: Any) -> Any:
        return fetch("handle")


def test_nobody_answers() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(ProbingError) as caught:
            check_reachable("ray", address, port=6379)
        assert str(caught.value) == (
            f"--backend ray: nobody answers at {address} (Connection refused). Is the cluster running?"
        )
        free.listen()
        check_reachable("ray", address, port=6379)
        check_reachable("dask", f"tcp://{address}", port=8786)


@pytest.mark.parametrize("address", ["", "tcp://", "host:port", ":6379", "host:99999999"])
def test_what_is_no_address(address: str) -> None:
    with pytest.raises(ProbingError) as caught:
        check_reachable("ray", address, port=6379)
    assert str(caught.value) == f"--address must be HOST:PORT, as in 10.0.0.1:6379. Got {address!r}"


def test_cells_of_one_process_take_turns() -> None:
    inside, most = [], []

    def run_cell(cell: Any, device: torch.device, on_status: Any) -> tuple[Any, int]:
        inside.append(cell)
        most.append(len(inside))
        threading.Event().wait(0.01)
        inside.remove(cell)
        return cell, torch.get_num_threads()

    def run(number: int) -> Any:
        return run_on_node(run_cell, FakeShipment(), CPU, lambda handle: number, print)  # type: ignore[arg-type]

    threads = torch.get_num_threads()
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(run, range(8))) == [(number, 1) for number in range(8)]
    torch.set_num_threads(threads)
    assert set(most) == {1}


def test_statuses_are_told_seldom_but_the_ends_of_epochs_always(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Status] = []
    clock = [100.0]
    monkeypatch.setattr(node, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    tell = node._limit_rate(told.append)
    for now, fraction, ended in ((100.0, 0.1, False), (100.1, 0.2, False), (100.2, 0.3, True), (100.8, 0.9, False)):
        clock[0] = now
        tell(Status(work="cell", fraction=fraction, milestone=ended))
    assert [status.fraction for status in told] == [0.1, 0.3, 0.9]


@pytest.mark.parametrize(
    ("name", "answer", "problem"),
    [
        ("probing", None, "cannot import probing. Install the same version there, 0.1.0"),
        ("probing", "0.0.9", "has probing 0.0.9, the run has 0.1.0. Install the same version on both"),
        ("torch", "2.1.0+cu121", "has torch 2.1.0+cu121, the run has "),
        ("torch", OSError("no libcuda"), "cannot import torch: OSError: no libcuda. Install the same "),
    ],
)
def test_a_machine_with_another_version_is_named(name: str, answer: Any, problem: str) -> None:
    sound = {other: {"worker a": version, "worker b": version} for other, version in node.VERSIONS.items()}
    node.check_versions("dask", sound)
    with pytest.raises(ProbingError) as caught:
        node.check_versions("dask", sound | {name: sound[name] | {"worker b": answer}})
    assert str(caught.value).startswith(f"--backend dask: worker b of the cluster {problem}")


def test_builds_of_one_version_are_the_same() -> None:
    version = node.VERSIONS["torch"].partition("+")[0]
    for build in ("", "+cpu", "+cu128"):
        node.check_versions(
            "ray", {name: {"a": version + build if "torch" in name else found} for name, found in node.VERSIONS.items()}
        )
