"""The choice of a backend: this machine, or a cluster that exists already."""

from __future__ import annotations

import math

import torch

from probing.config import BACKENDS
from probing.errors import ProbingError, unknown
from probing.execution.local import LocalProcesses
from probing.execution.work import Backend

LOCAL, *CLUSTERS = BACKENDS


def check_backend(name: str, *, address: str | None, gpus_per_cell: float) -> None:
    """Refuse an unknown backend, and options that do not go with it."""
    if name not in BACKENDS:
        raise unknown("backend", name, BACKENDS)
    if not 0 <= gpus_per_cell < math.inf:
        raise ProbingError(f"--gpus-per-cell must be a number from 0. Got {gpus_per_cell:g}")
    for option, value in (("--address", address), ("--gpus-per-cell", gpus_per_cell)):
        if name == LOCAL and value:
            raise ProbingError(f"{option} is for clusters: it goes with --backend {' or '.join(CLUSTERS)}")
    if name == "dask" and address is None:
        raise ProbingError("--backend dask needs --address: what `dask scheduler` prints, as in tcp://10.0.0.1:8786")


def choose_backend(
    name: str,
    *,
    address: str | None,
    gpus_per_cell: float,
    jobs: int | None,
    num_works: int,
    device: torch.device,
) -> Backend:
    """Return the backend of that name; on a cluster, work has a GPU only if that is asked for."""
    check_backend(name, address=address, gpus_per_cell=gpus_per_cell)
    if name == LOCAL:
        return LocalProcesses.choose(jobs, num_works=num_works, device=device)
    there = torch.device("cuda" if gpus_per_cell else "cpu")
    if name == "ray":
        from probing.execution.ray import RayCluster

        return RayCluster(address, gpus_per_cell, there, jobs)
    from probing.execution.dask import DaskCluster

    return DaskCluster(str(address), gpus_per_cell, there, jobs)
