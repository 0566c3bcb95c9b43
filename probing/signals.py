"""Signals that stop a run: SIGTERM ends it in order, as Ctrl-C does, and neither interrupts a step."""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

SECONDS_BETWEEN_LOOKS = 0.5
"""Time between two looks at whether the parent is alive."""
SIGNALS = (signal.SIGINT, signal.SIGTERM)
QUICK = 1.0
"""Longest time that a stop waits for a step, judged by the step before it."""


class Terminated(KeyboardInterrupt):
    """SIGTERM arrived: the same as Ctrl-C except for the exit code."""


@contextmanager
def terminable() -> Iterator[None]:
    """Make SIGTERM end the block as Ctrl-C does; while a module is imported, both end the process at once."""
    before = {}
    if threading.current_thread() is threading.main_thread():
        before[signal.SIGTERM] = signal.signal(signal.SIGTERM, _stop)
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # it may be ignored
            before[signal.SIGINT] = signal.signal(signal.SIGINT, _stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)


@contextmanager
def shielded() -> Iterator[None]:
    """Block signals: to processes that start in the block until `unshielded`, to this thread until its end."""
    yield from _mask(signal.SIG_BLOCK)


@contextmanager
def unshielded() -> Iterator[None]:
    """Receive signals during the block, blocked ones first."""
    yield from _mask(signal.SIG_UNBLOCK)


def _mask(how: int) -> Iterator[None]:
    before = signal.pthread_sigmask(how, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_with(parent: int) -> None:
    """End this process soon after its parent, which may be killed without notice."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(SECONDS_BETWEEN_LOOKS)
        os._exit(1)

    threading.Thread(target=watch, name="parent", daemon=True).start()


class Hold:
    """A critical section: it holds back Ctrl-C and SIGTERM during a step, so that no state is left half changed.

    A second signal is not held back, nor one in a step that may be slow because the one before was; then the step is
    `torn`.
    """

    def __init__(self) -> None:
        self.torn = False
        self._handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}
        self._held: int | None = None
        self._in_step = self._quick = False
        self._seconds = math.inf

    def __enter__(self) -> Hold:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                handler = signal.getsignal(number)
                if callable(handler):  # a signal that is ignored, or ends the process at once, stays so
                    self._handlers[number] = handler
                    signal.signal(number, self._receive)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    @contextmanager
    def step(self) -> Iterator[None]:
        """Run the block as one step that a signal does not interrupt."""
        started = time.monotonic()
        with self.moment(quick=self._seconds <= QUICK):
            yield
        self._seconds = time.monotonic() - started

    @contextmanager
    def moment(self, *, quick: bool = True) -> Iterator[None]:
        """Run a short block without interruption; `quick=False` lets a signal tear it, as in a slow step."""
        self._in_step, self._quick = True, quick
        try:
            yield
        finally:
            self._in_step = False
        if self._held is not None:
            self._handlers[self._held](self._held, None)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self._in_step and self._held is None and self._quick:
            self._held = number
            return
        self.torn = self._in_step
        self._handlers[number](number, frame)


def _stop(number: int, frame: FrameType | None) -> None:
    if _is_importing(frame):  # an interrupted import can crash in compiled code, or leave half a module
        os._exit(128 + number)
    raise Terminated if number == signal.SIGTERM else KeyboardInterrupt


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code.co_filename != "<frozen importlib._bootstrap>":
        frame = frame.f_back
    return frame is not None
