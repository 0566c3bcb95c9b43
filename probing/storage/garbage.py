"""Python's search for cyclic garbage, paused while many objects are made that have no cycles."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


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
