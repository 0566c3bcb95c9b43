"""The kernel and oneDNN compute the same products, and only those that they can."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from probing.aggregators.em import EMAggregator
from probing.native import FastProducts, active_products, differentiate, operations_as_they_are, products
from probing.native.processor import has_onednn
from probing.native.products import find_kernel, multiply, multiply_by_onednn
from probing.training.optimizer import Optimizer

needs_onednn = pytest.mark.skipif(not has_onednn(), reason="this torch is built without oneDNN")


@pytest.fixture(params=["kernel", "oneDNN"], autouse=True)
def way(request, monkeypatch):
    """All tests run by the kernel and by oneDNN."""
    if request.param == "oneDNN":
        monkeypatch.setattr(products, "find_kernel", lambda: None)
    elif find_kernel() is None:
        pytest.skip("this processor has no vectors for the kernel")
    return request.param


@pytest.fixture
def calls(monkeypatch):
    """The products that are not torch's own."""
    found = []
    monkeypatch.setattr(products, "multiply", lambda *args: found.append(args) or multiply(*args))
    return found


@needs_onednn
@pytest.mark.parametrize("bias", [True, False])
def test_linear_layers_are_the_same(bias, calls):
    torch.manual_seed(0)
    layer, inputs = nn.Linear(7, 5, bias=bias), torch.randn(6, 7)
    with torch.inference_mode(), FastProducts():
        found = layer(inputs)
    assert len(calls) == 1
    torch.testing.assert_close(found, layer(inputs))


@needs_onednn
def test_frozen_weights_give_the_same_numbers():
    """Also weights that begin at the same place, and views that are made anew for each product."""
    torch.manual_seed(0)
    weight, inputs = torch.randn(6, 4), torch.randn(3, 4)
    weights = [lambda: weight, lambda: weight[:4], lambda: weight[:4].mT, lambda: weight[2:], lambda: weight.view(6, 4)]
    products = FastProducts(frozen=True)
    with torch.inference_mode():
        expected = [multiply_by_onednn(inputs, make()) for make in weights]
        for _ in range(2):
            with products:
                found = [functional.linear(inputs, make()) for make in weights]
            assert all(map(torch.equal, found, expected))
    assert len(products.kept) == 4


@needs_onednn
def test_weights_that_are_not_frozen_may_change():
    layer, inputs = nn.Linear(4, 3), torch.ones(2, 4)
    with torch.no_grad(), FastProducts() as products:
        layer(inputs)
        layer.weight.fill_(1.0)
        layer.bias.zero_()
        assert torch.equal(layer(inputs), torch.full((2, 3), 4.0))
    assert not products.kept


@needs_onednn
def test_products_with_a_bias_are_the_same(calls):
    torch.manual_seed(0)
    bias, left, right = torch.randn(5), torch.randn(6, 7), torch.randn(7, 5)
    with torch.no_grad(), FastProducts():
        found = torch.addmm(bias, left, right)
    assert len(calls) == 1
    torch.testing.assert_close(found, bias + left @ right)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_other_types_are_left_to_torch(dtype, calls):
    inputs, weight = torch.ones(2, 3, dtype=dtype), torch.ones(4, 3, dtype=dtype)
    with torch.inference_mode(), FastProducts():
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
    with FastProducts():
        found = torch.autograd.grad(layer(inputs), wanted, upstream)
    assert len(calls) == 3
    torch.testing.assert_close(found, expected)


@needs_onednn
def test_gradients_of_products_with_a_bias_are_the_same(calls):
    torch.manual_seed(0)
    wanted = [torch.randn(shape, requires_grad=True) for shape in ((5,), (6, 7), (7, 5))]
    upstream = torch.randn(6, 5)
    expected = torch.autograd.grad(wanted[0] + wanted[1] @ wanted[2], wanted, upstream)
    with FastProducts():
        found = torch.autograd.grad(torch.addmm(*wanted), wanted, upstream)
    assert len(calls) == 3
    torch.testing.assert_close(found, expected)


