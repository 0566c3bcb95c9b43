from __future__ import annotations

import dataclasses
import itertools

import pytest
import torch
from torch import nn

from probing.config import ModelConfig
from probing.errors import ProbingError
from probing.model.classifier import build_classifier
from probing.model.description import describe_model, part_of
from probing.registry import AGGREGATORS

ROUTED = ("simple", "em", "simple-code", "em-code")


def describe(name, *, vocabulary_size=1000, num_classes=6, factory=None, **changes):
    factory, config = factory or AGGREGATORS.find(name).object, ModelConfig(**changes)
    return describe_model(factory, config, name=name, vocabulary_size=vocabulary_size, num_classes=num_classes)


@pytest.mark.parametrize("name", AGGREGATORS.builtins)
def test_the_parts_add_up_to_the_model(name):
    config = ModelConfig(model_dim=32, num_heads=4, num_capsules=8)
    factory = AGGREGATORS.find(name).object
    description = describe_model(factory, config, name=name, vocabulary_size=50, num_classes=3)
    model = build_classifier(factory, vocabulary_size=50, num_classes=3, **dataclasses.asdict(config))
    assert description.total == sum(parameter.numel() for parameter in model.parameters())
    assert description.total == sum(sum(counts.values()) for counts in description.parameters.values())
    assert list(description.parameters) == ["embeddings", "layer 1", "layer 2", "layer 3", "top"]


def test_the_papers_base_model_part_by_part():
    d, hidden = 512, 2048
    layer = {
        "norms": 2 * 2 * d,
        "attention": 3 * d * d + 3 * d,
        "aggregator": d * d + d,
        "feed-forward": 2 * d * hidden + hidden + d,
    }
    assert describe("base").parameters == {
        "embeddings": {"embeddings": 1000 * d},
        "layer 1": layer,
        "layer 2": layer,
        "layer 3": layer,
        "top": {"norms": 2 * d, "head": d * d + d + 6 * d + 6},
    }


@pytest.mark.parametrize(("d", "heads"), [(512, 8), (1024, 16)])
@pytest.mark.parametrize("votes", ["shared", "per_head"])
@pytest.mark.parametrize("name", ROUTED)
def test_routing_costs_h_times_d_squared_weights_a_layer(name, votes, d, heads):
    sizes = {"model_dim": d, "num_heads": heads, "num_capsules": d, "votes": votes, "feed_forward_dim": 4 * d}
    base, routed = (describe(n, **sizes).parameters for n in ("base", name))
    input_biases = d if votes == "shared" else heads * d
    betas = 2 * d if name.startswith("em") else 0
    norm = 2 * d
    for layer in ("layer 1", "layer 2", "layer 3"):
        added = routed[layer]["aggregator"] - base[layer]["aggregator"]
        assert added == heads * d * d + (input_biases + norm + betas) - d  # d: the bias of W^O, which is gone
        for part in ("attention", "feed-forward", "norms"):
            assert routed[layer][part] == base[layer][part]
    assert routed["embeddings"] == base["embeddings"]
    assert routed["top"] == base["top"]


@pytest.mark.parametrize(("d", "heads", "millions"), [(512, 8, 2.1), (1024, 16, 16.8)])
def test_that_is_the_papers_parameter_column(d, heads, millions):
    """Table of the translation models: 88.0M, 90.1M, 92.2M, 94.3M with the routing in 0 to 3 layers."""
    sizes = {"model_dim": d, "num_heads": heads, "num_capsules": d}
    totals = [describe("base", **sizes).total]
    totals += [describe("em", layers_with_aggregator=tuple(range(1, n + 1)), **sizes).total for n in (1, 2, 3)]
    for before, after in itertools.pairwise(totals):
        assert round((after - before) / 1e6, 1) == millions


def test_layers_without_the_aggregator_stay_linear():
    whole, base = describe("em").parameters, describe("base").parameters
    some = describe("em", layers_with_aggregator=(2,)).parameters
    assert some["layer 2"] == whole["layer 2"]
    assert some["layer 1"] == base["layer 1"]
    assert some["layer 3"] == base["layer 3"]


def test_the_number_of_capsules_costs_nothing_in_votes():
    """The d numbers of a vote are only cut in other ways; the betas are one each per capsule."""
    wide, narrow = (describe("em", num_capsules=n).parameters["layer 1"]["aggregator"] for n in (512, 64))
    assert wide - narrow == 2 * (512 - 64)


def test_no_weights_are_made(monkeypatch):
    devices = set()
    original = nn.Module.register_parameter

    def register(self, name, parameter):
        devices.add(parameter.device.type if parameter is not None else "meta")
        original(self, name, parameter)

    monkeypatch.setattr(nn.Module, "register_parameter", register)
    describe("em")
    assert devices == {"meta"}
    assert torch.empty(1).device.type == "cpu"


def test_the_shapes():
    shapes = describe("em", num_capsules=64, num_classes=6).shapes
    assert shapes == {
        "hidden states": "(T, d=512)",
        "heads": "(T, H=8, d/H=64)",
        "votes": "(T, H=8, N=64, K=8)",
        "agreement weights": "(T, H=8, N=64)",
        "capsules": "(T, N=64, K=8)",
        "aggregated heads": "(T, d=512)",
        "feed-forward": "(T, 2048)",
        "sentence vector": "(B, d=512)",
        "scores": "(B, C=6)",
    }
    assert not {"votes", "agreement weights", "capsules"} & describe("base").shapes.keys()


def test_the_text_has_a_line_for_each_place():
    text = describe("em", vocabulary_size=30_000).text()
    lines = {line.split("  ")[0]: line.split() for line in text.splitlines() if line}
    assert text.startswith("aggregator=em, vocabulary_size=30000, num_classes=6, num_layers=3, model_dim=512")
    header = ["parameters", "embeddings", "attention", "aggregator", "feed-forward", "norms", "head", "sum"]
    assert lines["parameters"] == header
    assert lines["embeddings"] == ["embeddings", "15,360,000", "15,360,000"]
    assert lines["layer 1"][-1] == lines["layer 3"][-1]
    assert lines["total"][-1] == f"{describe('em', vocabulary_size=30_000).total:,}"
    assert "T tokens of a batch laid end to end, B sentences." in text


def test_a_custom_aggregator_is_a_part_too():
    class Mine(nn.Module):
        def __init__(self, model_dim, num_heads):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(model_dim))

    description = describe("my.py:Mine", factory=Mine)
    assert [description.parameters[f"layer {n}"]["aggregator"] for n in (1, 2, 3)] == [512] * 3


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("head.0.weight", ("head", None)),
        ("encoder.embedding.weight", ("embeddings", None)),
        ("encoder.norm.bias", ("norms", None)),
        ("encoder.layers.0.attention_norm.weight", ("norms", 1)),
        ("encoder.layers.2.feed_forward_norm.weight", ("norms", 3)),
        ("encoder.layers.1.feed_forward.0.weight", ("feed-forward", 2)),
        ("encoder.layers.1.attention.query_key_value.weight", ("attention", 2)),
        ("encoder.layers.1.attention.aggregator.norm.weight", ("aggregator", 2)),
        ("encoder.layers.10.attention.aggregator.head.norm.weight", ("aggregator", 11)),
    ],
)
def test_the_part_of_a_parameter(name, part):
    assert part_of(name) == part


def test_a_model_that_no_memory_holds():
    with pytest.raises(ProbingError, match=r"^the model is larger than the memory\. Lower model\.model_dim"):
        describe("base", model_dim=10**10, num_heads=1, num_capsules=1)
