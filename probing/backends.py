"""Where cells run: on this machine, or on a cluster that exists already."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

import torch

from probing.display import Status
from probing.errors import ProbingError, unknown
from probing.workers import RunCell, Slots, Workers

CLUSTERS = ("ray", "dask")


class Backend(Protocol):
    """A place for cells."""

    @property
    def device(self) -> torch.device:
        """What cells are trained on there."""

    @property
    def description(self) -> str:
        """What a user should know of it."""

    def open(
        self, run_cell: RunCell[Any, Any], num_cells: int, on_status: Callable[[Status], None]
    ) -> AbstractContextManager[Slots]:
        """Give room for so many cells."""


def check_backend(name: str, *, address: str | None, gpus_per_cell: float) -> None:
    """Refuse a name that there is not, and options that do not go with it."""
    if name not in ("loky", *CLUSTERS):
        raise unknown("backend", name, ["loky", *CLUSTERS])
    if not 0 <= gpus_per_cell < math.inf:
        raise ProbingError(f"--gpus-per-cell must be a number from 0. Got {gpus_per_cell:g}")
    for option, value in (("--address", address), ("--gpus-per-cell", gpus_per_cell)):
        if name == "loky" and value:
            raise ProbingError(f"{option} is for clusters: it goes with --backend {' or '.join(CLUSTERS)}")
    if name == "dask" and address is None:
        raise ProbingError("--backend dask needs --address: what `dask scheduler` prints, as in tcp://10.0.0.1:8786")


def choose_backend(
    name: str,
    *,
    address: str | None,
    gpus_per_cell: float,
    jobs: int | None,
    num_cells: int,
    device: torch.device,
) -> Backend:
    """Return the backend of that name; a cluster's cells have a GPU only if that is asked for."""
    check_backend(name, address=address, gpus_per_cell=gpus_per_cell)
    if name == "loky":
        return Workers.choose(jobs, num_cells=num_cells, device=device)
    there = torch.device("cuda" if gpus_per_cell else "cpu")
    if name == "ray":
        from probing.clusters.ray import RayCluster

        return RayCluster(address, gpus_per_cell, there, jobs)
    from probing.clusters.dask import DaskCluster

    return DaskCluster(str(address), gpus_per_cell, there, jobs)
