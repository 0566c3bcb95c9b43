"""Work on a corpus in several processes, with the results in order."""

from __future__ import annotations

import gc
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import Any, TypeVar

from probing.plugin_imports import importing_safely
from probing.signals import end_with, shielded

T = TypeVar("T")
R = TypeVar("R")

AHEAD = 2
"""Number of items for each process that are taken before the first of them is done."""
SECONDS_BETWEEN_LOOKS = 0.25
"""Time between two calls of `meanwhile`."""
SECONDS_IDLE = 300
"""Time without work after which a process ends."""


def map_in_order(
    function: Callable[[T], R], items: Iterable[T], *, jobs: int, meanwhile: Callable[[], None] = lambda: None
) -> Iterator[R]:
    """Yield the result for each item, in the order of the items; `meanwhile` is called while one is waited for.

    With one job, all is done in this process. An interruption ends the processes at once.
    """
    if jobs == 1:
        yield from map(function, items)
        return
    waiting: deque[Future[R]] = deque()
    try:
        for item in items:
            waiting.append(_submit(jobs, function, item))
            if len(waiting) > AHEAD * jobs:
                yield _await(waiting.popleft(), meanwhile)
        while waiting:
            yield _await(waiting.popleft(), meanwhile)
    # Nothing is cancelled, and the processes are not ended by the executor: its thread, which hands out work meanwhile,
    # would fail on what is not there any more. It is told of their end as if they had crashed.
    except Exception:
        wait(waiting)
        raise
    except BaseException:
        executor = _executor(jobs)
        for pid in list(executor._processes):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        executor.shutdown(wait=True)
        raise


def count_cores() -> int:
    """Return the number of cores that this process may use."""
    from joblib import cpu_count

    return int(cpu_count())


def _submit(jobs: int, function: Callable[[T], R], item: T) -> Future[R]:
    # Ctrl-C reaches the processes, too, but only this process ends them.
    with importing_safely(), shielded():
        future: Future[R] = _executor(jobs).submit(_call, function, item)
    return future


def _await(future: Future[R], meanwhile: Callable[[], None]) -> R:
    while not wait([future], timeout=SECONDS_BETWEEN_LOOKS).done:
        meanwhile()
    return future.result()


def _executor(jobs: int) -> Any:
    from joblib.externals.loky import get_reusable_executor

    # Its processes are not those that train: joblib would take what training needs for a leak, and end them.
    return get_reusable_executor(jobs, timeout=SECONDS_IDLE, initializer=_begin, initargs=(os.getpid(),))


def _begin(parent: int) -> None:
    """Prepare a process: it ends with its parent, and does not search for cyclic garbage, of which there is none."""
    end_with(parent)
    gc.disable()


def _call(function: Callable[[T], R], item: T) -> R:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return function(item)
