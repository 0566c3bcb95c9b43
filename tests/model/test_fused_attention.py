"""The attention kernel against a slow, obvious attention in float64, sentence by sentence and head by head."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from probing import native
from probing.model import Packing, fused_attention
from probing.model.fused_attention import AttentionCall, attend, can_attend

pytestmark = pytest.mark.skipif(native.load("attention").library is None, reason="there is no C++ compiler")


def slowly(query: Tensor, key: Tensor, value: Tensor, lengths: list[int], memory: list[int], causal: bool) -> Tensor:
    """Return softmax(Q K^T / sqrt(d/H)) V of each sentence and head; all are (tokens, H, d/H)."""
    outputs, first, first_memory = [], 0, 0
    for length, other in zip(lengths, memory, strict=True):
        looking, seen = slice(first, first + length), slice(first_memory, first_memory + other)
        rows = []
        for head in range(query.shape[1]):
            energies = query[looking, head] @ key[seen, head].mT / math.sqrt(query.shape[2])
            if causal:
                energies = energies.masked_fill(torch.ones(length, other).triu(1).bool(), -math.inf)
            rows.append(energies.softmax(-1) @ value[seen, head])
        outputs.append(torch.stack(rows, 1))
        first, first_memory = first + length, first_memory + other
    return torch.cat(outputs)


def make_call(lengths: list[int], memory: list[int], heads: int, *, causal: bool = False) -> AttentionCall:
    def starts(of: list[int]) -> Tensor:
        return torch.tensor([0, *of]).cumsum(0)

    def reference(*projected: Tensor) -> Tensor:
        parts = projected[0].chunk(3, 1) if len(projected) == 1 else [projected[0], *projected[1].chunk(2, 1)]
        return slowly(*(part.unflatten(1, (heads, -1)) for part in parts), lengths, memory, causal)

    return AttentionCall(heads, causal, starts(lengths), starts(memory), reference)


def both_ways(call: AttentionCall, *projected: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield outputs and gradients of the kernel, and what they should be."""
    narrow = [each.clone().requires_grad_() for each in projected]
    wide = [each.double().requires_grad_() for each in projected]
    found, expected = attend(call, *narrow), call.reference(*wide)
    upstream = torch.randn(found.shape, generator=torch.Generator().manual_seed(1))
    yield found, expected
    gradients = torch.autograd.grad(found, narrow, upstream)
    yield from zip(gradients, torch.autograd.grad(expected, wide, upstream.double()), strict=True)


LENGTHS = st.lists(st.integers(1, 33), min_size=1, max_size=6)


@settings(max_examples=60, deadline=None)
@given(LENGTHS, st.integers(1, 5), st.integers(1, 20), st.booleans(), st.floats(0.01, 5.0))
def test_tokens_attend_to_their_own_sentence(lengths: list[int], heads: int, size: int, causal: bool, scale: float):
    generator = torch.Generator().manual_seed(sum(lengths))
    projected = scale * torch.randn(sum(lengths), 3 * heads * size, generator=generator)
    for found, expected in both_ways(make_call(lengths, lengths, heads, causal=causal), projected):
        # An energy, of the order of scale^2, is rounded before exp; a gradient has two more factors of the scale.
        torch.testing.assert_close(found.double(), expected, rtol=1e-4, atol=2e-6 * max(1.5, scale) ** 4)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 20), st.integers(1, 20)), min_size=1, max_size=6), st.integers(1, 4))
def test_tokens_attend_to_the_same_sentence_of_another_text(pairs: list[tuple[int, int]], heads: int):
    lengths, memory = [list(each) for each in zip(*pairs, strict=True)]
    generator = torch.Generator().manual_seed(heads)
    queries = torch.randn(sum(lengths), heads * 12, generator=generator)
    memories = torch.randn(sum(memory), 2 * heads * 12, generator=generator)
    for found, expected in both_ways(make_call(lengths, memory, heads), queries, memories):
        torch.testing.assert_close(found.double(), expected, rtol=1e-4, atol=1e-5)


