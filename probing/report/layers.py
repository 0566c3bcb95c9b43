"""The rows of a table that are layers of one encoder."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from probing.report.grouping import Group, Model


@dataclass(frozen=True, slots=True, eq=False)
class Stack:
    """An encoder of which several layers were probed."""

    encoder: str
    """As tables call it, without a layer."""
    layers: Mapping[int, Model]
    """From the lowest up."""


def find_stacks(group: Group) -> list[Stack]:
    """Return the encoders of which a table has more than one layer."""
    stacks: dict[str, dict[int, Model]] = {}
    for model in group.models:
        layer = model.results[0].identity.settings.get("encoder", {}).get("layer")
        if isinstance(layer, int) and model.cells:
            stacks.setdefault(without_layer(model.label), {})[layer] = model
    return [Stack(name, dict(sorted(layers.items()))) for name, layers in stacks.items() if len(layers) > 1]


def without_layer(name: str) -> str:
    """Return what a model is called without its layer."""
    return re.sub(r" layer \d+\b", "", name)
