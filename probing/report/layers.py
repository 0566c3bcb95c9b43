"""Rows of a table that are layers of the same encoder."""

from __future__ import annotations

import re

from probing.report.grouping import ModelResults, ResultGroup


def find_stacks(group: ResultGroup) -> dict[str, dict[int, ModelResults]]:
    """Return the encoders of which a table has more than one layer, each with the results by layer, lowest first."""
    stacks: dict[str, dict[int, ModelResults]] = {}
    for model in group.models:
        layer = model.records[0].identity.settings.get("encoder", {}).get("layer")
        if isinstance(layer, int) and model.results:
            stacks.setdefault(remove_layer(model.label), {})[layer] = model
    return {encoder: dict(sorted(layers.items())) for encoder, layers in stacks.items() if len(layers) > 1}


def remove_layer(name: str) -> str:
    """Return a model's name or label without its layer; after a comma stands the layer of a translator's aggregator."""
    return re.sub(r"(?<!,) layer \d+\b", "", name)
