"""A translator's parameters part by part, without making the weights."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence

import torch

from probing.config import RoutingConfig
from probing.model import AggregatorFactory, ModelDescription
from probing.translation.encoder_decoder import build_encoder_decoder
from probing.translation.settings import TranslatorConfig


def describe_translator(
    aggregator: AggregatorFactory,
    config: TranslatorConfig,
    routing: RoutingConfig,
    *,
    name: str,
    vocabulary_sizes: Sequence[int],
) -> ModelDescription:
    """Describe the encoder-decoder that an aggregator and some sizes make; tied embeddings count once."""
    with torch.device("meta"):
        model = build_encoder_decoder(aggregator, config, routing, vocabulary_sizes=vocabulary_sizes)
    parameters: dict[str, Counter[str]] = {}
    for parameter_name, parameter in model.named_parameters():
        place, part = locate(parameter_name)
        parameters.setdefault(place, Counter())[part] += parameter.numel()
    return ModelDescription(
        settings={"aggregator": name, "vocabulary_sizes": list(vocabulary_sizes), **dataclasses.asdict(config)},
        parameters={place: dict(counts) for place, counts in parameters.items()},
        total=sum(parameter.numel() for parameter in model.parameters()),
        shapes={},
    )


def locate(parameter_name: str) -> tuple[str, str]:
    """Return the place of a parameter (as `encoder 1`) and the part of the model that it belongs to."""
    pieces = parameter_name.split(".")
    if pieces[0] == "output":
        return "softmax", "embeddings"
    side, block = pieces[0], pieces[1]
    if block == "embedding":
        return f"{side} embeddings", "embeddings"
    if block == "norm":
        return f"{side} top", "norms"
    block = pieces[3]
    if block.endswith("norm"):
        part = "norms"
    elif "aggregator" in pieces:
        part = "aggregator"
    else:
        part = "feed-forward" if block == "feed_forward" else "attention"
    return f"{side} {int(pieces[2]) + 1}", part