def test_one_token_takes_its_own_value():
    projected = torch.arange(6.0).view(1, 6)
    assert attend(make_call([1], [1], 1), projected).flatten().tolist() == [4.0, 5.0]


def test_energies_of_any_size_give_finite_weights():
    projected = torch.zeros(2, 3)
    projected[:, 0], projected[:, 1], projected[:, 2] = 1e15, torch.tensor([1e15, -1e15]), torch.tensor([3.0, 4.0])
    assert attend(make_call([2], [2], 1), projected).flatten().tolist() == [3.0, 3.0]


def test_the_number_of_threads_and_the_batch_change_no_bit():
    lengths = [3, 28, 1, 12, 7, 9]
    projected = torch.randn(sum(lengths), 3 * 32, generator=torch.Generator().manual_seed(0))
    upstream = torch.randn(sum(lengths), 4, 8, generator=torch.Generator().manual_seed(1))
    threads = torch.get_num_threads()
    found = []
    try:
        for count in (1, 2, 5):
            torch.set_num_threads(count)
            inputs = projected.clone().requires_grad_()
            output = attend(make_call(lengths, lengths, 4), inputs)
            found.append((output, torch.autograd.grad(output, inputs, upstream)[0]))
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(a, b) for each in found[1:] for a, b in zip(found[0], each, strict=True))
    alone = attend(make_call([28], [28], 4), projected[3:31])
    assert torch.equal(alone, found[0][0][3:31])


def test_inputs_need_not_be_contiguous():
    wide = torch.randn(10, 60, generator=torch.Generator().manual_seed(0))
    call = make_call([4, 6], [4, 6], 2)
    assert torch.equal(attend(call, wide[:, ::2]), attend(call, wide[:, ::2].contiguous()))


def test_a_gradient_has_a_gradient():
    projected = torch.randn(7, 12, generator=torch.Generator().manual_seed(0)).requires_grad_()
    call = make_call([3, 4], [3, 4], 2)
    found, expected = (
        torch.autograd.grad(
            torch.autograd.grad(function(projected).square().sum(), projected, create_graph=True)[0].square().sum(),
            projected,
        )[0]
        for function in (lambda x: attend(call, x), call.reference)
    )
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4)


def test_what_is_not_a_number_is_seen():
    projected = torch.ones(3, 6)
    projected[1, 0] = math.nan
    output = attend(make_call([3], [3], 1), projected)
    assert output[1].isnan().all()
    assert output[0].isfinite().all()


@pytest.mark.parametrize(
    ("tensor", "longest", "fits"),
    [
        (torch.zeros(1, 3), 1024, True),
        (torch.zeros(1, 3), 1025, False),
        (torch.zeros(1, 3, dtype=torch.float64), 4, False),
        (torch.zeros(1, 3, dtype=torch.bfloat16), 4, False),
        (torch.zeros(1, 3, device="meta"), 4, False),
    ],
)
def test_the_kernel_takes_numbers_of_float32_on_a_processor_and_sentences_that_it_can_hold(
    tensor: Tensor, longest: int, fits: bool
):
    assert can_attend(longest, longest, tensor) is fits


def test_without_a_compiler_there_is_no_kernel(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(fused_attention.native, "load", lambda name: native.Kernels(None, "no compiler"))
    assert not can_attend(4, 4, torch.zeros(1, 3))


def test_a_packing_that_is_moved_keeps_its_views():
    lengths = torch.tensor([2, 3])
    packing = Packing.build(torch.tensor([0, 0, 1, 1, 1]), torch.tensor([0, 1, 0, 1, 2]), lengths, 3)
    moved = packing.map(lambda tensor: tensor.to("meta"))
    assert [view.shape for view in moved.views] == [view.shape for view in packing.views]
    assert moved.places.device.type == "meta"
    assert packing.starts.tolist() == [0, 2, 5]
