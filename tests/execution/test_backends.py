"""A backend is chosen by name; what does not fit together is a mistake."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from probing.errors import ProbingError
from probing.execution.backends import choose_backend
from probing.execution.dask import DaskCluster
from probing.execution.local import LocalProcesses
from probing.execution.ray import RayCluster

CPU = torch.device("cpu")


def choose(name: str, **options: Any) -> Any:
    defaults = {"address": None, "gpus_per_cell": 0.0, "jobs": None, "num_works": 4, "device": CPU}
    return choose_backend(name, **defaults | options)


def test_the_usual_backend_is_this_machine() -> None:
    assert choose("loky", jobs=3) == LocalProcesses.choose(3, num_works=4, device=CPU)


def test_a_cluster_has_gpus_only_if_they_are_asked_for() -> None:
    assert choose("ray") == RayCluster(None, 0.0, CPU, None)
    assert choose("ray", gpus_per_cell=0.5, jobs=9).device == torch.device("cuda")
    assert choose("dask", address="tcp://h:1", gpus_per_cell=1.0) == DaskCluster("tcp://h:1", 1.0, torch.device("cuda"))
    assert "0.5 GPUs" in choose("ray", gpus_per_cell=0.5).description
    assert "1 GPUs" in choose("dask", address="h:1", gpus_per_cell=1.0).description


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("rai", {}, "unknown backend 'rai'. Did you mean 'ray'? Known: loky, ray, dask"),
        ("loky", {"address": "h:1"}, "--address is for clusters: it goes with --backend ray or dask"),
        ("loky", {"gpus_per_cell": 1.0}, "--gpus-per-cell is for clusters: it goes with --backend ray or dask"),
        ("dask", {}, "--backend dask needs --address: what `dask scheduler` prints, as in tcp://10.0.0.1:8786"),
    ],
)
def test_what_does_not_fit_together(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ProbingError) as caught:
        choose(name, **options)
    assert str(caught.value) == message
