from __future__ import annotations

import math

import pytest
import torch

from probing.aggregators.simple import SimpleAggregator, SimpleCodeAggregator, simple_routing

TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-5}


def route(case, dtype, **options):
    """Return capsules, agreement and the gradient of the votes."""
    votes = case.votes().to(dtype).requires_grad_()
    capsules, agreement = simple_routing(votes, iterations=case.iterations, **options)
    (gradient,) = torch.autograd.grad(capsules, votes, case.upstream().to(dtype))
    return capsules.detach(), agreement.detach(), gradient


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_is_what_the_paper_prints(case, dtype, paper_simple, assert_near):
    expected = paper_simple(case)
    capsules, agreement, gradient = route(case, dtype)
    assert capsules.dtype == agreement.dtype == dtype
    assert_near(capsules, expected.capsules, TOLERANCE[dtype])
    assert_near(agreement, expected.agreement, TOLERANCE[dtype])
    assert_near(gradient, expected.gradients[0], TOLERANCE[dtype], expected.gradient_scales[0])


@pytest.mark.parametrize("squash", [True, False])
@pytest.mark.parametrize("over", ["capsules", "heads"])
@pytest.mark.parametrize("name", ["plain", "K=2", "N=1"])
def test_options_are_what_the_paper_leaves_open(name, over, squash, cases, paper_simple, assert_near):
    expected = paper_simple(cases[name], squash=squash, over_heads=over == "heads")
    capsules, agreement, gradient = route(cases[name], torch.float64, squash=squash, softmax_over=over)
    assert_near(capsules, expected.capsules, 1e-10)
    assert_near(agreement, expected.agreement, 1e-10)
    assert_near(gradient, expected.gradients[0], 1e-10)


@pytest.mark.parametrize("over", ["capsules", "heads"])
@pytest.mark.parametrize("scale", [1e-6, 1e4, 1e6])
def test_votes_of_any_size_are_finite_without_squashing(scale, over):
    votes = (torch.randn(3, 4, 5, 2, generator=torch.Generator().manual_seed(0)) * scale).requires_grad_()
    capsules, agreement = simple_routing(votes, squash=False, softmax_over=over)
    capsules.sum().backward()
    for tensor in (capsules, agreement, votes.grad):
        assert tensor.isfinite().all()


def test_two_iterations_by_hand():
    # One head, two capsules with votes 1 and 2. One head always gives the mean: the votes themselves, which squashing
    # takes to v^2 / (1 + v^2). So B = (1/2, 8/5) after the first iteration, and C its softmax.
    votes = torch.tensor([[[1.0], [2.0]]], dtype=torch.float64)
    capsules, agreement = simple_routing(votes, iterations=2)
    assert capsules.flatten().tolist() == pytest.approx([0.5, 0.8], rel=1e-8)
    first = math.exp(0.5) / (math.exp(0.5) + math.exp(1.6))
    assert agreement.flatten().tolist() == pytest.approx([first, 1 - first], rel=1e-8)


def test_zero_votes_have_a_gradient():
    votes = torch.zeros(2, 3, 4, 2, requires_grad=True)
    capsules, _ = simple_routing(votes)
    capsules.sum().backward()
    assert capsules.eq(0).all()
    assert votes.grad.isfinite().all()


@pytest.mark.parametrize(("over", "dim"), [("capsules", -1), ("heads", -2)])
def test_agreement_sums_to_one(over, dim):
    _, agreement = simple_routing(torch.randn(6, 3, 8, 2), softmax_over=over)
    torch.testing.assert_close(agreement.sum(dim), torch.ones_like(agreement.sum(dim)))


def test_leading_dimensions_are_free():
    votes = torch.randn(2, 3, 4, 5, 2)
    capsules, agreement = simple_routing(votes)
    assert capsules.shape == (2, 3, 5, 2)
    assert agreement.shape == (2, 3, 4, 5)
    torch.testing.assert_close(capsules[1, 2], simple_routing(votes[1, 2])[0])


def test_misuse_is_named():
    with pytest.raises(ValueError, match=r"iterations must be at least 1\. Got 0 instead\."):
        simple_routing(torch.randn(2, 3, 1), iterations=0)
    with pytest.raises(ValueError, match=r"softmax_over must be 'capsules' or 'heads'\. Got 'tokens' instead\."):
        simple_routing(torch.randn(2, 3, 1), softmax_over="tokens")


def test_aggregator_routes_its_votes():
    torch.manual_seed(0)
    aggregator = SimpleAggregator(16, 4, num_capsules=8, iterations=2, squash=False)
    heads = torch.randn(5, 4, 4)
    expected, _ = simple_routing(aggregator.votes(heads), iterations=2, squash=False)
    torch.testing.assert_close(aggregator(heads), expected.flatten(1))


def test_code_variant_takes_the_softmax_over_heads_of_linear_capsules():
    torch.manual_seed(0)
    aggregator = SimpleCodeAggregator(16, 4, num_capsules=16)
    heads = torch.randn(5, 4, 4)
    norm = aggregator.votes.norm(heads.flatten(1))
    capsules = norm @ aggregator.votes.input_weight[0] + aggregator.votes.input_bias[0]
    votes = torch.stack([capsules @ weight.T for weight in aggregator.votes.vote_weight], 1).unsqueeze(-1)
    expected, _ = simple_routing(votes, softmax_over="heads")
    torch.testing.assert_close(aggregator(heads), expected.flatten(1), rtol=1e-4, atol=1e-6)
    assert not torch.allclose(expected, simple_routing(votes)[0], atol=1e-3)
