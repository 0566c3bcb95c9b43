"""Rows of a table that are layers of the same encoder."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from probing.report.grouping import ModelResults, ResultGroup


@dataclass(frozen=True, slots=True, eq=False)
class LayerStack:
    """Several layers of one encoder, each of which was probed."""

    encoder: str
    """Label of the encoder, without a layer."""
    layers: Mapping[int, ModelResults]
    """Results of each layer, from the lowest to the highest."""


def find_stacks(group: ResultGroup) -> list[LayerStack]:
    """Return the encoders of which a table has more than one layer."""
    stacks: dict[str, dict[int, ModelResults]] = {}
    for model in group.models:
        layer = model.records[0].identity.settings.get("encoder", {}).get("layer")
        if isinstance(layer, int) and model.results:
            stacks.setdefault(remove_layer(model.label), {})[layer] = model
    return [LayerStack(name, dict(sorted(layers.items()))) for name, layers in stacks.items() if len(layers) > 1]


def remove_layer(name: str) -> str:
    """Return a model's name or label without its layer."""
    return re.sub(r" layer \d+\b", "", name)
