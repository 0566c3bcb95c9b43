"""Sweeps: a list of values for some settings becomes the variants of a run, each a set of settings."""

from __future__ import annotations

import dataclasses
import itertools
import typing
from collections.abc import Sequence

from probing.config import Config
from probing.errors import ProbingError

EXAMPLE = "such as --set model.iterations=1,2,3"
EMPTY = "empty"
"""Word for a list without items among the values of a sweep."""

Variant = tuple[str, ...]
"""Settings of the form section.key=value."""


def list_variants(settings: Sequence[str], *, zipped: bool = False) -> tuple[Variant, list[Variant]]:
    """Return the settings with one value, and the variants of the others: all combinations, or the first of each, ….

    Values are separated by commas. The items of a value that is itself a list are joined by `+`.
    """
    values: dict[str, list[str]] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        name = name.strip()
        if not equals:
            raise ProbingError(f"--set {setting!r} is not of the form section.key=value,value,…, {EXAMPLE}")
        if name in values:
            raise ProbingError(f"--set {name} is given twice. Name all its values in one, {EXAMPLE}")
        values[name] = _split(name, text, repeated=zipped)
    swept = {name: items for name, items in values.items() if len(items) > 1}
    if not swept:
        raise ProbingError(f"a sweep needs a setting with several values, {EXAMPLE}")
    fixed = tuple(f"{name}={items[0]}" for name, items in values.items() if len(items) == 1)
    spelled = [[f"{name}={value}" for value in items] for name, items in swept.items()]
    if not zipped:
        return fixed, list(itertools.product(*spelled))
    if len({len(items) for items in spelled}) > 1:
        found = ", ".join(f"{name} has {len(items)}" for name, items in swept.items())
        raise ProbingError(f"--zip needs as many values of each setting: {found}")
    return fixed, list(zip(*spelled, strict=True))


def _split(name: str, text: str, *, repeated: bool) -> list[str]:
    """Return the values of a setting, as `probe run --set` takes them."""
    items = [item.strip() for item in text.split(",")]
    if not all(items):
        raise ProbingError(f"--set {name}={text}: a value is missing between the commas")
    if not repeated and len(set(items)) < len(items):
        raise ProbingError(f"--set {name}={text}: a value is given twice")
    if not _is_list(name):
        return items
    return ["" if item == EMPTY else item.replace("+", ",") for item in items]


def _is_list(name: str) -> bool:
    """Return whether the values of a setting are lists; unknown settings are refused elsewhere."""
    section, _, key = name.partition(".")
    found = next((item for item in dataclasses.fields(Config) if item.name == section), None)
    if found is None:
        return False
    hints = typing.get_type_hints(typing.get_type_hints(Config)[section])
    return typing.get_origin(hints.get(key)) is tuple
