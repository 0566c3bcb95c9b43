"""Where cells run: on this machine, or on a cluster that exists already."""

from __future__ import annotations

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
    if name == "loky":
        for option, value in (("--address", address), ("--gpus-per-cell", gpus_per_cell)):
            if value:
                raise ProbingError(f"{option} is for clusters: it goes with --backend {' or '.join(CLUSTERS)}")
        return Workers.choose(jobs, num_cells=num_cells, device=device)
    if name not in CLUSTERS:
        raise unknown("backend", name, ["loky", *CLUSTERS])
    there = torch.device("cuda" if gpus_per_cell else "cpu")
    if name == "ray":
        from probing.clusters.ray import RayCluster

        return RayCluster(address, gpus_per_cell, there, jobs)
    from probing.clusters.dask import DaskCluster

    if address is None:
        raise ProbingError("--backend dask needs --address: what `dask scheduler` prints, as in tcp://10.0.0.1:8786")
    return DaskCluster(address, gpus_per_cell, there, jobs)