@needs_onednn
def test_only_the_gradients_that_are_needed_are_computed(calls):
    layer = nn.Linear(3, 2).requires_grad_(False)
    inputs = torch.ones(4, 3, requires_grad=True)
    with FastProducts():
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
    with FastProducts():
        found = differentiate_twice()
    torch.testing.assert_close(found, expected)


@needs_onednn
@pytest.mark.parametrize("product", [torch.matmul, torch.mm, lambda left, right: left @ right, torch.Tensor.matmul])
def test_products_of_two_matrices_are_the_same(product, calls):
    torch.manual_seed(0)
    left, right = torch.randn(6, 7), torch.randn(5, 7).mT
    with torch.no_grad(), FastProducts():
        found = product(left, right)
    assert len(calls) == 1
    torch.testing.assert_close(found, left @ right)


def test_autocast_is_left_to_torch(calls):
    with torch.no_grad(), FastProducts(), torch.autocast("cpu", torch.bfloat16):
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
    with FastProducts():
        found = torch.autograd.grad(aggregator(heads).pow(2).sum(), wanted)
    assert bool(calls) == (votes == "shared")
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def test_no_rows_are_left_to_torch(calls):
    with torch.inference_mode(), FastProducts():
        assert functional.linear(torch.ones(0, 3), torch.ones(2, 3)).shape == (0, 2)
    assert not calls


def test_a_torch_without_onednn(calls, monkeypatch):
    monkeypatch.setattr(products, "has_onednn", lambda: False)
    with torch.inference_mode(), FastProducts():
        assert torch.equal(functional.linear(torch.ones(1, 3), torch.ones(1, 3)), torch.tensor([[3.0]]))
    assert not calls


@needs_onednn
@pytest.mark.parametrize(("rows", "columns", "others"), [(5, 3, 7), (5, 7, 3), (1, 1, 1), (40, 16, 64)])
def test_the_gradient_of_weights_turns_the_narrower_matrix(rows: int, columns: int, others: int):
    left, right = torch.randn(rows, columns), torch.randn(rows, others)
    torch.testing.assert_close(products.multiply_turned(left, right), left.mT @ right)


SHAPES = [(1, 1, 1), (5, 63, 3), (6, 64, 256), (49, 65, 257), (100, 130, 600), (13, 16, 17), (1, 200, 40), (700, 1, 9)]
LAYOUTS = ["rows", "columns", "apart"]


def lay_out(matrix, layout):
    """The same matrix with contiguous rows, with contiguous columns, or with neither."""
    if layout == "columns":
        return matrix.mT.contiguous().mT
    return matrix if layout == "rows" else matrix.repeat_interleave(2, 1)[:, ::2]


@needs_onednn
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("left_layout", LAYOUTS)
@pytest.mark.parametrize("right_layout", LAYOUTS)
def test_products_are_those_of_float64(shape, left_layout, right_layout):
    rows, columns, depth = shape
    generator = torch.Generator().manual_seed(rows)
    left, right, bias = (torch.randn(size, generator=generator) for size in ((rows, depth), (columns, depth), columns))
    found = multiply(lay_out(left, left_layout), lay_out(right, right_layout), bias)
    bound = 2**-23 * (left.abs().double() @ right.abs().double().mT + bias.abs().double()) * depth**0.5
    assert ((found.double() - left.double() @ right.double().mT - bias.double()).abs() <= bound + 1e-30).all()
    assert torch.equal(multiply(left, right), multiply(left, right, torch.zeros(columns)))


def test_neither_threads_nor_other_rows_change_a_number(way):
    if way == "oneDNN":
        pytest.skip("oneDNN does not promise it")
    generator = torch.Generator().manual_seed(0)
    left, right = torch.randn(333, 300, generator=generator), torch.randn(100, 300, generator=generator)
    before, whole = torch.get_num_threads(), multiply(left, right)
    try:
        for threads in (1, 2, 3, 8):
            torch.set_num_threads(threads)
            assert torch.equal(multiply(left, right), whole)
    finally:
        torch.set_num_threads(before)
    for start, end in ((0, 1), (7, 100), (50, 333)):
        assert torch.equal(multiply(left[start:end], right), whole[start:end])
        assert torch.equal(multiply(left, right[start % 90 : end % 90 + 5]), whole[:, start % 90 : end % 90 + 5])


