"""A machine of a cluster: how it is reached, and how it runs a work."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import torch

from probing.display import Status
from probing.errors import ProbingError
from probing.execution.shipping import Fetch, Shipment
from probing.execution.work import RunWork

SECONDS_TO_CONNECT = 5.0
SECONDS_BETWEEN_STATUSES = 0.5

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
