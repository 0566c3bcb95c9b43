"""Feeds a target many inputs; the first one that does not end in success or a ProbingError is made small and told."""

from __future__ import annotations

import signal
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import hypothesis
from hypothesis import HealthCheck, Phase

from probing.errors import ProbingError
from tests.fuzzing.targets import Attempt, Target

SECONDS = 20
"""Of computing; an attempt that takes longer hangs."""


class HangError(BaseException):
    """An attempt took too long; no `except Exception` can swallow it."""


@dataclass(slots=True)
class Tally:
    """How the attempts on a target ended."""

    read: int = 0
    refused: int = 0
    failure: str | None = None

    @property
    def total(self) -> int:
        return self.read + self.refused


def attempt_once(attempt: Attempt, content: bytes) -> bool:
    """Return whether the bytes were read; a ProbingError of one line means that they were refused."""
    with tempfile.TemporaryDirectory() as folder, _time_limit(), warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            attempt(Path(folder), content)
        except ProbingError as error:
            message = str(error)
        else:
            return True
    assert message.splitlines() == [message], "a message of several lines"
    return False


@contextmanager
def _time_limit() -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise HangError(f"no end after {SECONDS} s of computing")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def fuzz(target: Target, count: int, *, seed: int = 0, on_input: Callable[[], None] = lambda: None) -> Tally:
    """Try a target with `count` inputs and return how they ended."""
    tally = Tally()

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
        print_blob=False,
        report_multiple_bugs=False,
    )
    @hypothesis.given(target.inputs)
    def run(content: bytes) -> None:
        read = attempt_once(target.attempt, content)
        tally.read += read
        tally.refused += not read
        on_input()

    try:
        run()
    except (Exception, HangError) as error:  # noqa: BLE001 - whatever it is, it is what we look for
        tally.failure = "".join([*traceback.format_exception(error)[-10:], *getattr(error, "__notes__", [])])
    return tally