@needs_onednn
def test_what_is_not_finite_stays_in_its_row_and_column():
    left, right = torch.ones(70, 20), torch.ones(70, 20)
    left[3, 4], left[65, 0], right[66, 19] = torch.nan, torch.inf, -torch.inf
    found, expected = multiply(left, right), left.double() @ right.double().mT
    torch.testing.assert_close(found.double(), expected, equal_nan=True, rtol=0, atol=0)


@needs_onednn
def test_a_repeated_row_and_a_repeated_column_are_matrices_too():
    generator = torch.Generator().manual_seed(0)
    right, row = torch.randn(9, 8, generator=generator), torch.randn(8, generator=generator)
    column, number = torch.randn(6, 1, generator=generator), torch.ones(1, 1)
    for left in (row.expand(6, 8), column.expand(6, 8), number.expand(6, 8), row.view(1, 8), column.expand(6, 1)):
        for other in (right[:, : left.shape[1]], row[: left.shape[1]].expand(9, left.shape[1])):
            torch.testing.assert_close(multiply(left, other), left @ other.mT)


@needs_onednn
def test_a_product_of_more_dimensions():
    generator = torch.Generator().manual_seed(0)
    inputs, weight = torch.randn(2, 3, 4, generator=generator), torch.randn(5, 4, generator=generator)
    with torch.no_grad(), FastProducts():
        torch.testing.assert_close(functional.linear(inputs, weight), inputs @ weight.mT)


@needs_onednn
def test_narrow_products_are_those_of_rounded_matrices():
    generator = torch.Generator().manual_seed(0)
    layer = nn.Linear(24, 40)
    inputs = torch.randn(30, 24, generator=generator).requires_grad_()
    upstream = torch.randn(30, 40, generator=generator)
    with FastProducts(narrow=True):
        output = layer(inputs)
        output.backward(upstream)
    rounded, weight, given = (each.detach().bfloat16().double() for each in (inputs, layer.weight, upstream))
    bound = {"rtol": 2**-8, "atol": 1e-6}  # one rounding of the product
    torch.testing.assert_close((output - layer.bias).double(), rounded @ weight.mT, rtol=2**-8, atol=1e-5)
    torch.testing.assert_close(inputs.grad.double(), given @ weight, **bound)
    torch.testing.assert_close(layer.weight.grad.double(), given.mT @ rounded, **bound)
    torch.testing.assert_close(layer.bias.grad, upstream.sum(0))
    assert output.dtype == inputs.grad.dtype == layer.weight.grad.dtype == torch.float32


@needs_onednn
@pytest.mark.parametrize("rows", [1, 63, 64, 65, 130])
def test_rows_that_fill_up_narrow_matrices_change_nothing(rows: int):
    generator = torch.Generator().manual_seed(rows)
    layer = nn.Linear(8, 5)
    inputs = torch.randn(130, 8, generator=generator)
    with FastProducts(narrow=True):
        whole = layer(inputs)
        output = layer(inputs[:rows].requires_grad_())
        output.sum().backward()
        found = layer.weight.grad
    with torch.no_grad(), FastProducts(narrow=True):
        assert torch.equal(layer(inputs[:rows]), output)
        torch.testing.assert_close(output, whole[:rows], rtol=2**-8, atol=1e-6)
    expected = inputs[:rows].bfloat16().double().sum(0).expand(5, 8)
    torch.testing.assert_close(found.double(), expected, rtol=2**-7, atol=1e-5)


