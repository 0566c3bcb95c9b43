from __future__ import annotations

import functools

import pytest
import torch
from torch.nn import functional

from probing.aggregators.linear import LinearAggregator
from probing.aggregators.votes import Votes


def norm_by_hand(heads, votes):
    concat = heads.flatten(1)
    centred = concat - concat.mean(1, keepdim=True)
    scaled = centred / (centred.square().mean(1, keepdim=True) + votes.norm.eps).sqrt()
    return scaled * votes.norm.weight + votes.norm.bias


def randomise(module):
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter)


@pytest.mark.parametrize("nonlinear", [True, False])
def test_shared_capsules_are_one_layer_on_the_concatenation(nonlinear):
    torch.manual_seed(0)
    votes, heads = Votes(12, 3, num_capsules=6, nonlinear=nonlinear).double(), torch.randn(5, 3, 4).double()
    randomise(votes)
    actual = votes(heads)
    assert actual.shape == (5, 3, 6, 2)
    norm = norm_by_hand(heads, votes)
    for token in range(5):
        capsule = votes.input_bias[0] + norm[token] @ votes.input_weight[0]
        if nonlinear:
            capsule = functional.relu(capsule)
        for head in range(3):
            expected = votes.vote_weight[head] @ capsule
            torch.testing.assert_close(actual[token, head].flatten(), expected)


def test_per_head_capsules_see_their_own_head():
    torch.manual_seed(0)
    votes, heads = Votes(12, 3, num_capsules=12, votes="per_head").double(), torch.randn(5, 3, 4).double()
    randomise(votes)
    actual = votes(heads)
    assert actual.shape == (5, 3, 12, 1)
    norm = norm_by_hand(heads, votes).view(5, 3, 4)
    for token in range(5):
        for head in range(3):
            capsule = functional.relu(votes.input_bias[head] + norm[token, head] @ votes.input_weight[head])
            torch.testing.assert_close(actual[token, head].flatten(), votes.vote_weight[head] @ capsule)


@pytest.mark.parametrize("votes", ["shared", "per_head"])
@pytest.mark.parametrize(("model_dim", "num_heads", "added"), [(512, 8, 2_100_000), (1024, 16, 16_800_000)])
def test_routing_adds_h_d_squared_weights(model_dim, num_heads, added, votes):
    with torch.device("meta"):
        routing = Votes(model_dim, num_heads, num_capsules=model_dim, votes=votes)
        linear = LinearAggregator(model_dim, num_heads)
    count = sum(parameter.numel() for parameter in routing.parameters())
    replaced = sum(parameter.numel() for parameter in linear.parameters())
    norm = 2 * model_dim
    biases = model_dim * (num_heads if votes == "per_head" else 1) - model_dim
    assert count - replaced == num_heads * model_dim**2 + norm + biases
    assert count - replaced == pytest.approx(added, rel=0.005)


def test_weights_start_in_the_bounds_of_xavier():
    torch.manual_seed(0)
    votes = Votes(64, 4, num_capsules=64, votes="per_head")
    for weight, fan in ((votes.input_weight, 16 + 64), (votes.vote_weight, 64 + 64)):
        assert weight.abs().max().item() == pytest.approx((6 / fan) ** 0.5, rel=0.01)
    assert votes.input_bias.eq(0).all()


def test_no_tokens_have_no_votes():
    assert Votes(12, 3, num_capsules=6)(torch.zeros(0, 3, 4)).shape == (0, 3, 6, 2)
    assert Votes(12, 3, num_capsules=6, votes="per_head")(torch.zeros(0, 3, 4)).shape == (0, 3, 6, 2)


def test_misuse_is_named():
    with pytest.raises(ValueError, match=r"must divide model_dim=12\. Got 5 and 6\."):
        Votes(12, 5, num_capsules=6)
    with pytest.raises(ValueError, match=r"must divide model_dim=12\. Got 3 and 7\."):
        Votes(12, 3, num_capsules=7)
    with pytest.raises(ValueError, match=r"votes must be 'shared' or 'per_head'\. Got 'per-head' instead\."):
        Votes(12, 3, num_capsules=6, votes="per-head")


def plain(votes, heads):
    """The votes by operations that keep all they need."""
    made = votes.vote(votes.make_capsules(heads))
    return made.reshape(*heads.shape[:2], votes.num_capsules, -1)


@pytest.mark.parametrize("nonlinear", [True, False])
@pytest.mark.parametrize("layout", ["shared", "per_head"])
def test_gradients_are_those_of_plain_operations(layout, nonlinear):
    votes = Votes(12, 3, num_capsules=6, votes=layout, nonlinear=nonlinear).double()
    randomise(votes)
    heads = torch.randn(5, 3, 4, dtype=torch.float64, requires_grad=True)
    inputs, upstream = [heads, *votes.parameters()], torch.randn(5, 3, 6, 2, dtype=torch.float64)
    found = [torch.autograd.grad(make(heads), inputs, upstream) for make in (votes, functools.partial(plain, votes))]
    for actual, expected in zip(*found, strict=True):
        torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize("layout", ["shared", "per_head"])
def test_gradients_can_be_differentiated_again(layout):
    votes = Votes(12, 3, num_capsules=6, votes=layout).double()
    heads = torch.randn(5, 3, 4, dtype=torch.float64, requires_grad=True)
    second = []
    for make in (votes, functools.partial(plain, votes)):
        first = torch.autograd.grad(make(heads).square().sum(), [heads, votes.vote_weight], create_graph=True)
        loss = sum(gradient.square().sum() for gradient in first)
        second.append(torch.autograd.grad(loss, [heads, *votes.parameters()]))
    for actual, expected in zip(*second, strict=True):
        torch.testing.assert_close(actual, expected)


def test_a_graph_may_be_used_twice_and_not_after_a_change():
    votes, heads = Votes(12, 3, num_capsules=6), torch.randn(5, 3, 4, requires_grad=True)
    made = votes(heads).square().sum()
    first, second = (torch.autograd.grad(made, heads, retain_graph=True)[0] for _ in range(2))
    assert torch.equal(first, second)
    with torch.no_grad():
        votes.input_weight.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        made.backward()


def test_only_what_needs_a_gradient_gets_one():
    votes, heads = Votes(12, 3, num_capsules=6), torch.randn(5, 3, 4)
    votes.norm.requires_grad_(False)
    votes(heads).sum().backward()
    assert heads.grad is None
    assert votes.norm.weight.grad is None
    assert votes.vote_weight.grad.abs().sum() > 0
    for parameter in votes.parameters():
        parameter.requires_grad_(False)
    votes.vote_weight.requires_grad_()
    assert torch.autograd.grad(votes(heads).sum(), votes.vote_weight)[0].abs().sum() > 0
    votes.vote_weight.requires_grad_(False)
    assert not votes(heads).requires_grad
    assert torch.autograd.grad(votes(heads.requires_grad_()).sum(), heads)[0].shape == heads.shape


@pytest.mark.parametrize("layout", ["shared", "per_head"])
def test_only_the_heads_are_kept_for_the_backward_pass(layout):
    votes, heads = Votes(64, 4, num_capsules=64, votes=layout), torch.randn(50, 4, 16, requires_grad=True)
    weights = {parameter.untyped_storage().data_ptr() for parameter in votes.parameters()}
    kept = set()

    def pack(tensor):
        kept.add(tensor.untyped_storage().data_ptr())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        votes(heads)
    assert kept - weights == {heads.untyped_storage().data_ptr()}
