from __future__ import annotations

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from probing.aggregators import fused
from probing.aggregators.em import MIN_VARIANCE, em_routing, reference_em_routing
from probing.aggregators.simple import simple_routing
from probing.native import compiling as kernels

pytestmark = pytest.mark.skipif(kernels.load("routing").library is None, reason="there is no C++ compiler")

OPTIONS = {
    "em": (em_routing, {}),
    "em, lambda": (em_routing, {"inverse_temperature": (0.5, 0.25, 2.0)}),
    "em, activate=False": (em_routing, {"activate": False}),
    "simple": (simple_routing, {}),
    "simple, squash=False": (simple_routing, {"squash": False}),
    "simple, heads": (simple_routing, {"softmax_over": "heads"}),
    "simple, heads, squash=False": (simple_routing, {"softmax_over": "heads", "squash": False}),
}

ROUNDINGS = (1.0, 1.1, 1.3, 1.7)
"""Factors of votes: the routing is as hard with them, and every number is rounded in another way."""


@pytest.fixture(params=OPTIONS.values(), ids=OPTIONS.keys())
def routing(request):
    return request.param


def run(function, inputs, upstream, **options):
    """Return capsules, agreement and the gradients of the inputs."""
    inputs = [tensor.detach().requires_grad_() for tensor in inputs]
    capsules, agreement = function(*inputs, **options)
    gradients = torch.autograd.grad(capsules, inputs, upstream.to(capsules.dtype), allow_unused=True)
    filled = [torch.zeros_like(i) if g is None else g for i, g in zip(inputs, gradients, strict=True)]
    return [capsules.detach(), agreement.detach(), *filled]


def draw(function, tokens, heads, capsules, size, *, scale=1.0, seed=0):
    """Return a routing's inputs and the gradient of its capsules."""
    generator = torch.Generator().manual_seed(seed)
    votes = torch.randn(tokens, heads, capsules, size, generator=generator) * scale
    betas = torch.randn(2, capsules, generator=generator).unbind() if function is em_routing else ()
    return [votes, *betas], torch.randn(tokens, capsules, size, generator=generator)


def compare(routing, inputs, upstream, assert_near, tolerance=1e-5):
    """Compare the kernels in float32 with the reference in float64."""
    function, options = routing
    actual = run(function, inputs, upstream, implementation="fused", **options)
    expected = run(function, [x.double() for x in inputs], upstream, implementation="reference", **options)
    output, votes = (float(tensor.abs().max()) for tensor in (expected[0], inputs[0]))
    scales = [0, 0, output / votes, output, output][: len(actual)]
    for got, wanted, scale in zip(actual, expected, scales, strict=True):
        assert got.dtype == torch.float32
        assert_near(got, wanted, tolerance, scale)


@pytest.mark.parametrize("name", ["em", "simple"])
def test_is_what_the_paper_prints(name, case, paper_em, paper_simple, assert_near):
    function = em_routing if name == "em" else simple_routing
    expected = (paper_em if name == "em" else paper_simple)(case)
    inputs = [case.votes(), *(case.betas() if name == "em" else ())]
    capsules, agreement, *gradients = run(
        function, inputs, case.upstream(), iterations=case.iterations, implementation="fused"
    )
    assert_near(capsules, expected.capsules, 1e-5)
    assert_near(agreement, expected.agreement, 1e-5)
    for actual, wanted, scale in zip(gradients, expected.gradients, expected.gradient_scales, strict=True):
        assert_near(actual, wanted, 1e-5, scale)