@needs_onednn
@pytest.mark.parametrize("narrow", [False, True, None])
def test_the_gradients_of_a_product_are_those_of_torch(narrow: bool | None):
    torch.manual_seed(0)
    gradient, inputs, weight = torch.randn(70, 5), torch.randn(70, 8), torch.randn(5, 8)
    with torch.no_grad(), nullcontext() if narrow is None else FastProducts(narrow=narrow):
        by_input, by_weight = differentiate(gradient, inputs, weight)
    rounded = [each.bfloat16().double() if narrow else each.double() for each in (gradient, inputs, weight)]
    bound = {"rtol": 2**-7, "atol": 1e-2} if narrow else {"rtol": 1e-5, "atol": 1e-5}
    torch.testing.assert_close(by_input.double(), rounded[0] @ rounded[2], **bound)
    torch.testing.assert_close(by_weight.double(), rounded[0].mT @ rounded[1], **bound)


@needs_onednn
def test_votes_have_products_by_onednn_in_the_backward_pass_too(monkeypatch: pytest.MonkeyPatch):
    aggregator = EMAggregator(16, 2, num_capsules=16)
    heads = torch.randn(6, 2, 8, requires_grad=True)
    found = []
    monkeypatch.setattr(products, "multiply", lambda *args: found.append(args) or multiply(*args))
    with FastProducts():
        output = aggregator(heads)
    found.clear()
    output.sum().backward()
    assert len(found) == 5  # the input capsules again; gradients of capsules, both weights, and of the heads


@needs_onednn
def test_the_context_of_a_precision(monkeypatch: pytest.MonkeyPatch):
    cpu = torch.device("cpu")
    monkeypatch.setattr(products, "has_slow_mkl", lambda: False)
    assert not isinstance(products.products_in(torch.float32, cpu), FastProducts)
    monkeypatch.setattr(products, "has_slow_mkl", lambda: True)
    for precision, narrow in ((torch.float32, False), (torch.bfloat16, True)):
        context = products.products_in(precision, cpu)
        assert isinstance(context, FastProducts)
        assert context.narrow is narrow
        with context:
            assert products.active_products() is context
            with FastProducts() as inner:
                assert products.active_products() is inner
            assert products.active_products() is context
    assert not isinstance(products.active_products(), FastProducts)
    assert isinstance(products.products_in(torch.float16, cpu), torch.autocast)


class Recorder(TorchFunctionMode):
    """Counts the operations of torch that pass by."""

    def __init__(self) -> None:
        self.seen = 0

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.seen += 1
        return function(*args, **(kwargs or {}))


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The operations that `FastProducts` has looked at."""
    found: list[object] = []
    method = FastProducts.__torch_function__

    def note(self, function, types, args=(), kwargs=None):
        found.append(function)
        return method(self, function, types, args, kwargs)

    monkeypatch.setattr(FastProducts, "__torch_function__", note)
    return found


@needs_onednn
def test_operations_as_they_are_are_not_looked_at(looked_at):
    weights = torch.ones(2, 2)
    with operations_as_they_are():
        assert weights.sum() == 4.0
    with FastProducts() as active:
        with operations_as_they_are():
            weights.data_ptr()
            assert not looked_at
            assert active_products() is active
            with active_products():
                weights.data_ptr()
            assert looked_at.pop() is torch.Tensor.data_ptr
            weights.data_ptr()
            with pytest.raises(KeyError), FastProducts(), operations_as_they_are():
                raise KeyError
            weights.data_ptr()
            assert not looked_at
        weights.data_ptr()
        assert looked_at.pop() is torch.Tensor.data_ptr
    weights.data_ptr()
    assert not looked_at


@needs_onednn
def test_somebody_elses_look_at_operations_stays():
    weights = torch.ones(2, 2)
    with FastProducts(), Recorder() as recorder, operations_as_they_are():
        weights.data_ptr()
    assert recorder.seen == 1


@needs_onednn
def test_a_training_step_looks_at_operations_in_the_forward_pass_only(looked_at):
    model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    optimizer = Optimizer(model, learning_rate=0.1, warmup_steps=1, clip_norm=1.0)
    inputs = torch.ones(5, 4)

    def losses():
        looked_at.clear()
        yield model(inputs).sum()
        assert looked_at == forward

    with FastProducts():
        model(inputs).sum()
        forward = list(looked_at)
        optimizer.step(losses())
    assert forward.count(functional.linear) == 2
    assert looked_at == forward
