from __future__ import annotations

import pytest
import torch

from probing.model.dropout import Dropout, draw_noise


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_as_many_zeros_as_asked_for_and_a_mean_of_one(share):
    noise = draw_noise(torch.empty(1001, 301), share)
    assert float((noise == 0).float().mean()) == pytest.approx(share, abs=0.004)
    assert float(noise.mean()) == pytest.approx(1, abs=0.02)
    assert len(noise.unique()) == 2
    assert float(noise.max()) == pytest.approx(1 / (1 - share), rel=1e-3)


def test_the_noise_has_no_pattern():
    dropped = (draw_noise(torch.empty(400_000), 0.5) == 0).float() - 0.5
    for lag in (1, 2, 3, 4, 8, 64):
        assert abs(float((dropped[lag:] * dropped[:-lag]).mean())) < 0.002


@pytest.mark.parametrize("shape", [(), (0, 3), (1,), (3,), (5, 7)])
def test_any_shape(shape):
    assert draw_noise(torch.empty(shape), 0.5).shape == shape


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
        noise = draw_noise(torch.empty(300, 512), 0.1)
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
