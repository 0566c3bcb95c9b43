"""How a run is stopped: SIGTERM ends it in order, as Ctrl-C does, and neither comes in the middle of a step."""

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
"""At whether the parent is alive."""
SIGNALS = (signal.SIGINT, signal.SIGTERM)
QUICK = 1.0
"""Seconds that a stop may wait for a step: as long as the step before it took at most."""


class Terminated(KeyboardInterrupt):
    """SIGTERM came: the same as Ctrl-C but for the exit code."""


@contextmanager
def terminable() -> Iterator[None]:
    """Let SIGTERM end the block as Ctrl-C does; while a module is imported, both end the process at once."""
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
    """Let signals to processes that start in the block wait until `unshielded`, and those to this thread to its end."""
    yield from _mask(signal.SIG_BLOCK)


@contextmanager
def unshielded() -> Iterator[None]:
    """Receive signals during the block, those that waited first."""
    yield from _mask(signal.SIG_UNBLOCK)


def _mask(how: int) -> Iterator[None]:
    before = signal.pthread_sigmask(how, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_with(parent: int) -> None:
    """End this process soon after its parent, which may be killed without a chance to say so."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(SECONDS_BETWEEN_LOOKS)
        os._exit(1)

    threading.Thread(target=watch, name="parent", daemon=True).start()


class Hold:
    """Holds Ctrl-C and SIGTERM back while a step is under way, so that what it changes is never left half changed.

    A second signal, or one in a step that may be slow because the one before was, is not held back; then the step is
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
        """Do what is in the block as a whole."""
        started = time.monotonic()
        with self.moment(quick=self._seconds <= QUICK):
            yield
        self._seconds = time.monotonic() - started

    @contextmanager
    def moment(self, *, quick: bool = True) -> Iterator[None]:
        """Do as a whole what is no step, and quick."""
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
    if _is_importing(frame):  # one that is broken off can crash in compiled code, or leave half a module
        os._exit(128 + number)
    raise Terminated if number == signal.SIGTERM else KeyboardInterrupt


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code.co_filename != "<frozen importlib._bootstrap>":
        frame = frame.f_back
    return frame is not None
