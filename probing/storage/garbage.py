"""Python's search for cyclic garbage, paused while many objects are made that have no cycles."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

OBJECTS = 20_000
"""New objects that a rare search waits for: those of a few steps."""


@contextmanager
def pausing_garbage_collection() -> Iterator[None]:
    """Pause the search for cyclic garbage: it would look at thousands of objects again and again, which have none."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def collecting_garbage_rarely() -> Iterator[None]:
    """Have the search for cyclic garbage wait for more objects: a training step makes thousands, nearly all without."""
    first, *others = gc.get_threshold()
    gc.set_threshold(first and max(first, OBJECTS), *others)
    try:
        yield
    finally:
        gc.set_threshold(first, *others)


@contextmanager
def importing_for_good(library: str) -> Iterator[None]:
    """Pause the search while a large library is imported for the first time, and leave its objects out of it from then.

    What a program has imported stays until it ends: looking at it takes a tenth of a second each time.
    """
    is_first = library not in sys.modules
    with pausing_garbage_collection():
        yield
        if is_first:
            gc.freeze()
