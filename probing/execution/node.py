"""A machine of a cluster: how it is reached, and how it runs a work."""

from __future__ import annotations

import importlib.metadata
import logging
import pydoc
import socket
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import torch

from probing import __version__
from probing.display import Status
from probing.errors import ProbingError
from probing.execution.shipping import Fetch, Shipment
from probing.execution.work import RunWork

SECONDS_TO_CONNECT = 5.0
SECONDS_TO_ANSWER = 60.0
"""Time in which every machine of a cluster has to say what is installed on it."""
SECONDS_BETWEEN_STATUSES = 0.5

VERSIONS = {"probing": __version__, "torch": str(torch.__version__)}
"""Versions that every machine of a cluster must have."""
QUESTIONS: Mapping[str, tuple[Callable[[str], Any], str]] = {
    "probing": (pydoc.locate, "probing.__version__"),
    "torch": (importlib.metadata.version, "torch"),
}
"""Functions of Python itself, which every machine has, and what they are asked for a version."""

_one_at_a_time = threading.Lock()
"""Lock that gives one work at a time the process, its threads and its random numbers."""


def run_on_node(
    run_work: RunWork[Any],
    shipment: Shipment,
    device: torch.device,
    fetch: Fetch,
    tell: Callable[[Status], None],
) -> Any:
    """Unpack a work and run it on one thread: a number that depends on the machine could change the last digits."""
    with _one_at_a_time:
        logging.getLogger("probing").setLevel(logging.ERROR)  # the run logs it
        torch.set_num_threads(1)
        return run_work(shipment.unpack(fetch), device, _limit_rate(tell))


def _limit_rate(tell: Callable[[Status], None]) -> Callable[[Status], None]:
    told = 0.0

    def tell_if_due(status: Status) -> None:
        nonlocal told
        if status.milestone or time.monotonic() - told > SECONDS_BETWEEN_STATUSES:
            told = time.monotonic()
            tell(status)

    return tell_if_due


def check_versions(backend: str, answers: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse a cluster with a machine that has no probing, or another version of it or of torch.

    answers: for each name in VERSIONS what each machine says: a version, None if it is not installed, or an error.
    """
    for name, expected in VERSIONS.items():
        for machine, found in answers[name].items():
            if found is None or isinstance(found, BaseException):
                reason = f": {type(found).__name__}: {found}" if found is not None else ""
                problem = f"cannot import {name}{reason}. Install the same version there, {_strip(expected)}"
            elif _strip(found) != _strip(expected):
                problem = f"has {name} {found}, the run has {expected}. Install the same version on both"
            else:
                continue
            raise ProbingError(f"--backend {backend}: {machine} of the cluster {problem}")


def _strip(version: str) -> str:
    """Return a version without its local part: torch for the CPU and for a GPU are of one version."""
    return str(version).partition("+")[0]


def check_reachable(backend: str, address: str, *, port: int) -> None:
    """Raise an error within seconds if nothing answers; the clusters' own clients wait for minutes."""
    try:
        parts = urlsplit(address if "://" in address else f"//{address}")
        place = (parts.hostname or "", parts.port or port)
    except ValueError:
        place = ("", port)
    if not place[0]:
        raise ProbingError(f"--address must be HOST:PORT, as in 10.0.0.1:{port}. Got {address!r}")
    try:
        socket.create_connection(place, timeout=SECONDS_TO_CONNECT).close()
    except (OSError, UnicodeError) as error:  # a name that no host can have is a UnicodeError
        reason = getattr(error, "strerror", None) or error
        raise ProbingError(
            f"--backend {backend}: nobody answers at {address} ({reason}). Is the cluster running?"
        ) from None
