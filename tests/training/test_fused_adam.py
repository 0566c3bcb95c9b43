"""The kernel of Adam against the formulas in float64, and rows of a gradient against the whole of it."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch import Tensor

from probing import native
from probing.training import fused_adam
from probing.training.fused_adam import AdamStep, Moments, can_move, move
from probing.training.optimizer import Optimizer

pytestmark = pytest.mark.skipif(native.load("step").library is None, reason="there is no C++ compiler")
SHAPES = [(), (3,), (40, 7), (9000,), (130, 129), (0, 4)]


def make(shapes: list[tuple[int, ...]], seed: int = 0) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator) for shape in shapes]


def run(step: AdamStep, gradients: list[list[Tensor]]) -> list[Tensor]:
    weights = make([tuple(each.shape) for each in gradients[0]], seed=1)
    means, squares = ([torch.zeros_like(each) for each in weights] for _ in range(2))
    for number, given in enumerate(gradients, 1):
        found = [Moments(*each, number) for each in zip(weights, means, squares, strict=True)]
        norm = move(found, given, step)
        dense = [each.to_dense() if each.is_sparse else each for each in given]
        expected = math.sqrt(sum(float(each.double().square().sum()) for each in dense)) if step.clip_norm else 0.0
        assert norm == pytest.approx(expected, rel=1e-12)
    return weights


def run_slowly(step: AdamStep, gradients: list[list[Tensor]]) -> list[Tensor]:
    """Adam as its paper has it, number by number in float64."""
    weights = [each.double() for each in make([tuple(each.shape) for each in gradients[0]], seed=1)]
    means, squares = ([torch.zeros_like(each) for each in weights] for _ in range(2))
    for number, given in enumerate(gradients, 1):
        norm = math.sqrt(sum(float(each.double().square().sum()) for each in given))
        scale = min(1.0, step.clip_norm / (norm + 1e-6)) if step.clip_norm else 1.0
        for weight, mean, square, gradient in zip(weights, means, squares, given, strict=True):
            g = gradient.double() * scale
            if weight.dim() > 1:
                weight *= 1 - step.learning_rate * step.weight_decay
            mean.copy_(step.beta1 * mean + (1 - step.beta1) * g)
            square.copy_(step.beta2 * square + (1 - step.beta2) * g * g)
            corrected = mean / (1 - step.beta1**number), square / (1 - step.beta2**number)
            weight -= step.learning_rate * corrected[0] / (corrected[1].sqrt() + step.epsilon)
    return weights


@pytest.mark.parametrize(("clip_norm", "weight_decay"), [(0.0, 0.0), (1.0, 0.0), (1e9, 0.1), (0.5, 0.3)])
def test_steps_are_those_of_the_formulas(clip_norm: float, weight_decay: float) -> None:
    step = AdamStep(0.01, 0.9, 0.98, 1e-8, weight_decay, clip_norm)
    gradients = [make(SHAPES, seed=number) for number in range(2, 7)]
    found, expected = run(step, gradients), run_slowly(step, gradients)
    for each, reference in zip(found, expected, strict=True):
        torch.testing.assert_close(each.double(), reference, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("rows", [[], [0], [129], [5, 0, 5, 64, 63, 129, 5], list(range(130))])
def test_some_rows_give_the_numbers_of_the_whole_gradient(rows: list[int]) -> None:
    step = AdamStep(0.01, 0.9, 0.98, 1e-8, 0.1, 0.7)
    gradients: list[list[Tensor]] = []
    for seed in range(3):
        values = make([(len(rows), 129)], seed=seed)[0]
        places = torch.tensor([rows], dtype=torch.int64)
        gradients.append([torch.sparse_coo_tensor(places, values, (130, 129), check_invariants=True)])
    found, expected = run(step, gradients), run(step, [[each.to_dense() for each in given] for given in gradients])
    assert torch.equal(found[0], expected[0]) or torch.allclose(found[0], expected[0], rtol=1e-6, atol=1e-8)


def test_threads_change_nothing() -> None:
    step, gradients = AdamStep(0.01, 0.9, 0.98, 1e-8, 0.1, 0.7), [make(SHAPES, seed=2)]
    before, found = torch.get_num_threads(), []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        found.append(run(step, gradients))
    torch.set_num_threads(before)
    for one, other in itertools.pairwise(found):
        assert all(map(torch.equal, one, other))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_not_hidden(bad: float) -> None:
    gradients = make([(4, 3)])
    gradients[0][1, 1] = bad
    weights = [torch.ones(4, 3)]
    moments = [Moments(weights[0], torch.zeros(4, 3), torch.zeros(4, 3), 1)]
    move(moments, gradients, AdamStep(0.01, 0.9, 0.98, 1e-8, 0.0, 1.0))
    assert not weights[0].isfinite().all()


def test_what_the_kernel_does_not_take() -> None:
    assert can_move([torch.ones(3)])
    assert not can_move([torch.ones(3), torch.ones(2, dtype=torch.float64)])
    assert not can_move([torch.ones(3, 2).mT])


def test_torch_makes_the_same_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of the rows of an embedding, and of a parameter that joins later."""

    def train() -> list[Tensor]:
        torch.manual_seed(0)
        words, layer, late = torch.nn.Embedding(50, 6, sparse=True), torch.nn.Linear(6, 3), torch.nn.Linear(3, 3)
        model = torch.nn.ModuleList([words, layer, late])
        optimizer = Optimizer(model, learning_rate=0.01, warmup_steps=2, clip_norm=0.3, weight_decay=0.1)
        for number in range(6):
            hidden = layer(words(torch.tensor([1, 7, 7, number])))
            optimizer.step([(late(hidden) if number > 2 else hidden).square().sum()])
        return [*(each.detach() for each in model.parameters()), *optimizer.tensors().values()]

    found = train()
    monkeypatch.setattr(fused_adam.native, "load", lambda name: native.Kernels(None, "no compiler"))
    for ours, theirs in zip(found, train(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)
