"""oneDNN computes the same products, and only those that it can."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional

from probing.aggregators.em import EMAggregator
from probing.model import OneDnnProducts, multiply, products
from probing.model.products import has_onednn

needs_onednn = pytest.mark.skipif(not has_onednn(), reason="this torch is built without oneDNN")


@pytest.fixture
def calls(monkeypatch):
    """The products that oneDNN computes."""
    found = []
    monkeypatch.setattr(products, "multiply", lambda *args: found.append(args) or multiply(*args))
    return found


@needs_onednn
@pytest.mark.parametrize("bias", [True, False])
def test_linear_layers_are_the_same(bias, calls):
    torch.manual_seed(0)
    layer, inputs = nn.Linear(7, 5, bias=bias), torch.randn(6, 7)
    with torch.inference_mode(), OneDnnProducts():
        found = layer(inputs)
    assert len(calls) == 1
    torch.testing.assert_close(found, layer(inputs))


@needs_onednn
def test_frozen_weights_give_the_same_numbers():
    """Also weights that begin at the same place, and views that are made anew for each product."""
    torch.manual_seed(0)
    weight, inputs = torch.randn(6, 4), torch.randn(3, 4)
    weights = [lambda: weight, lambda: weight[:4], lambda: weight[:4].mT, lambda: weight[2:], lambda: weight.view(6, 4)]
    products = OneDnnProducts(frozen=True)
    with torch.inference_mode():
        expected = [multiply(inputs, make()) for make in weights]
        for _ in range(2):
            with products:
                found = [functional.linear(inputs, make()) for make in weights]
            assert all(map(torch.equal, found, expected))
    assert len(products.kept) == 4


@needs_onednn
def test_weights_that_are_not_frozen_may_change():
    layer, inputs = nn.Linear(4, 3), torch.ones(2, 4)
    with torch.no_grad(), OneDnnProducts() as products:
        layer(inputs)
        layer.weight.fill_(1.0)
        layer.bias.zero_()
        assert torch.equal(layer(inputs), torch.full((2, 3), 4.0))
    assert not products.kept


@needs_onednn
def test_products_with_a_bias_are_the_same(calls):
    torch.manual_seed(0)
    bias, left, right = torch.randn(5), torch.randn(6, 7), torch.randn(7, 5)
    with torch.no_grad(), OneDnnProducts():
        found = torch.addmm(bias, left, right)
    assert len(calls) == 1
    torch.testing.assert_close(found, bias + left @ right)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_other_types_are_left_to_torch(dtype, calls):
    inputs, weight = torch.ones(2, 3, dtype=dtype), torch.ones(4, 3, dtype=dtype)
    with torch.inference_mode(), OneDnnProducts():
        found = functional.linear(inputs, weight)
    assert not calls
    assert torch.equal(found, torch.full((2, 4), 3, dtype=dtype))


@needs_onednn
@pytest.mark.parametrize("bias", [True, False])
def test_gradients_are_the_same(bias, calls):
    torch.manual_seed(0)
    layer, inputs, upstream = nn.Linear(7, 5, bias=bias), torch.randn(6, 7, requires_grad=True), torch.randn(6, 5)
    wanted = [inputs, *layer.parameters()]
    expected = torch.autograd.grad(layer(inputs), wanted, upstream)
    with OneDnnProducts():
        found = torch.autograd.grad(layer(inputs), wanted, upstream)
    assert len(calls) == 3
    torch.testing.assert_close(found, expected)


@needs_onednn
def test_gradients_of_products_with_a_bias_are_the_same(calls):
    torch.manual_seed(0)
    wanted = [torch.randn(shape, requires_grad=True) for shape in ((5,), (6, 7), (7, 5))]
    upstream = torch.randn(6, 5)
    expected = torch.autograd.grad(wanted[0] + wanted[1] @ wanted[2], wanted, upstream)
    with OneDnnProducts():
        found = torch.autograd.grad(torch.addmm(*wanted), wanted, upstream)
    assert len(calls) == 3
    torch.testing.assert_close(found, expected)


@needs_onednn
def test_only_the_gradients_that_are_needed_are_computed(calls):
    layer = nn.Linear(3, 2).requires_grad_(False)
    inputs = torch.ones(4, 3, requires_grad=True)
    with OneDnnProducts():
        layer(inputs).sum().backward()
    assert len(calls) == 2
    torch.testing.assert_close(inputs.grad, layer.weight.sum(0).expand(4, 3))


@needs_onednn
def test_a_gradients_gradient():
    torch.manual_seed(0)
    inputs, weight = (torch.randn(shape, requires_grad=True) for shape in ((4, 3), (2, 3)))

    def differentiate_twice():
        (first,) = torch.autograd.grad(functional.linear(inputs, weight).pow(3).sum(), inputs, create_graph=True)
        return torch.autograd.grad(first.pow(2).sum(), (inputs, weight))

    expected = differentiate_twice()
    with OneDnnProducts():
        found = differentiate_twice()
    torch.testing.assert_close(found, expected)


@needs_onednn
@pytest.mark.parametrize("product", [torch.matmul, torch.mm, lambda left, right: left @ right, torch.Tensor.matmul])
def test_products_of_two_matrices_are_the_same(product, calls):
    torch.manual_seed(0)
    left, right = torch.randn(6, 7), torch.randn(5, 7).mT
    with torch.no_grad(), OneDnnProducts():
        found = product(left, right)
    assert len(calls) == 1
    torch.testing.assert_close(found, left @ right)


def test_autocast_is_left_to_torch(calls):
    with torch.no_grad(), OneDnnProducts(), torch.autocast("cpu", torch.bfloat16):
        assert functional.linear(torch.ones(2, 3), torch.ones(4, 3)).dtype == torch.bfloat16
    assert not calls


@needs_onednn
@pytest.mark.parametrize("votes", ["shared", "per_head"])
def test_a_routed_attention_has_the_same_gradients(votes, calls):
    torch.manual_seed(0)
    aggregator = EMAggregator(8, 2, num_capsules=8, votes=votes)
    heads = torch.randn(5, 2, 4, requires_grad=True)
    wanted = [heads, *aggregator.parameters()]
    expected = torch.autograd.grad(aggregator(heads).pow(2).sum(), wanted)
    with OneDnnProducts():
        found = torch.autograd.grad(aggregator(heads).pow(2).sum(), wanted)
    assert bool(calls) == (votes == "shared")
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def test_no_rows_are_left_to_torch(calls):
    with torch.inference_mode(), OneDnnProducts():
        assert functional.linear(torch.ones(0, 3), torch.ones(2, 3)).shape == (0, 2)
    assert not calls


def test_a_torch_without_onednn(calls, monkeypatch):
    monkeypatch.setattr(products, "has_onednn", lambda: False)
    with torch.inference_mode(), OneDnnProducts():
        assert torch.equal(functional.linear(torch.ones(1, 3), torch.ones(1, 3)), torch.tensor([[3.0]]))
    assert not calls
