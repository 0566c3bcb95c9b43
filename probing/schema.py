"""What JSON gave becomes dataclasses, checked to the bottom against their type hints.

The checks of a hint are put together once and then used for every record: there may be thousands.
"""

from __future__ import annotations

import dataclasses
import sys
import types
import typing
from array import array
from collections.abc import Callable
from functools import cache
from typing import Any

Build = Callable[[Any, str], Any]
Check = Callable[[Any], bool]

LARGEST = 2**63 - 1
"""Whole numbers have 64 bits, so that whatever is computed with them works."""


@cache
def builder(hint: Any) -> Build:
    """Return a function that gives what the hint asks for from a value and its name; a TypeError says what is wrong."""
    if dataclasses.is_dataclass(hint):
        return _dataclass_builder(typing.cast(type, hint))
    if isinstance(hint, types.UnionType):
        (chosen,) = [item for item in typing.get_args(hint) if item is not types.NoneType]
        build = builder(chosen)
        return lambda value, name: None if value is None else build(value, name)
    fits = _check(hint)
    kind = hint.__name__ if isinstance(hint, type) else str(hint).replace("typing.", "")

    def check(value: Any, name: str) -> Any:
        if not fits(value):
            raise TypeError(f"{name} is not of type {kind}")
        return value

    return check


def _dataclass_builder(kind: Any) -> Build:
    hints = typing.get_type_hints(kind)
    missing = dataclasses.MISSING
    needed = {f.name for f in dataclasses.fields(kind) if f.default is missing and f.default_factory is missing}
    builders = {name: builder(hint) for name, hint in hints.items()}

    def build(value: Any, name: str) -> Any:
        if type(value) is not dict or not needed <= value.keys() <= builders.keys():
            raise TypeError(f"{name} must have exactly the fields {', '.join(builders)}")
        return kind(**{key: builders[key](item, key) for key, item in value.items()})

    return build


@cache
def _check(hint: Any) -> Check:
    inner = typing.get_args(hint)
    origin = typing.get_origin(hint) or hint
    if origin is typing.Literal:
        return lambda value: type(value) is str and value in inner
    if origin is list and inner[0] is int:
        return _is_list_of_integers
    if origin is list:
        item_fits = _check(inner[0])
        return lambda value: type(value) is list and all(map(item_fits, value))
    if origin is dict:
        value_fits = _check(inner[1])
        return lambda value: type(value) is dict and all(map(value_fits, value.values()))
    simple: dict[Any, Check] = {Any: _is_sane, float: _is_number, int: _is_integer}
    return simple.get(hint) or (lambda value: type(value) is hint)


def _is_integer(value: Any) -> bool:
    return type(value) is int and -LARGEST <= value <= LARGEST


def _is_number(value: Any) -> bool:
    return (type(value) is float and abs(value) <= sys.float_info.max) or _is_integer(value)


def _is_list_of_integers(value: Any) -> bool:
    """Check predictions: they are many, and bytes and arrays look at them faster than a loop."""
    if type(value) is not list:
        return False
    try:
        return len(bytes(value)) == len(value)
    except ValueError:  # some are not below 256
        pass
    except TypeError:
        return False
    try:
        return len(array("q", value)) == len(value)
    except (TypeError, OverflowError):
        return False


def _is_sane(value: Any, depth: int = 10) -> bool:
    """Check a value of any type: numbers are finite, and nothing is nested deeply."""
    if type(value) in (list, dict):
        items = value.values() if type(value) is dict else value
        return depth > 0 and all(_is_sane(item, depth - 1) for item in items)
    return type(value) in (str, bool, types.NoneType) or _is_number(value)
