"""Files go to other machines once, are checked there, and are not sent where they can be seen."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from probing.display import Display
from probing.encoders.vector_cache import VectorEntry
from probing.errors import ProbingError
from probing.execution import shipping
from probing.execution.shipping import Packer, Parcel
from probing.experiments.cells import Cell
from probing.experiments.fitting import FineTuned, Probed, Trained
from probing.experiments.frozen_vectors import FrozenVectors
from tests import studies

PLUGIN = "from torch import nn\nclass Mine(nn.Module):\n    pass\n"


class Cluster:
    """Keeps contents, and counts how often each was handed over and fetched."""

    def __init__(self) -> None:
        self.contents: list[bytes] = []
        self.fetched: list[int] = []

    def put(self, content: bytes) -> int:
        self.contents.append(content)
        return len(self.contents) - 1

    def fetch(self, handle: int) -> bytes:
        self.fetched.append(handle)
        return self.contents[handle]


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def choose(task_file: Callable[..., Path], tmp_path: Path) -> Callable[..., list[Cell]]:
    """Return a function that makes the cells of a run."""
    (tmp_path / "mine.py").write_text(PLUGIN, encoding="utf-8")
    path = task_file()

    def make(**options: Any) -> list[Cell]:
        chosen = studies.plan_cells(task_files=[path], preset="mini", device="cpu", **options)
        return chosen.cells

    return make


def move_away(path: Path) -> Path:
    return path.rename(path.with_suffix(".away"))


def test_a_file_that_is_seen_is_not_sent(choose: Callable[..., list[Cell]], cluster: Cluster) -> None:
    (cell,) = choose(aggregators=["base"])
    assert Packer(cluster.put).pack(cell).unpack(cluster.fetch) == dataclasses.replace(cell, path=cell.path.resolve())
    assert cluster.fetched == []


def test_a_file_is_handed_over_once_and_fetched_once(choose: Callable[..., list[Cell]], cluster: Cluster) -> None:
    cells = choose(aggregators=["base"], seeds=[0, 1, 2])
    content = cells[0].path.read_bytes()
    packer = Packer(cluster.put)
    shipments = [packer.pack(cell) for cell in cells]
    assert cluster.contents == [content]
    move_away(cells[0].path)
    places = [shipment.unpack(cluster.fetch).path for shipment in shipments]
    assert cluster.fetched == [0]
    assert len(set(places)) == 1
    assert (places[0].name, places[0].read_bytes()) == (cells[0].path.name, content)


def test_a_file_of_the_same_name_with_other_content_is_not_taken(
    choose: Callable[..., list[Cell]], cluster: Cluster
) -> None:
    (cell,) = choose(aggregators=["base"])
    content = cell.path.read_bytes()
    shipment = Packer(cluster.put).pack(cell)
    cell.path.write_bytes(content + b"te\tA\tmore\n")
    assert shipment.unpack(cluster.fetch).path.read_bytes() == content


def test_a_lost_file_is_handed_over_again(choose: Callable[..., list[Cell]], cluster: Cluster) -> None:
    (cell,) = choose(aggregators=["base"])
    packer = Packer(cluster.put, is_there=lambda handle: handle > 0)
    assert [packer.pack(cell).parcels["task"].handle for _ in range(3)] == [0, 1, 1]


def test_a_content_that_changed_on_the_way_is_refused(tmp_path: Path) -> None:
    parcel = Parcel(tmp_path / "task.txt", "0" * 64, None)
    with pytest.raises(ProbingError, match=r"task.txt: the file changed while the run went on"):
        parcel.open(lambda handle: b"other")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("fine_tune", [False, True])
def test_a_plugin_goes_along(
    choose: Callable[..., list[Cell]], cluster: Cluster, tmp_path: Path, fine_tune: bool
) -> None:
    spec = f"{tmp_path / 'mine.py'}:Mine"
    (cell,) = choose(encoders=[spec], fine_tune=True) if fine_tune else choose(aggregators=[spec])
    shipment = Packer(cluster.put).pack(cell)
    move_away(tmp_path / "mine.py")
    moved = shipment.unpack(cluster.fetch)
    assert isinstance(moved.method, FineTuned if fine_tune else Trained)
    source, _, name = (moved.method.encoder if fine_tune else moved.method.aggregator).rpartition(":")
    assert (Path(source).read_text(encoding="utf-8"), name) == (PLUGIN, "Mine")
    assert moved.key == cell.key


def test_vectors_go_along(choose: Callable[..., list[Cell]], cluster: Cluster, tmp_path: Path) -> None:
    vectors = tmp_path / "vectors.npz"
    np.savez(vectors, my_task=np.arange(8.0, dtype=np.float32).reshape(4, 2))
    options = {"encoders": [f"precomputed:{vectors}"], "task_files": [choose(aggregators=["base"])[0].path]}
    chosen = studies.plan_cells(preset="mini", device="cpu", **options)
    display = Display(verbosity=-1)
    FrozenVectors(recipes=chosen.recipes, device=chosen.device, display=display).provide(chosen.cells)
    (cell,) = chosen.cells
    assert isinstance(cell.method, Probed)
    before = cell.method.vectors.open(None)
    shipment = Packer(cluster.put).pack(cell)
    move_away(cell.method.vectors.folder)
    moved = shipment.unpack(cluster.fetch)
    assert isinstance(moved.method, Probed)
    assert isinstance(moved.method.vectors, VectorEntry)
    assert {name: rows.tolist() for name, rows in moved.method.vectors.open(None).items()} == {
        name: rows.tolist() for name, rows in before.items()
    }
    assert moved.key == cell.key


def test_another_version_is_refused(
    choose: Callable[..., list[Cell]], cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipment = Packer(cluster.put).pack(choose(aggregators=["base"])[0])
    monkeypatch.setattr(shipping, "__version__", "99")
    with pytest.raises(ProbingError, match=r"the run has probing .*, a machine of the cluster 99"):
        shipment.unpack(cluster.fetch)


def test_a_file_in_anothers_home_is_fetched(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "task.tsv").write_bytes(b"content")
    parcel = Packer(cluster.put)._wrap(tmp_path / "task.tsv")

    def forbid(path: Path, *arguments: Any, **options: Any) -> Any:
        if path == tmp_path / "task.tsv":
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *arguments, **options)

    opened = Path.open
    monkeypatch.setattr(Path, "open", forbid)
    assert parcel.open(cluster.fetch).read_bytes() == b"content"
    assert cluster.fetched == [0]


def test_a_machine_whose_cache_cannot_be_written_says_so(
    cluster: Cluster, cache_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cache_home / "file").write_text("not a folder", encoding="utf-8")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_home / "file"))
    with pytest.raises(
        ProbingError, match=r"shipped: files cannot be written \(Not a directory\). Make room or set XDG"
    ):
        Parcel(Path("/no/such/file"), "0" * 64, 0).open(cluster.fetch)
