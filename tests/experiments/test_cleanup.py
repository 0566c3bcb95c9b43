from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

from probing.errors import ProbingError
from probing.execution.leases import Leases
from probing.experiments.cleanup import clear_leftovers, describe_leftovers, sweep_leftovers
from probing.results.record import Record
from probing.results.store import Store
from probing.storage import temporary
from probing.storage.cache import cache_folder
from probing.training.checkpoints import checkpoint_folder

Probe = Callable[..., tuple[int, str, str]]


@pytest.fixture
def results(tmp_path: Path, make_record: Callable[..., Record]) -> Path:
    """Return a results folder with the checkpoints of a finished, a stopped and a running cell."""
    store = Store(tmp_path / "results")
    for seed in range(3):
        result = make_record(seed=seed, key=f"{seed}" * 64)
        if seed == 0:
            store.save(result)
        folder = checkpoint_folder(result.path(store.folder))
        folder.mkdir(parents=True)
        (folder / "training.safetensors").write_bytes(bytes(1_000_000 * (seed + 1)))
    return store.folder


@pytest.fixture(autouse=True)
def _cached() -> None:
    for kind, name in (("explained", "e"), ("shipped", "s")):
        folder = cache_folder(kind) / name
        folder.mkdir(parents=True)
        (folder / "file").write_bytes(bytes(500_000))
    for library in cache_folder("kernels").iterdir():
        library.unlink()
    (cache_folder("kernels") / "routing-0-0.so").write_bytes(bytes(400_000))


def test_all_that_is_kept_is_listed_and_deleted(results: Path) -> None:
    leases = Leases.of(results)
    leases.take("2" * 64)
    first, second = (f"mini--Tense--em--mini--seed{seed}--{f'{seed}' * 12}" for seed in range(2))
    assert describe_leftovers(results) == [
        ("checkpoints", "cell that was stopped", 2.0, second),
        ("checkpoints", "cell with a record", 1.0, first),
        ("explained", "model of an explanation", 0.5, "e"),
        ("shipped", "file of a run on a cluster", 0.5, "s"),
        ("kernels", "compiled library", 0.4, "routing-0-0.so"),
    ]
    assert clear_leftovers(["kernels"], results) == (1, 400_000)
    assert not list(cache_folder("kernels").iterdir())
    assert clear_leftovers(["shipped"], results) == (1, 500_000)
    assert not list(cache_folder("shipped").iterdir())
    assert clear_leftovers(["explained", "checkpoints"], results) == (3, 3_500_000)
    assert [path.name[-12:] for path in (results / "checkpoints").iterdir()] == ["2" * 12]
    leases.close()
    assert clear_leftovers(["checkpoints"], results) == (1, 3_000_000)
    assert [path.suffix for path in results.iterdir()] == [".json"]
    assert describe_leftovers(results) == []


def test_a_link_is_deleted_and_not_followed(results: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").write_bytes(b"precious")
    link = results / "checkpoints" / "mini--Tense--em--mini--seed9--999999999999"
    link.symlink_to(elsewhere)
    clear_leftovers(["checkpoints"], results)
    assert not link.is_symlink()
    (results / "checkpoints").symlink_to(elsewhere)
    (elsewhere / "a--b").mkdir()
    with pytest.raises(ProbingError, match="checkpoints: a link or a file in place of a folder"):
        clear_leftovers(["checkpoints"], results)
    assert sorted(path.name for path in elsewhere.iterdir()) == ["a--b", "precious"]


def test_what_is_being_fetched_stays(results: Path) -> None:
    with (
        FileLock(f"{cache_folder('shipped') / 's'}.lock"),
        pytest.raises(ProbingError, match=r"s is being fetched by another process\. Wait for it, or stop it"),
    ):
        clear_leftovers(["shipped"], results)
    assert (cache_folder("shipped") / "s" / "file").is_file()


def test_checkpoints_go_only_if_they_are_named(results: Path, probe: Probe) -> None:
    where = ("--results", str(results))
    assert "cell that was stopped" in probe("cache", "list", *where)[1]
    assert probe("cache", "clear", *where)[1] == "3 entries deleted, 1.4 MB\n"
    assert probe("cache", "clear", "--kind", "vectors", *where)[1] == "0 entries deleted, 0.0 MB\n"
    assert probe("cache", "clear", "--kind", "checkpoints", *where)[1] == "3 entries deleted, 6.0 MB\n"
    assert probe("cache", "clear", "--kind", "shipped", "--encoder", "x")[::2] == (
        2,
        "probe: --encoder goes with --kind vectors. Got --kind shipped\n",
    )


def test_what_killed_processes_were_writing_is_listed_cleared_and_swept(results: Path, probe: Probe) -> None:
    """Files are swept in the results folder, among the checkpoints and in the cache, unless they are being written."""
    places = [results, results / "checkpoints" / "a--b", cache_folder("tasks"), cache_folder("vectors") / "x.partial"]
    dead = f".file.{temporary._hash_machine()}-9999999999-1.abcdefgh.partial"

    def leave() -> list[Path]:
        for place in places:
            place.mkdir(parents=True, exist_ok=True)
            (place / dead).write_bytes(bytes(1000))
        return [place / dead for place in places]

    left = leave()
    descriptor, living = temporary.make_temporary_file(results / "living")
    os.close(descriptor)
    assert probe("cache", "list", "--results", results)[1].count("what a killed process was writing") == 4
    assert probe("cache", "clear", "--kind", "temporary", "--results", results)[1] == "4 entries deleted, 0.0 MB\n"
    assert not any(path.exists() for path in left)
    leave()
    assert sweep_leftovers(results) == 4
    assert not any(path.exists() for path in left)
    assert living.exists()
