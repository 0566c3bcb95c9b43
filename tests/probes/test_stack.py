"""Gradients are autograd's; classifiers of a size start alike."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from probing.probes.definitions import Configuration
from probing.probes.stack import Stack, count_parameters

DIM, CLASSES = 7, 4


def build(configurations: list[tuple[int, float, float]], dim: int = DIM) -> Stack:
    items = [Configuration(hidden=item[0], dropout=item[1], weight_decay=item[2]) for item in configurations]
    members = dict(enumerate(items))
    return Stack.build(members, input_dim=dim, num_classes=CLASSES, seed=3, device=torch.device("cpu"))


def draw(count: int = 9) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    inputs = torch.cat([torch.randn(count, DIM, generator=generator), torch.ones(count, 1)], 1)
    return inputs, torch.randint(CLASSES, (count,), generator=generator)


@pytest.mark.parametrize("hidden", [0, 5])
def test_gradients_are_those_of_autograd(hidden: int) -> None:
    stack = build([(hidden, 0.0, 0.0), (hidden, 0.0, 0.3)])
    for weight in stack.weights:
        weight.requires_grad_()
    inputs, labels = draw()
    scores = stack.scores(inputs)
    losses = torch.stack([torch.nn.functional.cross_entropy(each, labels) for each in scores])
    penalties = sum(0.5 * (stack.weight_decay.view(-1, 1, 1) * weight.square()).sum((1, 2)) for weight in stack.weights)
    expected = torch.autograd.grad((losses + penalties).sum(), stack.weights)
    with torch.no_grad():
        actual, gradients = stack.differentiate(inputs, labels, None)
    torch.testing.assert_close(actual / len(labels), losses)
    for gradient, right in zip(gradients, expected, strict=True):
        torch.testing.assert_close(gradient, right)


def test_dropout_falls_before_the_sigmoid_in_training_only() -> None:
    stack = build([(5, 0.5, 0.0), (5, 0.0, 0.0)])
    inputs, labels = draw()
    assert stack.drops
    torch.testing.assert_close(stack.scores(inputs)[0], stack.scores(inputs)[1])
    noise = torch.full((5, 9), 0.4)
    noise[2] = 0.6
    _, (first, second) = stack.differentiate(inputs, labels, noise)
    assert not first[0, [0, 1, 3, 4]].any()
    assert first[0, 2, :DIM].all()
    assert first[1, :, :DIM].all()
    assert second.shape == (2, CLASSES, 8)
    assert second[:, :, :6].all()  # a dropped unit gives sigmoid(0) = 0.5
    assert not second[:, :, 6:].any()


def test_linear_classifiers_drop_nothing() -> None:
    assert not build([(0, 0.5, 0.0)]).drops


def test_classifiers_of_a_size_start_alike_within_the_bounds_of_torch() -> None:
    stack = build([(6, 0.0, 0.0), (6, 0.1, 0.0)], dim=9)
    assert all(torch.equal(weight[0], weight[1]) for weight in stack.weights)
    assert [tuple(weight.shape) for weight in stack.weights] == [(2, 6, 16), (2, CLASSES, 8)]
    first = stack.weights[0][0]
    assert first[:, :10].all()
    assert not first[:, 10:].any()
    assert first.abs().max().item() <= 9**-0.5
    assert (stack.hidden, stack.num_classes) == (6, CLASSES)


def test_parameters_are_counted_without_padding() -> None:
    assert count_parameters(DIM, 0, CLASSES) == (DIM + 1) * CLASSES
    assert count_parameters(DIM, 6, CLASSES) == 6 * (DIM + 1) + (6 + 1) * CLASSES


def test_a_selection_is_a_copy() -> None:
    stack = build([(5, 0.0, 0.1), (5, 0.2, 0.2), (5, 0.4, 0.3)])
    chosen = stack.select([2, 0])
    assert (chosen.numbers, chosen.dropout.tolist()) == ([2, 0], pytest.approx([0.4, 0.0]))
    chosen.weights[0].zero_()
    assert stack.weights[0].any()
