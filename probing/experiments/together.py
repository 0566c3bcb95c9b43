"""Cells that several processes train together, as torchrun starts them: one cell after the other, each by all.

The first process decides what is run, and records it as it does alone; the others follow it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import torch

from probing.display import Status
from probing.errors import ProbingError
from probing.execution import LocalProcesses
from probing.results import Record
from probing.training import Ranks

RunTogether = Callable[..., Record]
"""Function that runs a cell as one of several processes; its keyword arguments are `results` and `ranks`."""


def divide_machine(device: torch.device) -> LocalProcesses:
    """Return how one of torchrun's processes runs cells: one at a time, with its part of the machine's cores."""
    neighbours = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    return LocalProcesses(1, max(1, joblib.cpu_count() // neighbours), device)


@dataclass(frozen=True, slots=True)
class Leader:
    """The first process, as it runs a cell: it tells the others which one."""

    run_one: RunTogether
    ranks: Ranks

    def __call__(
        self, cell: Any, device: torch.device, on_status: Callable[[Status], None], *, results: Path | None = None
    ) -> Record:
        _tell(cell.key)
        return self.run_one(cell, device, on_status, results=results, ranks=self.ranks)


@contextmanager
def leading(run_one: RunTogether, ranks: Ranks) -> Iterator[Leader]:
    """Provide a function that runs a cell with all processes; the others end when the block ends in order."""
    yield Leader(run_one, ranks)
    _tell("")


def follow(cells: dict[str, Any], run_one: RunTogether, ranks: Ranks, processes: LocalProcesses, results: Path) -> None:
    """Run the cells that the first process names, until it has none left."""
    run_mine = partial(run_one, on_status=lambda status: None, results=results, ranks=ranks)
    while key := _hear(ranks):
        if key not in cells:
            raise ProbingError("the processes of torchrun were started with different options or files")
        torch.set_num_threads(processes.threads)
        run_mine(cells[key], processes.device)


def _tell(key: str) -> None:
    torch.distributed.broadcast_object_list([key], 0)


def _hear(ranks: Ranks) -> str:
    told: list[Any] = [None]
    try:
        torch.distributed.broadcast_object_list(told, 0)
    except RuntimeError as error:
        raise ProbingError(f"the first process of this run has ended ({ranks.describe(error)})") from None
    return str(told[0])
