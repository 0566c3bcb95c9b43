from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch.nn import functional

from probing.aggregators.em import EMAggregator, EMCodeAggregator, em_routing

TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-5}


def route(case, dtype, **options):
    """Return capsules, agreement and the gradients of votes and betas."""
    inputs = [tensor.to(dtype).requires_grad_() for tensor in (case.votes(), *case.betas())]
    capsules, agreement = em_routing(*inputs, iterations=case.iterations, **options)
    return capsules.detach(), agreement.detach(), torch.autograd.grad(capsules, inputs, case.upstream().to(dtype))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_is_what_the_paper_prints(case, dtype, paper_em, assert_near):
    expected = paper_em(case)
    capsules, agreement, gradients = route(case, dtype)
    assert capsules.dtype == agreement.dtype == dtype
    assert_near(capsules, expected.capsules, TOLERANCE[dtype])
    assert_near(agreement, expected.agreement, TOLERANCE[dtype])
    for actual, wanted, scale in zip(gradients, expected.gradients, expected.gradient_scales, strict=True):
        assert_near(actual, wanted, TOLERANCE[dtype], scale)


@pytest.mark.parametrize("options", [{"inverse_temperature": (0.5, 0.25, 2.0)}, {"activate": False}], ids=str)
@pytest.mark.parametrize("name", ["plain", "K=2"])
def test_options_are_what_the_paper_leaves_open(name, options, cases, paper_em, assert_near):
    expected = paper_em(cases[name], **options)
    capsules, agreement, gradients = route(cases[name], torch.float64, **options)
    assert_near(capsules, expected.capsules, 1e-10)
    assert_near(agreement, expected.agreement, 1e-10)
    for actual, wanted in zip(gradients, expected.gradients, strict=True):
        assert_near(actual, wanted, 1e-10)


def test_one_iteration_by_hand():
    # Two heads vote 1 and 3 for the only capsule: C = 1, mean 2, variance 1, so log(sigma) = 0 and the cost is
    # chi = (1 + log 2 pi) / 2 * 2 heads; A = logistic(1 * (0.5 - 0.25 * 2 - chi)).
    votes = torch.tensor([[[1.0]], [[3.0]]], dtype=torch.float64)
    capsules, agreement = em_routing(votes, torch.tensor(0.5), torch.tensor(0.25), iterations=1)
    assert agreement.tolist() == [[1.0], [1.0]]
    assert capsules.item() == pytest.approx(2 / (1 + 2 * math.pi * math.e), rel=1e-12)


def test_heads_share_out_their_agreement():
    _, agreement = em_routing(torch.randn(6, 3, 8, 2), torch.zeros(8), torch.zeros(8))
    assert agreement.shape == (6, 3, 8)
    torch.testing.assert_close(agreement.sum(-1), torch.ones(6, 3))


def test_leading_dimensions_are_free():
    votes, beta_a, beta_mu = torch.randn(2, 3, 4, 5, 2), torch.randn(5), torch.randn(5)
    capsules, agreement = em_routing(votes, beta_a, beta_mu)
    assert capsules.shape == (2, 3, 5, 2)
    assert agreement.shape == (2, 3, 4, 5)
    alone, _ = em_routing(votes[1, 2], beta_a, beta_mu)
    torch.testing.assert_close(capsules[1, 2], alone)


def test_the_floor_changes_no_variance_above_it():
    # Two votes 2 s apart have variance s^2 = 4e-9: four times the floor, which must not be added to it.
    spread = 4e-9**0.5
    votes = torch.tensor([[[-spread]], [[spread]]], dtype=torch.float64) + 1
    capsules, _ = em_routing(votes, torch.zeros(1), torch.zeros(1), iterations=1)
    cost = 2 * (math.log(spread) + (1 + math.log(2 * math.pi)) / 2)
    assert capsules.item() == pytest.approx(1 / (1 + math.exp(cost)), rel=1e-6)
    assert capsules.item() == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("scale", [1e-6, 1e4, 1e6])
def test_equal_votes_of_any_size_are_finite(scale):
    votes = torch.full((2, 3, 4, 1), scale).requires_grad_()
    beta_a, beta_mu = torch.zeros(4, requires_grad=True), torch.zeros(4, requires_grad=True)
    capsules, agreement = em_routing(votes, beta_a, beta_mu)
    capsules.sum().backward()
    for tensor in (capsules, agreement, votes.grad, beta_a.grad, beta_mu.grad):
        assert tensor.isfinite().all()


