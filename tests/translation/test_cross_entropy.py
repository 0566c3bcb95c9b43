"""The loss of a translation: the formula, its gradients, blocks of any size, and its edges."""

from __future__ import annotations

import math

import pytest
import torch

from probing.translation import cross_entropy
from probing.translation.cross_entropy import reference_smoothed_cross_entropy, smoothed_cross_entropy


def compute_by_hand(hidden: torch.Tensor, weight: torch.Tensor, targets: list[int], smoothing: float) -> float:
    """Minus the expected log probability under a label that has 1 - e, and the others e / (V - 1) each."""
    total = 0.0
    for vector, target in zip(hidden.tolist(), targets, strict=True):
        scores = [sum(a * b for a, b in zip(vector, row, strict=True)) for row in weight.tolist()]
        normaliser = math.log(sum(map(math.exp, scores)))
        for place, score in enumerate(scores):
            share = 1 - smoothing if place == target else smoothing / (len(scores) - 1)
            total -= share * (score - normaliser)
    return total


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.9])
@pytest.mark.parametrize("compute", [smoothed_cross_entropy, reference_smoothed_cross_entropy])
def test_the_formula(smoothing: float, compute) -> None:  # type: ignore[no-untyped-def]
    torch.manual_seed(0)
    hidden, weight = torch.randn(6, 4, dtype=torch.float64), torch.randn(5, 4, dtype=torch.float64)
    targets = [0, 4, 2, 2, 1, 3]
    found = compute(hidden, weight, torch.tensor(targets), smoothing)
    assert found.item() == pytest.approx(compute_by_hand(hidden, weight, targets, smoothing), rel=1e-12)


@pytest.mark.parametrize("tokens", [1, 15, 16, 17, 100])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_gradients_block_by_block(tokens: int, smoothing: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cross_entropy, "BLOCK", 1)  # blocks of 16 tokens
    torch.manual_seed(tokens)
    targets = torch.randint(0, 30, (tokens,))

    def differentiate(compute) -> list[torch.Tensor]:  # type: ignore[no-untyped-def]
        hidden, weight = torch.randn(tokens, 8, dtype=torch.float64), torch.randn(30, 8, dtype=torch.float64)
        inputs = [hidden.requires_grad_(), weight.requires_grad_()]
        torch.manual_seed(1)
        loss = compute(*inputs, targets, smoothing)
        return [loss.detach(), *torch.autograd.grad(loss * 3, inputs)]

    torch.manual_seed(5)
    fast = differentiate(smoothed_cross_entropy)
    torch.manual_seed(5)
    for one, other in zip(fast, differentiate(reference_smoothed_cross_entropy), strict=True):
        torch.testing.assert_close(one, other, atol=1e-10, rtol=1e-10)


def test_large_scores_stay_finite() -> None:
    hidden, weight = torch.full((3, 2), 1e4, requires_grad=True), torch.tensor([[1.0, 1.0], [-1.0, -1.0], [0.0, 1.0]])
    loss = smoothed_cross_entropy(hidden, weight, torch.tensor([0, 1, 2]), 0.1)
    loss.backward()  # type: ignore[no-untyped-call]
    assert hidden.grad is not None
    assert loss.isfinite()
    assert hidden.grad.isfinite().all()


def test_without_gradients_nothing_is_kept() -> None:
    hidden, weight = torch.randn(20, 4), torch.randn(9, 4)
    with torch.no_grad():
        loss = smoothed_cross_entropy(hidden, weight, torch.zeros(20, dtype=torch.int64))
    assert not loss.requires_grad
    torch.testing.assert_close(
        loss, reference_smoothed_cross_entropy(hidden, weight, torch.zeros(20, dtype=torch.int64))
    )


def test_narrow_numbers_are_summed_in_float32() -> None:
    torch.manual_seed(0)
    hidden, weight, targets = torch.randn(500, 16), torch.randn(50, 16), torch.randint(0, 50, (500,))
    narrow = smoothed_cross_entropy(hidden.bfloat16(), weight, targets, 0.1)
    assert narrow.dtype == torch.float32
    assert narrow.item() == pytest.approx(smoothed_cross_entropy(hidden, weight, targets, 0.1).item(), rel=0.01)
