"""Calls of a plug-in's factory, with the settings that its signature names."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from probing.errors import ProbingError

TOO_LARGE = ("allocate memory", "out of memory", "Storage size calculation overflowed")
"""Phrases of torch's errors about sizes that no memory has."""


def call_factory(kind: str, name: str, factory: Any, settings: Mapping[str, Any], *, always: Sequence[str] = ()) -> Any:
    """Call a plug-in's class or function with those settings that its signature names, and with those in `always`."""
    if not callable(factory):
        raise ProbingError(f"{kind} {name!r} is not a class or function")
    try:
        parameters: Collection[str] = inspect.signature(factory).parameters
    except (TypeError, ValueError):  # a callable of compiled code need not have a signature
        parameters = ()
    accepted = {key: value for key, value in settings.items() if key in parameters or key in always}
    try:
        return factory(**accepted)
    except ProbingError:
        raise
    except Exception as error:
        if is_too_large(error):
            raise
        given = ", ".join(accepted) or "no settings"
        reason = str(error) if isinstance(error, TypeError) else f"{type(error).__name__}: {error}"
        raise ProbingError(f"{kind} {name!r} could not be made with {given}: {reason}") from error


def is_too_large(error: BaseException) -> bool:
    """Return whether an error says that there is not enough memory."""
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and any(phrase in str(error) for phrase in TOO_LARGE)
    )


@contextmanager
def explaining_size() -> Iterator[None]:
    """Turn an error about memory into one line that names the settings to lower."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not is_too_large(error):
            raise
        raise ProbingError(
            "the model is larger than the memory. Lower model.model_dim, model.feed_forward_dim, model.head_dim or "
            "model.num_layers"
        ) from error
