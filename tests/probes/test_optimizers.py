"""Adam is torch's; SentEval's other optimisers are known by their names there."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import torch
from torch import Tensor

from probing.errors import ProbingError
from probing.probes.optimizers import Adam, TorchOptimizer, make_optimizer


def draw(count: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(3, 2, 4, generator=generator) for _ in range(count)]


def test_adam_is_torchs() -> None:
    mine, theirs = torch.ones(3, 2, 4), torch.ones(3, 2, 4)
    adam, expected = Adam([mine], 0.01), torch.optim.Adam([theirs], lr=0.01)
    for gradient in draw(5):
        adam.step([mine], [gradient])
        theirs.grad = gradient
        expected.step()
    torch.testing.assert_close(mine, theirs)
    assert adam.steps == 5


@pytest.mark.parametrize(
    "name", ["adam", "adam,lr=0.1", "adam,eps=0.001", "sgd,lr=0.1", "rmsprop", "adamax", "adagrad"]
)
def test_a_selection_goes_on_as_before(name: str) -> None:
    whole, smaller = torch.ones(3, 2, 4), torch.ones(3, 2, 4)
    first, second = (make_optimizer(name, [weight], learning_rate=0.01) for weight in (whole, smaller))
    for gradient in draw(3):
        first.step([whole], [gradient])
        second.step([smaller], [gradient])
    smaller = smaller[[2, 0]]
    second = second.select([smaller], [2, 0])
    for gradient in draw(6)[3:]:
        first.step([whole], [gradient])
        second.step([smaller], [gradient[[2, 0]]])
    torch.testing.assert_close(smaller, whole[[2, 0]])
    assert not torch.equal(whole, torch.ones(3, 2, 4))


def test_which_optimiser_a_name_gives() -> None:
    weights = [torch.ones(1, 2, 3)]
    assert isinstance(make_optimizer("adam", weights, learning_rate=0.01), Adam)
    chosen = make_optimizer("adam,lr=0.5", weights, learning_rate=0.01)
    assert isinstance(chosen, Adam)
    assert chosen.learning_rate == 0.5
    other = make_optimizer("adam,eps=0.1", weights, learning_rate=0.01)
    assert isinstance(other, TorchOptimizer)
    assert other.optimizer.defaults["lr"] == 0.01
    assert other.optimizer.defaults["eps"] == 0.1


@pytest.mark.parametrize(
    ("optimizer", "text"),
    [
        ("adm", "unknown optim 'adm'. Known: adam, adamax, "),
        ("sgd,lr", "optim 'sgd,lr': 'lr' is not of the form key=number, e.g. lr=0.1"),
        ("sgd,lr=1,speed=1", "optim 'sgd,lr=1,speed=1': "),
        ("sgd,lr=-1", "optim 'sgd,lr=-1': Invalid learning rate: -1.0"),
    ],
)
def test_an_optimiser_that_is_none(optimizer: str, text: str) -> None:
    with pytest.raises(ProbingError) as error:
        make_optimizer(optimizer, [torch.ones(1, 2, 3)], learning_rate=0.01)
    assert str(error.value).startswith(text)


def test_adam_does_not_load_torchs_compiler() -> None:
    script = (
        "import sys, torch\n"
        "from probing.probes.optimizers import make_optimizer\n"
        "make_optimizer('adam', [w := torch.ones(1, 2, 3)], learning_rate=0.1).step([w], [w.clone()])\n"
        "assert 'torch._dynamo' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


@pytest.mark.parametrize(
    ("name", "theirs"),
    [
        ("rmsprop", lambda weights: torch.optim.RMSprop(weights)),
        ("rmsprop,lr=0.1,alpha=0.5,eps=0.01", lambda weights: torch.optim.RMSprop(weights, 0.1, 0.5, 0.01)),
        ("sgd,lr=0.1", lambda weights: torch.optim.SGD(weights, 0.1)),
        ("sgd,lr=0.1,weight_decay=9", lambda weights: torch.optim.SGD(weights, 0.1)),
    ],
)
def test_rmsprop_and_sgd_are_torchs(name: str, theirs: Any) -> None:
    mine, other = torch.ones(3, 2, 4), torch.ones(3, 2, 4)
    optimizer, expected = make_optimizer(name, [mine], learning_rate=0.01), theirs([other])
    assert isinstance(optimizer, Adam), "the kernel takes it"
    for gradient in draw(5):
        optimizer.step([mine], [gradient])
        other.grad = gradient
        expected.step()
    torch.testing.assert_close(mine, other)
