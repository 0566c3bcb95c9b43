from __future__ import annotations

import functools

import pytest
import torch

from probing import native
from probing.aggregators import implementation as implementations
from probing.aggregators.em import EMAggregator, em_routing
from probing.aggregators.implementation import choose, compile_reference, describe
from probing.aggregators.simple import SimpleAggregator, reference_simple_routing, simple_routing
from probing.errors import ProbingError
from probing.native import Kernels

compiled = pytest.mark.skipif(native.load("routing").library is None, reason="there is no C++ compiler")

VOTES = torch.zeros(2, 3, 4, 1)


class Elsewhere:
    """Stands for a tensor on a device that this machine need not have."""

    dtype = torch.float32

    def __init__(self, device):
        self.device = torch.device(device)


@compiled
@pytest.mark.parametrize("implementation", ["auto", "fused"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_kernels_take_floats_on_the_cpu(implementation, dtype):
    assert choose(implementation, VOTES.to(dtype), torch.zeros(4), torch.tensor(0.0)) == "kernels"


def test_the_reference_can_be_asked_for():
    assert choose("reference", VOTES) == "plain"
    assert choose("reference", Elsewhere("cuda")) == "plain"


def test_what_the_kernels_do_not_take_is_plain_or_refused():
    assert choose("auto", VOTES.double()) == "plain"
    with pytest.raises(
        ProbingError, match=r"cannot be fused: the kernels compute in float32, and the votes are float64"
    ):
        choose("fused", VOTES.double())
    assert choose("auto", VOTES, torch.zeros(2, 4)) == "plain"
    with pytest.raises(ProbingError, match="the kernels take one beta per capsule"):
        choose("fused", VOTES, torch.zeros(2, 4))
    assert choose("auto", VOTES.to("meta")) == "plain"
    with pytest.raises(ProbingError, match="there are no kernels for meta"):
        choose("fused", VOTES.to("meta"))


def test_a_gpu_compiles_the_reference_where_triton_is(monkeypatch):
    monkeypatch.setattr(implementations.importlib.util, "find_spec", lambda name: name == "triton" or None)
    assert choose("auto", Elsewhere("cuda")) == "compiled"
    assert describe("auto", "cuda") == "fused by torch.compile on cuda"
    monkeypatch.setattr(implementations.importlib.util, "find_spec", lambda name: None)
    assert choose("auto", Elsewhere("cuda")) == "plain"
    assert describe("auto", "cuda:0") == (
        "plain torch operations: torch.compile needs Triton on a GPU, and it is not installed"
    )


def test_the_reference_is_compiled_once_for_any_number_of_tokens(monkeypatch):
    calls = []

    def compile_(function, **options):
        calls.append((function, options))
        return function

    monkeypatch.setattr(torch, "compile", compile_)
    monkeypatch.setattr(implementations, "choose", lambda *_: "compiled")
    compile_reference.cache_clear()
    for tokens in (2, 5):
        capsules, agreement = simple_routing(torch.randn(tokens, 3, 4, 1))
        assert capsules.shape == (tokens, 4, 1)
        assert agreement.shape == (tokens, 3, 4)
    compile_reference.cache_clear()
    assert calls == [(reference_simple_routing, {"dynamic": True})]


@pytest.mark.slow
@compiled
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("function", [em_routing, simple_routing])
def test_what_a_gpu_runs_gives_the_same(function, monkeypatch):
    """The branch of a GPU, with torch.compile for this machine's processor: compiled once for any number of tokens."""
    testing = pytest.importorskip("torch._dynamo.testing")
    backend = testing.CompileCounterWithBackend("inductor")
    monkeypatch.setattr(torch, "compile", functools.partial(torch.compile, backend=backend, fullgraph=True))
    torch.manual_seed(0)
    counts = []
    compile_reference.cache_clear()
    for tokens in (5, 9, 17):
        betas = [torch.randn(16) for _ in range(2 if function is em_routing else 0)]
        inputs = [tensor.requires_grad_() for tensor in (torch.randn(tokens, 4, 16, 1), *betas)]
        found = []
        for chosen in ("compiled", "plain"):
            monkeypatch.setattr(implementations, "choose", lambda *_, chosen=chosen: chosen)
            capsules, agreement = function(*inputs)
            found.append([capsules, agreement, *torch.autograd.grad(capsules.square().sum(), inputs)])
        for actual, expected in zip(*found, strict=True):
            torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)
        counts.append(backend.frame_count)
    compile_reference.cache_clear()
    assert 0 < counts[0] == counts[1] == counts[2]


def test_without_kernels_fused_is_refused(monkeypatch):
    monkeypatch.setattr(native, "load", lambda name: Kernels(None, "plain torch operations: no luck"))
    assert choose("auto", VOTES) == "plain"
    assert describe("auto", "cpu") == "plain torch operations: no luck"
    message = "cannot be fused: plain torch operations: no luck. Use implementation=auto or reference"
    with pytest.raises(ProbingError, match=message):
        choose("fused", VOTES)


@compiled
def test_what_runs_is_described():
    assert describe("auto", "cpu").startswith("fused kernels compiled by ")
    assert describe("reference", "cpu") == "plain torch operations, as asked for"
    assert describe("auto", "mps") == "plain torch operations: there are no kernels for mps"


def test_an_unknown_implementation_is_named():
    message = r"implementation must be 'auto', 'fused' or 'reference'\. Got 'quick' instead\."
    with pytest.raises(ValueError, match=message):
        simple_routing(VOTES, implementation="quick")
    with pytest.raises(ValueError, match=message):
        em_routing(VOTES, torch.zeros(4), torch.zeros(4), implementation="quick")


@compiled
@pytest.mark.parametrize("aggregator", [EMAggregator, SimpleAggregator])
@pytest.mark.parametrize("votes", ["shared", "per_head"])
def test_aggregators_give_the_same_by_either(aggregator, votes):
    torch.manual_seed(0)
    module = aggregator(64, 4, num_capsules=64, votes=votes)
    heads = torch.randn(9, 4, 16, requires_grad=True)
    upstream = torch.randn(9, 64)
    results = []
    for implementation in ("fused", "reference"):
        module.implementation = implementation
        output = module(heads)
        results.append([output, *torch.autograd.grad(output, [heads, *module.parameters()], upstream)])
    for got, wanted in zip(*results, strict=True):
        torch.testing.assert_close(got, wanted, rtol=1e-3, atol=1e-5)


@compiled
def test_autocast_routes_in_float32():
    torch.manual_seed(0)
    module, heads = EMAggregator(64, 4, num_capsules=64), torch.randn(9, 4, 16)
    with torch.autocast("cpu", torch.bfloat16):
        output = module(heads)
    assert output.dtype == torch.bfloat16
    torch.testing.assert_close(output.float(), module(heads), rtol=0.1, atol=0.05)