@pytest.mark.parametrize(
    "shape",
    [(3, 8, 512, 1), (3, 8, 128, 1), (40, 4, 64, 1), (3, 16, 33, 1), (3, 8, 31, 4), (2, 4, 16, 6), (1, 1, 1, 1)],
    ids=str,
)
def test_agrees_with_the_reference(routing, shape, assert_near):
    compare(routing, *draw(routing[0], *shape), assert_near)


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(sorted(OPTIONS)),
    tokens=st.integers(1, 35),
    heads=st.integers(2, 9),
    capsules=st.integers(1, 70),
    size=st.integers(1, 4),
    iterations=st.integers(1, 3),
    seed=st.integers(0, 2**20),
)
@example(name="em, activate=False", tokens=17, heads=2, capsules=58, size=4, iterations=2, seed=88)
@example(name="em, activate=False", tokens=17, heads=2, capsules=26, size=4, iterations=3, seed=68)
def test_agrees_with_the_reference_at_any_shape(name, tokens, heads, capsules, size, iterations, seed):
    function, options = OPTIONS[name]
    options = {**options, "iterations": iterations}
    if "inverse_temperature" in options:
        options["inverse_temperature"] = options["inverse_temperature"][:iterations]
    inputs, upstream = draw(function, tokens, heads, capsules, size, scale=0.5, seed=seed)
    actual = run(function, inputs, upstream, implementation="fused", **options)
    exact = run(function, [x.double() for x in inputs], upstream, implementation="reference", **options)
    # A gradient has terms of the size of 1 / sigma that cancel, with two heads to nothing: what float32 leaves of them
    # is an error of some units of rounding over sigma. How near the reference comes is a matter of luck, so that its
    # error is the largest of some votes that round in other ways.
    errors = [reference_errors(function, [inputs[0] * scale, *inputs[1:]], upstream, options) for scale in ROUNDINGS]
    deviation = inputs[0].std(1, correction=0).amin((1, 2)) if function is em_routing else torch.ones(tokens)
    rounding = torch.finfo(torch.float32).eps / deviation.clamp(min=MIN_VARIANCE**0.5)
    for got, wanted, *rough in zip(actual, exact, *errors, strict=True):
        assert got.isfinite().all()
        scale = max(float(wanted.abs().max()), float(exact[0].abs().max()))
        error = (got - wanted).abs()
        of_token = error.flatten(1).amax(1) if len(error) == tokens and error.dim() > 1 else error.max()
        assert (of_token <= torch.clamp(20 * scale * rounding, min=max(2e-5 * scale, 20 * max(rough)))).all()


def reference_errors(function, inputs, upstream, options):
    """Return the largest errors of the reference in float32: of capsules, agreement and gradients."""
    plain = run(function, inputs, upstream, implementation="reference", **options)
    exact = run(function, [x.double() for x in inputs], upstream, implementation="reference", **options)
    return [float((one - wanted).abs().max()) for one, wanted in zip(plain, exact, strict=True)]


@pytest.mark.parametrize("scale", [1e-6, 1e-4, 1e4, 1e6])
def test_votes_of_any_size_are_finite(routing, scale):
    function, options = routing
    inputs, upstream = draw(function, 5, 8, 64, 1, scale=scale)
    for tensor in run(function, inputs, upstream, implementation="fused", **options):
        assert tensor.isfinite().all()


@pytest.mark.parametrize("value", [0.0, 1e-6, 1.0, 1e4, 1e6])
def test_equal_votes_are_finite(routing, value):
    function, options = routing
    (votes, *betas), upstream = draw(function, 5, 8, 64, 1)
    inputs = [torch.full_like(votes, value), *betas]
    for tensor in run(function, inputs, upstream, implementation="fused", **options):
        assert tensor.isfinite().all()


def test_a_capsule_that_every_head_leaves_keeps_its_mean(assert_near):
    # Capsule 0 gets logits of about 5000, capsule 1 of about 100: its C is 0 in float32 for every head.
    votes = torch.tensor([[70.0, 10.0], [70.01, 10.1], [70.02, 10.3], [70.005, 10.2]]).view(1, 4, 2, 1)
    upstream = torch.randn(1, 2, 1, generator=torch.Generator().manual_seed(0))
    options = {"squash": False, "iterations": 2}
    actual = run(simple_routing, [votes], upstream, implementation="fused", **options)
    expected = run(simple_routing, [votes.double()], upstream, implementation="reference", **options)
    assert expected[1][0, :, 1].max() < 1e-300
    assert actual[1][0, :, 1].eq(0).all()
    assert 10 < actual[0][0, 1].item() < 10.3
    for got, wanted in zip(actual, expected, strict=True):
        assert_near(got, wanted, 2e-3)  # logits of 5000 have 4 digits after the point


def test_nan_comes_out_as_nan(routing):
    function, options = routing
    inputs, upstream = draw(function, 6, 4, 40, 1)
    inputs[0][2, 1, 7] = float("nan")
    capsules, _, gradient, *betas = run(function, inputs, upstream, implementation="fused", **options)
    assert capsules[2, 7].isnan().all()
    assert gradient[2, :, 7].isnan().all()
    others = [0, 1, 3, 4, 5]
    assert capsules[others].isfinite().all()
    assert gradient[others].isfinite().all()
    assert all(beta.isnan().any() for beta in betas)


