"""The interfaces of execution: a piece of work of any kind, a place where work runs, and room for some of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

import torch

from probing.display import Status
from probing.results import Record


class Work(Protocol):
    """A piece of work that needs nothing but its files and leaves one record, such as a cell."""

    @property
    def name(self) -> str:
        """Name in messages."""

    @property
    def key(self) -> str:
        """Hash of everything that can change the outcome."""

    def record_path(self, results: Path) -> Path:
        """Return the file of the record in a results folder."""

    def files(self) -> Mapping[str, Path]:
        """Return the files that are read, by their roles."""

    def moved(self, files: Mapping[str, Path]) -> Self:
        """Return the same work with its files at other places, as on another machine."""


AnyWork = TypeVar("AnyWork", bound=Work)
RunWork = Callable[[AnyWork, torch.device, Callable[[Status], None]], Record]
"""Function that does a piece of work on a device, reports its status on the way, and returns its record."""


class Slots(Protocol):
    """Room for some works at a time."""

    @property
    def count(self) -> int:
        """Number of works that can run now."""

    def submit(self, work: Any) -> Future[Record]:
        """Begin a work; only one thread may call this."""

    def is_loss(self, error: BaseException) -> bool:
        """Return whether an error means that the process which ran the work has died."""


class Backend(Protocol):
    """A place where work runs: this machine or a cluster."""

    @property
    def device(self) -> torch.device:
        """Device that work runs on there."""

    @property
    def description(self) -> str:
        """One line about the place, for the user."""

    def open(
        self, run_work: RunWork[Any], num_works: int, on_status: Callable[[Status], None]
    ) -> AbstractContextManager[Slots]:
        """Provide room for a number of works."""
