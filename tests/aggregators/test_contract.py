"""What every aggregator owes the model that it stands in."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from probing.model.classifier import build_aggregator
from probing.registry import AGGREGATORS

SETTINGS = {
    "shared": {"num_heads": 4, "num_capsules": 16},
    "per_head": {"num_heads": 4, "num_capsules": 16, "votes": "per_head"},
    "K=4": {"num_heads": 4, "num_capsules": 4},
    "K=2, per_head": {"num_heads": 2, "num_capsules": 8, "votes": "per_head"},
    "N=1": {"num_heads": 4, "num_capsules": 1},
    "H=1": {"num_heads": 1, "num_capsules": 16},
    "H=1, per_head": {"num_heads": 1, "num_capsules": 16, "votes": "per_head"},
    "T=1": {"num_heads": 4, "num_capsules": 16, "iterations": 1},
}
MODEL_DIM = 16


@pytest.fixture(params=AGGREGATORS.builtins)
def factory(request):
    return AGGREGATORS.find(request.param).object


@pytest.fixture(params=SETTINGS.values(), ids=SETTINGS.keys())
def settings(request):
    return dict(request.param)


@pytest.fixture
def heads(settings):
    return torch.randn(7, settings["num_heads"], MODEL_DIM // settings["num_heads"])


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def build(factory, settings):
    settings = {"iterations": 3, "votes": "shared", **settings}
    return build_aggregator(factory, MODEL_DIM, settings.pop("num_heads"), settings)


def test_maps_heads_to_the_model_width(factory, settings, heads):
    output = build(factory, settings)(heads)
    assert output.shape == (7, MODEL_DIM)
    assert output.dtype == torch.float32
    assert output.isfinite().all()


def test_gradients_reach_every_parameter_and_the_heads(factory, settings, heads):
    aggregator = build(factory, settings)
    heads.requires_grad_()
    (aggregator(heads) * torch.randn(7, MODEL_DIM)).sum().backward()
    gradients = {"heads": heads.grad, **{name: p.grad for name, p in aggregator.named_parameters()}}
    for name, gradient in gradients.items():
        if name.startswith("beta") and not aggregator.activate and betas_have_no_say(settings):
            continue
        assert gradient is not None, name
        assert gradient.isfinite().all(), name
        assert gradient.abs().sum() > 0, name


def betas_have_no_say(settings):
    """Without the activation in the output, betas act on the E-step alone, and there needs to be a choice in it."""
    return settings.get("iterations") == 1 or settings["num_capsules"] == 1 or settings["num_heads"] == 1


def test_is_deterministic(factory, settings, heads):
    aggregator = build(factory, settings)
    assert torch.equal(aggregator(heads), aggregator(heads))
    torch.manual_seed(1)
    first = build(factory, settings)
    torch.manual_seed(1)
    second = build(factory, settings)
    assert torch.equal(first(heads), second(heads))


def test_tokens_do_not_see_each_other(factory, settings, heads):
    aggregator = build(factory, settings)
    output = aggregator(heads)
    order = torch.randperm(len(heads))
    torch.testing.assert_close(aggregator(heads[order]), output[order])
    torch.testing.assert_close(aggregator(heads[2:3]), output[2:3])
    assert aggregator(heads[:0]).shape == (0, MODEL_DIM)


def test_float64_agrees(factory, settings, heads):
    aggregator = build(factory, settings)
    output = aggregator(heads)
    torch.testing.assert_close(output, aggregator.double()(heads.double()).float(), rtol=1e-4, atol=1e-5)


def test_state_can_be_saved_and_loaded(factory, settings, heads):
    aggregator, other = build(factory, settings), build(factory, settings)
    other.load_state_dict(aggregator.state_dict())
    assert torch.equal(aggregator(heads), other(heads))


def test_a_step_loads_no_compiler():
    """Torch's own takes longer to import than all else before the first step."""
    script = (
        "import sys, torch\n"
        "from probing.registry import AGGREGATORS\n"
        "from probing.model.classifier import build_aggregator\n"
        "for name in AGGREGATORS.builtins:\n"
        "    settings = {'num_capsules': 16, 'iterations': 3, 'votes': 'shared'}\n"
        "    aggregator = build_aggregator(AGGREGATORS.find(name).object, 16, 4, settings)\n"
        "    aggregator(torch.ones(3, 4, 4, requires_grad=True)).sum().backward()\n"
        "print(*sorted({'torch._dynamo', 'torch._inductor', 'sympy', 'triton'} & sys.modules.keys()))\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == "\n"
