"""What JSON gave becomes dataclasses, checked to the bottom against their type hints.

The checks of a hint are put together once and then used for every record: there may be thousands.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import sys
import types
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

Build = Callable[[Any, str], Any]
Check = Callable[[Any], bool]

LARGEST = 2**63 - 1
"""Whole numbers have 64 bits, so that whatever is computed with them works."""


@dataclass(frozen=True, slots=True)
class Built:
    """A value that has been built and checked before."""

    value: Any


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
    kind = hint.__name__ if isinstance(hint, type) else _as_json(str(hint))

    def check(value: Any, name: str) -> Any:
        if not fits(value):
            raise TypeError(f"{name} is not of type {kind}")
        return value

    return check


def _as_json(name: str) -> str:
    return (
        name.replace("typing.", "")
        .replace("collections.abc.Sequence", "list")
        .replace("collections.abc.Mapping", "dict")
    )


@cache
def field_builders(kind: type) -> Mapping[str, Build]:
    """Return the builder of each field of a dataclass."""
    return {name: builder(hint) for name, hint in typing.get_type_hints(kind).items()}


def _dataclass_builder(kind: Any) -> Build:
    missing = dataclasses.MISSING
    needed = {f.name for f in dataclasses.fields(kind) if f.default is missing and f.default_factory is missing}
    builders = field_builders(kind)

    def build(value: Any, name: str) -> Any:
        if type(value) is not dict or not (
            value.keys() == builders.keys() or needed <= value.keys() <= builders.keys()
        ):
            raise TypeError(f"{name} must have exactly the fields {', '.join(builders)}")
        return kind(
            **{key: item.value if type(item) is Built else builders[key](item, key) for key, item in value.items()}
        )

    return build


@cache
def _check(hint: Any) -> Check:
    inner = typing.get_args(hint)
    origin = typing.get_origin(hint) or hint
    if origin is typing.Literal:
        return lambda value: type(value) is str and value in inner
    if origin in (list, Sequence):
        items_fit = _check_all(inner[0])
        return lambda value: type(value) is list and items_fit(value)
    if origin in (dict, Mapping):
        values_fit = _check_all(inner[1])
        return lambda value: type(value) is dict and values_fit(value.values())
    simple: dict[Any, Check] = {Any: _is_sane, float: _is_number, int: _is_integer}
    return simple.get(hint) or (lambda value: type(value) is hint)


@cache
def _check_all(hint: Any) -> Callable[[Collection[Any]], bool]:
    """Return what checks all items of a list, or values of a dict: many numbers are looked at together."""
    if hint in (int, float):
        allowed = {int} if hint is int else {int, float}
        return lambda values: {*map(type, values)} <= allowed and _are_numbers(values)
    if (typing.get_origin(hint) in (dict, Mapping)) and typing.get_args(hint)[1] in (int, float):
        numbers_fit = _check_all(typing.get_args(hint)[1])
        return lambda values: (
            {*map(type, values)} <= {dict} and numbers_fit([*itertools.chain.from_iterable(map(dict.values, values))])
        )
    fits = _check(hint)
    return lambda values: all(map(fits, values))


def _are_numbers(values: Collection[int | float]) -> bool:
    try:
        if not all(map(math.isfinite, values)):
            return False
    except OverflowError:  # a whole number of more digits than any float has
        return False
    return max(map(abs, values), default=0) <= LARGEST or all(map(_is_number, values))


def _is_integer(value: Any) -> bool:
    return type(value) is int and -LARGEST <= value <= LARGEST


def _is_number(value: Any) -> bool:
    return (type(value) is float and abs(value) <= sys.float_info.max) or _is_integer(value)


def _is_sane(value: Any, depth: int = 10) -> bool:
    """Check a value of any type: numbers are finite, and nothing is nested deeply."""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if kind is list or kind is dict:
        items = value.values() if kind is dict else value
        return depth > 0 and all(_is_sane(item, depth - 1) for item in items)
    return _is_number(value)
