"""Adam's steps, the rise and fall of the learning rate, clipping; moments can be taken out and put back."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from torch import Tensor, nn

from probing.training.optimizer import BETA1, Optimizer


def test_learning_rate_rises_then_falls_with_the_inverse_square_root() -> None:
    bias = nn.ParameterList([torch.zeros(2)])
    optimizer = Optimizer(bias, learning_rate=0.5, warmup_steps=4, clip_norm=0.0)
    rates = []
    for _ in range(16):
        rates.append(optimizer.learning_rate)
        optimizer.step([bias[0].sum()])
    assert rates[:4] == pytest.approx([0.125, 0.25, 0.375, 0.5])
    assert rates[15] == pytest.approx(0.5 * (4 / 16) ** 0.5)


def test_the_steps_are_those_of_torchs_adam() -> None:
    """Also for a parameter that has a gradient in some steps alone, and one that has none ever."""

    def make() -> nn.ParameterDict:
        torch.manual_seed(0)
        return nn.ParameterDict({name: torch.randn(5, 3) for name in ("always", "sometimes", "never")})

    def loss(weights: nn.ParameterDict, step: int) -> Tensor:
        chosen = ["always", "sometimes"] if step % 2 else ["always"]
        return torch.stack([(weights[name] * (step + 1)).sin().square().sum() for name in chosen]).sum()

    ours, theirs = make(), make()
    optimizer = Optimizer(ours, learning_rate=0.01, warmup_steps=3, clip_norm=0.0)
    adam = torch.optim.Adam(theirs.parameters(), betas=(0.9, 0.98))
    for step in range(8):
        adam.param_groups[0]["lr"] = optimizer.learning_rate
        adam.zero_grad()
        loss(theirs, step).backward()
        adam.step()
        optimizer.step([loss(ours, step)])
    for name, weight in ours.items():
        torch.testing.assert_close(weight, theirs[name])
    assert not torch.equal(ours["always"], make()["always"])
    assert torch.equal(ours["never"], make()["never"])


def test_starting_a_training_does_not_load_torchs_compiler() -> None:
    code = (
        "import sys, torch; from probing.training import optimizer; from torch import nn; model = nn.Linear(2, 2); "
        "optimizer = optimizer.Optimizer(model, learning_rate=0.1, warmup_steps=1, clip_norm=1.0); "
        "optimizer.step([model(torch.ones(1, 2)).sum()]); sys.exit('torch._dynamo' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_gradients_are_clipped() -> None:
    bias = nn.ParameterList([torch.zeros(2)])
    optimizer = Optimizer(bias, learning_rate=0.1, warmup_steps=1, clip_norm=0.25)
    optimizer.step([(bias[0] * 100).sum()])
    first_moment = optimizer.means[0] / (1 - BETA1)  # the gradient that the step took
    assert first_moment.norm().item() == pytest.approx(0.25, rel=1e-4)


def test_the_moments_of_another_give_its_next_steps() -> None:
    def make() -> tuple[nn.Linear, Optimizer]:
        torch.manual_seed(0)
        model = nn.Linear(3, 2)
        return model, Optimizer(model, learning_rate=0.1, warmup_steps=2, clip_norm=1.0)

    def step(model: nn.Linear, optimizer: Optimizer, number: int) -> None:
        optimizer.step([model(torch.full((1, 3), float(number))).square().sum()])

    first, optimizer = make()
    for number in range(3):
        step(first, optimizer, number)
    second, restored = make()
    second.load_state_dict(first.state_dict())
    kept = {name: tensor.clone() for name, tensor in optimizer.tensors().items()}
    step(first, optimizer, 3)
    restored.restore(kept, 3)
    step(second, restored, 3)
    assert optimizer.steps == restored.steps == 4
    assert torch.equal(first.weight, second.weight)
    fresh, untouched = make()
    fresh.load_state_dict(first.state_dict())
    step(fresh, untouched, 4)
    step(first, optimizer, 4)
    assert not torch.equal(fresh.weight, first.weight)