def test_strided_votes_are_read_in_place(routing):
    function, options = routing
    (votes, *betas), upstream = draw(function, 6, 4, 64, 1)
    expected = run(function, [votes, *betas], upstream, implementation="fused", **options)
    layouts = {
        "heads first": votes.transpose(0, 1).contiguous().transpose(0, 1),
        "capsules first": votes.transpose(1, 2).contiguous().transpose(1, 2),
        "part of a larger tensor": torch.cat([votes, votes], 1)[:, 4:],
        "from a slice": torch.cat([votes, votes], 2)[:, :, ::1][:, :, :64],
    }
    for name, layout in layouts.items():
        assert torch.equal(layout, votes), name
        assert not layout.is_contiguous(), name
        actual = run(function, [layout, *betas], upstream, implementation="fused", **options)
        assert all(torch.equal(got, wanted) for got, wanted in zip(actual, expected, strict=True)), name


def test_expanded_votes_and_gradients_are_taken(assert_near):
    votes = torch.randn(1, 4, 32, 1).expand(6, 4, 32, 1)
    upstream = torch.randn(32, 1).expand(6, 32, 1)
    compare((simple_routing, {}), [votes], upstream, assert_near)


def test_no_tokens_have_no_capsules(routing):
    function, options = routing
    inputs, upstream = draw(function, 0, 4, 32, 2)
    capsules, agreement, gradient, *betas = run(function, inputs, upstream, implementation="fused", **options)
    assert capsules.shape == (0, 32, 2)
    assert agreement.shape == (0, 4, 32)
    assert gradient.shape == (0, 4, 32, 2)
    assert all(beta.eq(0).all() for beta in betas)


def test_leading_dimensions_and_scalar_betas(assert_near):
    votes = torch.randn(2, 3, 4, 20, 2)
    betas = [torch.tensor(0.3), torch.tensor(-0.2)]
    upstream = torch.randn(2, 3, 20, 2)
    actual = run(em_routing, [votes, *betas], upstream, implementation="fused")
    expected = run(em_routing, [x.double() for x in (votes, *betas)], upstream, implementation="reference")
    for got, wanted in zip(actual, expected, strict=True):
        assert_near(got, wanted, 1e-5)
    alone, _ = em_routing(votes[1, 2], *betas, implementation="fused")
    torch.testing.assert_close(alone, actual[0][1, 2])


def test_threads_change_no_bit(routing):
    function, options = routing
    inputs, upstream = draw(function, 100, 8, 64, 1)
    results = []
    for threads in (1, 2, 3, 1):
        torch.set_num_threads(threads)
        results.append(run(function, inputs, upstream, implementation="fused", **options))
    torch.set_num_threads(1)
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other, strict=True))


def test_tokens_do_not_see_each_other(routing):
    function, options = routing
    (votes, *betas), upstream = draw(function, 50, 4, 48, 1)
    together = run(function, [votes, *betas], upstream, implementation="fused", **options)
    alone = run(function, [votes[33:34], *betas], upstream[33:34], implementation="fused", **options)
    for index in range(3):
        assert torch.equal(together[index][33:34], alone[index])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_narrow_floats_are_computed_in_float32(routing, dtype):
    function, options = routing
    (votes, *betas), upstream = draw(function, 4, 4, 32, 1)
    actual = run(function, [votes.to(dtype), *betas], upstream, implementation="fused", **options)
    expected = run(function, [votes.to(dtype).float(), *betas], upstream.to(dtype), implementation="fused", **options)
    assert actual[0].dtype == actual[1].dtype == actual[2].dtype == dtype
    for got, wanted in zip(actual, expected, strict=True):
        assert torch.equal(got, wanted.to(got.dtype))


def test_gradients_come_through_the_agreement(routing, assert_near):
    function, options = routing
    inputs, _ = draw(function, 4, 4, 32, 1)
    weights = torch.randn(4, 4, 32, generator=torch.Generator().manual_seed(3))
    gradients = []
    for implementation in ("fused", "reference"):
        leaves = [tensor.clone().requires_grad_() for tensor in inputs]
        capsules, agreement = function(*leaves, implementation=implementation, **options)
        ((agreement * weights).sum() + capsules.sum()).backward()
        gradients.append([leaf.grad for leaf in leaves])
    for got, wanted in zip(*gradients, strict=True):
        assert_near(got, wanted, 1e-5)


