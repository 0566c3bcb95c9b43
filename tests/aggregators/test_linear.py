from __future__ import annotations

import torch

from probing.aggregators.linear import LinearAggregator


def test_is_a_linear_map_of_the_concatenation():
    aggregator = LinearAggregator(4, 2)
    with torch.no_grad():
        aggregator.output.weight.copy_(torch.tensor([[1.0, 2, 3, 4], [0, 0, 0, 1], [1, 0, 0, 0], [0, 1, 1, 0]]))
        aggregator.output.bias.copy_(torch.tensor([0.5, 0, 0, -1]))
    heads = torch.tensor([[[1.0, 10.0], [100.0, 1000.0]]])
    assert aggregator(heads).tolist() == [[4321.5, 1000.0, 1.0, 109.0]]


def test_costs_d_squared_weights_and_a_bias():
    with torch.device("meta"):
        aggregator = LinearAggregator(512, 8)
    assert sum(parameter.numel() for parameter in aggregator.parameters()) == 512**2 + 512


def test_starts_without_bias():
    assert LinearAggregator(8, 2).output.bias.eq(0).all()
