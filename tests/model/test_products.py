"""oneDNN computes the same products, and only those that it can."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional

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


def test_gradients_are_left_to_torch(calls):
    layer = nn.Linear(3, 2)
    with OneDnnProducts():
        layer(torch.ones(4, 3)).sum().backward()
    assert not calls
    assert torch.equal(layer.weight.grad, torch.full((2, 3), 4.0))


def test_no_rows_are_left_to_torch(calls):
    with torch.inference_mode(), OneDnnProducts():
        assert functional.linear(torch.ones(0, 3), torch.ones(2, 3)).shape == (0, 2)
    assert not calls


def test_a_torch_without_onednn(calls, monkeypatch):
    monkeypatch.setattr(products, "has_onednn", lambda: False)
    with torch.inference_mode(), OneDnnProducts():
        assert torch.equal(functional.linear(torch.ones(1, 3), torch.ones(1, 3)), torch.tensor([[3.0]]))
    assert not calls
