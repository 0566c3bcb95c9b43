"""A model's parameters part by part and the shapes of its tensors, without making the weights."""

from __future__ import annotations

import dataclasses
from collections import Counter
from dataclasses import dataclass
from typing import Literal, get_args

import torch

from probing.config import ModelConfig
from probing.model.classifier import AggregatorFactory, build_classifier

ParameterGroup = Literal["embeddings", "attention", "aggregator", "feed-forward", "norms", "head"]
PARAMETER_GROUPS: tuple[ParameterGroup, ...] = get_args(ParameterGroup)


@dataclass(frozen=True, slots=True)
class ModelDescription:
    """Description of a model, as `probe describe` prints it."""

    settings: dict[str, object]
    parameters: dict[str, dict[str, int]]
    """Place (embeddings, layer 1, …, top) -> part -> parameters."""
    total: int
    shapes: dict[str, str]

    def text(self) -> str:
        from tabulate import tabulate  # a run counts parameters, and prints no table of them

        found = dict.fromkeys(part for counts in self.parameters.values() for part in counts)
        order: dict[str, int] = {part: number for number, part in enumerate(PARAMETER_GROUPS)}
        parts = sorted(found, key=lambda part: order.get(part, len(order)))
        rows = [
            [place, *(f"{counts[part]:,}" if part in counts else "" for part in parts), f"{sum(counts.values()):,}"]
            for place, counts in self.parameters.items()
        ]
        sums = {part: sum(counts.get(part, 0) for counts in self.parameters.values()) for part in parts}
        rows.append(["total", *(f"{sums[part]:,}" for part in parts), f"{self.total:,}"])
        align = ("left", *("right" for _ in range(len(parts) + 1)))
        counts = tabulate(rows, ["parameters", *parts, "sum"], disable_numparse=True, colalign=align)
        settings = ", ".join(f"{name}={value}" for name, value in self.settings.items())
        if not self.shapes:
            return f"{settings}\n\n{counts}"
        shapes = tabulate(list(self.shapes.items()), ["tensor", "shape"], disable_numparse=True)
        return f"{settings}\n\n{counts}\n\n{shapes}\n\nT tokens of a batch laid end to end, B sentences."


def describe_model(
    aggregator: AggregatorFactory, config: ModelConfig, *, name: str, vocabulary_size: int, num_classes: int
) -> ModelDescription:
    """Describe the classifier that an aggregator and some sizes make."""
    settings = dataclasses.asdict(config)
    with torch.device("meta"):
        model = build_classifier(aggregator, vocabulary_size=vocabulary_size, num_classes=num_classes, **settings)
    parameters: dict[str, Counter[str]] = {}
    routed = False
    for parameter_name, parameter in model.named_parameters():
        routed |= parameter_name.endswith("vote_weight")
        part, layer = part_of(parameter_name)
        place = f"layer {layer}" if layer else "embeddings" if part == "embeddings" else "top"
        parameters.setdefault(place, Counter())[part] += parameter.numel()
    return ModelDescription(
        settings={"aggregator": name, "vocabulary_size": vocabulary_size, "num_classes": num_classes} | settings,
        parameters={place: dict(counts) for place, counts in parameters.items()},
        total=sum(parameter.numel() for parameter in model.parameters()),
        shapes=_shapes(config, num_classes, routed=routed),
    )


def part_of(parameter_name: str) -> tuple[ParameterGroup, int | None]:
    """Return which part of the model a parameter belongs to, and its layer (from 1) if it has one."""
    pieces = parameter_name.split(".")
    if pieces[0] == "head":
        return "head", None
    if pieces[1] == "embedding":
        return "embeddings", None
    if pieces[1] == "norm":
        return "norms", None
    layer, block = int(pieces[2]) + 1, pieces[3]
    if block.endswith("norm"):
        return "norms", layer
    if block == "feed_forward":
        return "feed-forward", layer
    return ("aggregator" if pieces[4] == "aggregator" else "attention"), layer


def _shapes(config: ModelConfig, num_classes: int, *, routed: bool) -> dict[str, str]:
    width, heads, capsules = config.model_dim, config.num_heads, config.num_capsules
    size = width // capsules
    routing = {
        "votes": f"(T, H={heads}, N={capsules}, K={size})",
        "agreement weights": f"(T, H={heads}, N={capsules})",
        "capsules": f"(T, N={capsules}, K={size})",
    }
    return {
        "hidden states": f"(T, d={width})",
        "heads": f"(T, H={heads}, d/H={width // heads})",
        **(routing if routed else {}),
        "aggregated heads": f"(T, d={width})",
        "feed-forward": f"(T, {config.feed_forward_dim})",
        "sentence vector": f"(B, d={width})",
        "scores": f"(B, C={num_classes})",
    }
