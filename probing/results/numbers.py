"""Numbers and values that a record may hold, as msgspec checks them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any, NewType

from msgspec import Meta

LARGEST = 2**63 - 1
"""Largest whole number in a record; numpy computes with 64 bits."""
Whole = Annotated[int, Meta(ge=-LARGEST, le=LARGEST)]
Count = Annotated[int, Meta(ge=0, le=LARGEST)]
Number = Whole | Annotated[float, Meta(ge=-sys.float_info.max, le=sys.float_info.max)]
"""Finite number; a whole one stays whole, so that a record that was read is written as it was."""
Percentage = Annotated[int, Meta(ge=0, le=100)] | Annotated[float, Meta(ge=0, le=100)]

if TYPE_CHECKING:
    Value = Any
else:
    _simple = Number | str | bool | None
    Value = _simple
    for _ in range(10):  # a type with a name is compared by it, not by the thousands of types that it consists of
        Value = NewType("Value", _simple | list[Value] | dict[str, Value])
"""Any JSON value that is nested at most ten times."""
