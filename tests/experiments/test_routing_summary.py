"""Figures of the routing on the whole: against the slow formulas."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch

from probing.aggregators.em import EMAggregator, em_routing
from probing.experiments.routing_summary import count_effective_heads, measure_spread


def test_effective_heads_are_the_exponential_of_the_entropy() -> None:
    agreement = np.random.default_rng(0).random((2, 5, 4, 3))
    expected = []
    for iteration in agreement:
        found = []
        for token in iteration:
            for capsule in token.T:
                shares = capsule / capsule.sum()
                found.append(math.exp(-sum(share * math.log(share) for share in shares)))
        expected.append(sum(found) / len(found))
    assert count_effective_heads(torch.from_numpy(agreement)) == pytest.approx(expected, abs=1e-4)


def test_one_head_alone_is_one_and_equal_heads_are_all() -> None:
    alone = torch.zeros(1, 2, 4, 3)
    alone[:, :, 1] = 0.7
    assert count_effective_heads(alone) == [1.0]
    assert count_effective_heads(torch.full((1, 2, 4, 3), 0.2)) == [4.0]
    alone[:, :, :, 2] = 0.0  # a capsule that every head leaves has no shares
    assert count_effective_heads(alone) == [1.0]


def test_the_spread_is_relative_to_the_mean_activation() -> None:
    activation = torch.tensor([[0.2, 0.5], [0.4, 0.5]])
    assert measure_spread(activation) == pytest.approx((0.4, (0.1 + 0) / 2 / 0.4), abs=1e-4)


@pytest.mark.parametrize("sizes", [{"num_capsules": 8}, {"num_capsules": 2}, {"num_capsules": 8, "iterations": 1}])
@pytest.mark.parametrize("schedule", [(), (0.5, 1.5, 2.5)])
def test_activations_are_the_factor_of_the_means(sizes: dict[str, int], schedule: tuple[float, ...]) -> None:
    torch.manual_seed(0)
    schedule = schedule[: sizes.get("iterations", 3)]
    aggregator = EMAggregator(8, 4, **sizes, inverse_temperature=schedule).double()
    heads = torch.randn(6, 4, 2, dtype=torch.float64)
    votes = aggregator.votes(heads)
    run: Callable[..., tuple[torch.Tensor, torch.Tensor]] = em_routing
    options = {"iterations": aggregator.iterations, "inverse_temperature": schedule}
    with_factor, _ = run(votes, aggregator.beta_a, aggregator.beta_mu, **options)
    means, _ = run(votes, aggregator.beta_a, aggregator.beta_mu, activate=False, **options)
    torch.testing.assert_close(aggregator.activations(heads).unsqueeze(-1) * means, with_factor)