def test_gradients_of_gradients_are_those_of_the_reference(routing, assert_near):
    function, options = routing
    inputs, upstream = draw(function, 3, 4, 20, 1)
    seconds = []
    for implementation in ("fused", "reference"):
        leaves = [tensor.clone().requires_grad_() for tensor in inputs]
        capsules, _ = function(*leaves, implementation=implementation, **options)
        (gradient,) = torch.autograd.grad(capsules, leaves[0], upstream, create_graph=True)
        seconds.append(torch.autograd.grad(gradient.square().sum(), leaves[0])[0])
    assert_near(*seconds, 1e-4)


def test_only_what_needs_a_gradient_gets_one():
    (votes, beta_a, beta_mu), _ = draw(em_routing, 4, 4, 32, 1)
    beta_a.requires_grad_()
    em_routing(votes, beta_a, beta_mu, implementation="fused")[0].sum().backward()
    assert votes.grad is None
    assert beta_mu.grad is None
    assert beta_a.grad.abs().sum() > 0
    with torch.no_grad():
        assert not em_routing(votes, beta_a, beta_mu, implementation="fused")[0].requires_grad


def test_little_is_kept_for_the_backward_pass(routing):
    function, options = routing
    inputs, _ = draw(function, 32, 8, 128, 1)
    leaves = [tensor.requires_grad_() for tensor in inputs]
    kept = {}

    def pack(tensor):
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        function(*leaves, implementation="fused", **options)
    assert sum(kept.values()) < 1.1 * inputs[0].nbytes


def test_agreement_is_made_only_if_wanted():
    (votes, *betas), _ = draw(em_routing, 4, 4, 32, 1)
    plan_options = {"iterations": 3, "inverse_temperature": (1.0, 2.0, 3.0), "activate": True}
    capsules, agreement = fused.route(
        fused.RoutingCall(reference_em_routing, plan_options, agreement=False), votes, *betas
    )
    assert not agreement.numel()
    assert torch.equal(capsules, em_routing(votes, *betas, implementation="fused")[0])


@pytest.mark.parametrize("softmax_over", ["capsules", "heads"])
@pytest.mark.parametrize("exponent", [-12, -6, 0, 6, 12, 18])
def test_simple_routing_of_any_magnitude_is_that_of_float64(exponent, softmax_over):
    """Above the root of float32's largest number the reference in float32 overflows as well."""
    votes = torch.randn(5, 4, 6, 3, generator=torch.Generator().manual_seed(0)) * 10.0**exponent
    results = []
    for dtype, implementation in ((torch.float32, "fused"), (torch.float64, "reference")):
        given = votes.to(dtype).requires_grad_()
        capsules, agreement = simple_routing(given, softmax_over=softmax_over, implementation=implementation)
        (gradient,) = torch.autograd.grad(capsules.sum(), given)
        results.append((capsules, agreement, gradient))
    for ours, theirs in zip(*results, strict=True):
        assert (ours.double() - theirs).abs().max() <= 1e-5 * theirs.abs().max()


@pytest.mark.parametrize("exponent", [-12, -6, 0, 6, 12, 18])
def test_em_routing_of_any_magnitude_is_that_of_float64(exponent):
    votes = torch.randn(5, 4, 6, 3, generator=torch.Generator().manual_seed(0)) * 10.0**exponent
    results = []
    for dtype, implementation in ((torch.float32, "fused"), (torch.float64, "reference")):
        given = votes.to(dtype).requires_grad_()
        capsules, agreement = em_routing(given, 0.1, 0.2, implementation=implementation)
        (gradient,) = torch.autograd.grad(capsules.sum(), given)
        results.append((capsules, agreement, gradient))
    for ours, theirs in zip(*results, strict=True):
        assert (ours.double() - theirs).abs().max() <= 2e-3 * theirs.abs().max()


def test_em_routing_keeps_equal_weights_of_heads_equal_in_many_iterations():
    """Two heads that share a capsule have 1/2 each; a difference of one digit would soon be all of it."""
    generator = torch.Generator().manual_seed(0)
    votes = 1000 * torch.randn(256, 8, 8, 16, generator=generator)
    votes *= torch.exp(1.5 * torch.randn(256, 8, 8, 1, generator=generator))
    ours = em_routing(votes, 0.1, 0.2, iterations=5, implementation="fused")[0]
    theirs = em_routing(votes.double(), 0.1, 0.2, iterations=5, implementation="reference")[0]
    errors = (ours - theirs).abs().amax((1, 2)) / theirs.abs().amax((1, 2))
    assert (errors < 1e-3).double().mean() > 0.97


