"""Dropout: how much it drops, where gradients go, and that the kernel and torch draw the same noise."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from probing import native
from probing.model.dropout import Dropout, draw_kept, drop


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_as_many_zeros_as_asked_for_and_a_mean_of_one(share: float) -> None:
    output = drop(torch.ones(1001, 301), share, 5)
    assert float((output == 0).float().mean()) == pytest.approx(share, abs=0.004)
    assert float(output.mean()) == pytest.approx(1, abs=0.02)
    assert len(output.unique()) == 2
    assert float(output.max()) == pytest.approx(1 / (1 - share), rel=1e-6)


@pytest.mark.parametrize("seed", [0, 1, 1 << 31, (1 << 62) - 1])
def test_the_noise_has_no_pattern(seed: int) -> None:
    dropped = draw_kept(torch.empty(400_000), 0.5, seed).float() - 0.5
    for lag in (1, 2, 3, 4, 8, 64, 128, 512):
        assert abs(float((dropped[lag:] * dropped[:-lag]).mean())) < 0.002
    for other in (seed + 1, seed ^ (1 << 32), seed ^ 512):
        assert abs(float((dropped * (draw_kept(dropped, 0.5, other).float() - 0.5)).mean())) < 0.002


@pytest.mark.parametrize("shape", [(), (0, 3), (1,), (3,), (5, 7)])
def test_any_shape(shape: tuple[int, ...]) -> None:
    assert draw_kept(torch.empty(shape), 0.5, 1).shape == drop(torch.zeros(shape), 0.5, 1).shape == shape


@pytest.mark.parametrize("adds", [False, True])
@pytest.mark.parametrize("seed", [0, 123456789, (1 << 62) - 1])
def test_the_kernel_and_torch_draw_the_same_noise(seed: int, adds: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden, added = torch.randn(311, 67), torch.randn(311, 67) if adds else None
    found = drop(hidden, 0.3, seed, added)
    monkeypatch.setattr(native, "load", lambda name: native.Kernels(None, "no compiler"))
    torch.testing.assert_close(found, drop(hidden, 0.3, seed, added), rtol=1e-6, atol=1e-7)


def test_what_is_dropped_is_zero_whatever_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = torch.full((400,), torch.inf)
    found = drop(hidden, 0.5, 3)
    assert set(found.unique().tolist()) == {0.0, torch.inf}
    monkeypatch.setattr(native, "load", lambda name: native.Kernels(None, "no compiler"))
    assert torch.equal(found, drop(hidden, 0.5, 3))


def test_the_sum_and_its_gradients() -> None:
    dropout = Dropout(0.25)
    hidden, added = (torch.randn(50, 20, requires_grad=True) for _ in range(2))
    torch.manual_seed(1)
    output = dropout.add(added, hidden)
    torch.manual_seed(1)
    kept = dropout(hidden.detach())
    torch.testing.assert_close(output, added + kept)
    output.backward(torch.full_like(output, 3.0))
    assert added.grad is not None
    assert hidden.grad is not None
    assert torch.equal(added.grad, torch.full_like(output, 3.0))
    torch.testing.assert_close(hidden.grad, torch.where(kept != 0, 4.0, 0.0))


def test_a_gradients_gradient() -> None:
    dropout = Dropout(0.4)

    def cube(hidden: Tensor) -> Tensor:
        torch.manual_seed(0)
        output: Tensor = dropout(hidden).pow(3)
        return output

    assert torch.autograd.gradgradcheck(cube, torch.randn(4, 3, dtype=torch.float64, requires_grad=True))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_values_are_scaled_and_gradients_go_where_values_went(dtype):
    dropout = Dropout(0.25)
    hidden = torch.randn(50, 20, dtype=dtype, requires_grad=True)
    output = dropout(hidden)
    output.sum().backward()
    kept = output != 0
    assert output.dtype == dtype
    assert 0 < int(kept.sum()) < kept.numel()
    torch.testing.assert_close(output[kept], hidden[kept] / 0.75)
    assert torch.equal(hidden.grad != 0, kept)


def test_the_seed_decides_and_threads_do_not():
    def draw(threads):
        torch.manual_seed(7)
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        noise = Dropout(0.1)(torch.ones(300, 512))
        torch.set_num_threads(before)
        return noise

    assert torch.equal(draw(1), draw(2))


def test_off_in_evaluation_and_at_zero():
    hidden = torch.randn(5, 4)
    assert torch.equal(Dropout(0.5).eval()(hidden), hidden)
    state = torch.get_rng_state()
    assert torch.equal(Dropout(0.0)(hidden), hidden)
    assert torch.equal(torch.get_rng_state(), state)


def test_a_share_that_is_none():
    with pytest.raises(ValueError, match="dropout probability"):
        Dropout(1.5)