def test_the_schedule_is_any_sequence():
    votes, beta = torch.randn(2, 3, 1), torch.zeros(3)
    expected = em_routing(votes, beta, beta, inverse_temperature=(0.5, 1.0, 1.5))
    for schedule in ([0.5, 1.0, 1.5], torch.tensor([0.5, 1.0, 1.5]), np.array([0.5, 1.0, 1.5])):
        for ours, theirs in zip(em_routing(votes, beta, beta, inverse_temperature=schedule), expected, strict=True):
            assert torch.equal(ours, theirs)
    assert torch.equal(em_routing(votes, beta, beta)[0], em_routing(votes, beta, beta, inverse_temperature=())[0])


def test_misuse_is_named():
    votes, beta = torch.randn(2, 3, 1), torch.zeros(3)
    with pytest.raises(ValueError, match=r"iterations must be at least 1\. Got 0 instead\."):
        em_routing(votes, beta, beta, iterations=0)
    with pytest.raises(ValueError, match=r"one value for each of 3 iterations\. Got 2 instead\."):
        em_routing(votes, beta, beta, inverse_temperature=(1.0, 2.0))


def test_aggregator_routes_its_votes():
    torch.manual_seed(0)
    aggregator = EMAggregator(16, 4, num_capsules=8, iterations=2, inverse_temperature=(1.0, 1.5))
    heads = torch.randn(5, 4, 4)
    expected, _ = em_routing(
        aggregator.votes(heads), aggregator.beta_a, aggregator.beta_mu, iterations=2, inverse_temperature=(1.0, 1.5)
    )
    torch.testing.assert_close(aggregator(heads), expected.flatten(1))


def test_betas_start_as_in_the_released_code():
    torch.manual_seed(0)
    aggregator = EMAggregator(1024, 1, num_capsules=1024)
    for beta in (aggregator.beta_a, aggregator.beta_mu):
        assert beta.shape == (1024,)
        assert beta.std().item() == pytest.approx(1024**-0.5, rel=0.1)


def test_code_variant_returns_the_means():
    torch.manual_seed(0)
    aggregator = EMCodeAggregator(16, 4, num_capsules=16)
    heads = torch.randn(5, 4, 4)
    votes = aggregator.votes(heads)
    capsules, agreement = em_routing(votes, aggregator.beta_a, aggregator.beta_mu)
    means = (functional.normalize(agreement, p=1, dim=1).unsqueeze(-1) * votes).sum(1).flatten(1)
    torch.testing.assert_close(aggregator(heads), means)
    assert not torch.allclose(means, capsules.flatten(1))


@pytest.mark.parametrize("implementation", ["auto", "reference"])
@pytest.mark.parametrize("spread", [1e-1, 1e-2, 1e-3])
def test_votes_that_are_nearly_equal_keep_their_digits(implementation, spread):
    """Deviations are what everything is divided by; rounded means must not drown them."""
    generator = torch.Generator().manual_seed(0)
    votes = torch.randn(5, 1, 16, 1, generator=generator) + spread * torch.randn(5, 4, 16, 1, generator=generator)
    upstream = torch.randn(5, 16, 1, generator=generator)
    betas = torch.randn(2, 16, generator=generator)
    found = {}
    for dtype in (torch.float32, torch.float64):
        given = votes.to(dtype, copy=True).requires_grad_()
        capsules, _ = em_routing(given, *betas.to(dtype), implementation=implementation)
        (capsules * upstream.to(dtype)).sum().backward()
        found[dtype] = (capsules.detach().double(), given.grad.double())
    for narrow, wide in zip(found[torch.float32], found[torch.float64], strict=True):
        assert ((narrow - wide).abs().max() / wide.abs().max()).item() < 1e-5


def test_betas_may_be_numbers():
    votes = torch.randn(3, 4, 6, 2)
    for number, tensor in zip(
        em_routing(votes, 0.5, -1.0), em_routing(votes, torch.full((6,), 0.5), torch.full((6,), -1.0)), strict=True
    ):
        assert torch.equal(number, tensor)