MAGNITUDES = {"up to the root of the largest float": [10, 12, 14, 16, 18], "above it": [20, 22, 24, 26, 28, 30]}


@pytest.mark.parametrize("size", [1, 16])
@pytest.mark.parametrize("exponent", MAGNITUDES["up to the root of the largest float"])
def test_large_votes_have_the_numbers_of_the_reference(routing, exponent, size):
    """Where votes are that large, float32 keeps few digits: an error is judged by the reference's in float32.

    A variance that is 0 divides distances of 1e28 and more; where that overflows in the reference, so it may here.
    """
    function, options = routing
    ours, theirs = [], []
    for seed in range(4):
        inputs, upstream = draw(function, 5, 8, 4, size, scale=10.0**exponent, seed=seed)
        actual = run(function, inputs, upstream, implementation="fused", **options)
        exact = run(function, [x.double() for x in inputs], upstream, implementation="reference", **options)
        errors = torch.tensor(
            [reference_errors(function, [inputs[0] * scale, *inputs[1:]], upstream, options) for scale in ROUNDINGS]
        )
        if errors.isnan().any():
            continue
        assert all(tensor.isfinite().all() for tensor in actual)
        units = torch.tensor([max(1.0, float(tensor.abs().max())) for tensor in exact])
        ours.append(torch.tensor([float((x - y).abs().max()) for x, y in zip(actual, exact, strict=True)]) / units)
        theirs.append(errors.amax(0) / units)
    assert len(ours) >= 3
    assert (torch.stack(ours).amax(0) <= torch.clamp(20 * torch.stack(theirs).amax(0), min=2e-5)).all()


def test_no_weight_goes_past_the_last_capsule():
    """Kernels compute 32 capsules at a time; logits of -1e34 are above those of the places that are not filled."""
    votes = 1e17 * torch.tensor([[2.0, 2.0], [2.2, 1.9], [-0.6, -0.5]]).view(1, 3, 2, 1)
    capsules, agreement = simple_routing(votes, iterations=2, squash=False, implementation="fused")
    expected = simple_routing(votes.double(), iterations=2, squash=False, implementation="reference")
    assert expected[1][0, 2].tolist() == [0.0, 1.0]  # the last head agrees with neither
    assert torch.equal(agreement.double(), expected[1])
    torch.testing.assert_close(capsules.double(), expected[0], rtol=1e-6, atol=0)


@pytest.mark.parametrize("size", [1, 16])
@pytest.mark.parametrize("exponent", MAGNITUDES["above it"])
def test_votes_whose_squares_overflow_are_nan_and_never_wrong(routing, exponent, size):
    """The reference in float32 has NaN there, too: a training then stops and says why."""
    function, options = routing
    inputs, upstream = draw(function, 5, 8, 4, size, scale=10.0**exponent)
    for implementation in ("fused", "reference"):
        capsules, _, gradient, *_ = run(function, inputs, upstream, implementation=implementation, **options)
        assert capsules.isnan().all()
        assert gradient.isnan().all()


@pytest.mark.parametrize("size", [1, 16])
@pytest.mark.parametrize("scale", [3.0, 10.0, 30.0, 100.0, 300.0, 1e3, 1e4, 1e6, 1e9])
@pytest.mark.parametrize("squash", [True, False])
def test_the_gradient_of_sharp_simple_routing_is_the_references(squash, scale, size):
    """A head that gives all its weight to one capsule has no gradient there, not the rounding of its votes' squares."""
    errors = []
    for seed in range(4):
        inputs, upstream = draw(simple_routing, 20, 8, 16, size, scale=scale, seed=seed)
        exact = run(simple_routing, [inputs[0].double()], upstream, implementation="reference", squash=squash)[2]
        unit = max(float(exact.abs().max()), 1e-3)
        errors.append(
            [
                float(
                    (run(simple_routing, inputs, upstream, implementation=name, squash=squash)[2] - exact).abs().max()
                )
                / unit
                for name in ("fused", "reference")
            ]
        )
    fused_error, rough = torch.tensor(errors).amax(0)
    assert fused_error <= max(20 * rough, 2e-5)
