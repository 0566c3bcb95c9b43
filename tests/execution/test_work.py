"""What runs cells runs any other kind of work as well."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import torch

from probing.display import Display, Status
from probing.execution import LocalProcesses, execute, find_waiting
from probing.results import Record, Store


@pytest.mark.parametrize("jobs", [1, 2])
def test_work_that_is_no_cell_is_run_recorded_and_skipped(
    tmp_path: Path, make_record: Callable[..., Record], jobs: int
) -> None:
    """Classes made here travel to other processes whole."""
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Counting:
        """Counts the words of a file; its record stands in for one of another kind."""

        path: Path
        record: Record

        @property
        def name(self) -> str:
            return f"count {self.path.name}"

        @property
        def key(self) -> str:
            return self.record.key

        def record_path(self, results: Path) -> Path:
            return self.record.path(results)

        def files(self) -> dict[str, Path]:
            return {"text": self.path}

        def moved(self, files: Any) -> Any:
            return Counting(files["text"], self.record)

    def count(work: Any, device: torch.device, on_status: Callable[[Status], None]) -> Record:
        from msgspec import structs

        from probing.display import Status

        words = len(work.path.read_text().split())
        on_status(Status(work=work.name, fraction=1.0, text=f"{words} words"))
        return structs.replace(work.record, where={"words": words})

    works = []
    for seed in range(3):
        path = tmp_path / f"{seed}.txt"
        path.write_text("word " * (seed + 1))
        works.append(Counting(path, make_record(seed=seed)))
    store, display = Store(tmp_path / "results"), Display(verbosity=-1)
    backend = LocalProcesses(jobs, 1, torch.device("cpu"))
    waiting = find_waiting(works, store, force=False)
    with closing(execute(waiting, store, backend, count, display)) as ends:
        assert sorted(ended.work.name for ended in ends) == ["count 0.txt", "count 1.txt", "count 2.txt"]
    assert [record.where for record in store.load(pytest.fail)] == [{"words": 1}, {"words": 2}, {"words": 3}]
    assert find_waiting(works, store, force=False) == []
    assert not (store.folder / ".leases").exists()
