"""The routings as compiled kernels: one pass over a token's votes in cache, forwards and backwards.

Only the votes and two numbers per head and iteration are kept for the backward pass; it computes the rest again.
The gradient of simple routing through votes that are very large is the reference's (see `SHARP`).
Shapes: T tokens, H heads, N capsules, K capsule size.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from probing import native

SHARP = 1024.0
"""Largest logit of simple routing up to which the kernel makes the gradient.

With larger ones a head gives all its weight to one capsule. The gradient is then a difference of equal numbers: in the
reference it is 0, and in the kernel it is the rounding of numbers that grow with the square of the votes.
"""


@dataclass(frozen=True, slots=True)
class RoutingCall:
    """A routing and its options."""

    reference: Callable[..., tuple[Tensor, Tensor]]
    """The same routing in plain torch operations, for derivatives that the kernels do not have."""
    options: Mapping[str, Any]
    """The reference's keyword arguments."""
    agreement: bool
    """Whether the agreement weights are returned."""


@native.operations_as_they_are()
def route(call: RoutingCall, votes: Tensor, *betas: Tensor) -> tuple[Tensor, Tensor]:
    """Return the capsules (..., N, K) and the agreement (..., H, N), empty unless wanted; with betas, of EM routing."""
    *leading, heads, capsules, size = votes.shape
    votes_THNK = votes.to(torch.float32).reshape(-1 if votes.numel() else 0, heads, capsules, size)
    if votes_THNK.stride()[2:] != (size, 1):
        votes_THNK = votes_THNK.contiguous()
    rows = [beta.to(torch.float32).expand(capsules).contiguous() for beta in betas]
    capsules_TNK, agreement_THN = _Route.apply(call, votes_THNK, *rows)
    if call.agreement:
        agreement_THN = agreement_THN.view(*leading, heads, capsules).to(votes.dtype)
    return capsules_TNK.view(*leading, capsules, size).to(votes.dtype), agreement_THN


class _Route(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, call: RoutingCall, votes: Tensor, *betas: Tensor) -> tuple[Tensor, Tensor]:
        tokens, heads, capsules, size = votes.shape
        capsules_TNK = votes.new_empty(tokens, capsules, size)
        agreement_THN = votes.new_empty((tokens, heads, capsules) if call.agreement else 0)
        softmaxes = votes.new_empty(tokens, call.options["iterations"] - 1, 2, heads)
        _run("forward", call, votes, betas, *map(_address, (votes, capsules_TNK, agreement_THN, softmaxes)))
        ctx.save_for_backward(votes, *betas, softmaxes)
        ctx.call = call
        ctx.set_materialize_grads(False)
        return capsules_TNK, agreement_THN

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor | None) -> Any:
        votes, *betas, softmaxes = ctx.saved_tensors
        capsules_TNK, agreement_THN = upstream
        if agreement_THN is not None or torch.is_grad_enabled():
            return None, *_differentiate_reference(ctx.call, [votes, *betas], upstream)
        if capsules_TNK is None:
            return None, *[None] * (1 + len(betas))
        gradient = torch.empty_like(votes)
        if gradient.stride()[2:] != (votes.shape[3], 1):
            gradient = torch.empty_like(votes, memory_format=torch.contiguous_format)
        beta_gradients = [torch.empty_like(beta) for beta in betas]
        place = _Gradient(gradient.data_ptr(), *gradient.stride()[:2])
        contiguous = capsules_TNK.contiguous()  # named, so that its memory lives until the kernel has read it
        addresses = map(_address, (votes, softmaxes, contiguous))
        _run("backward", ctx.call, votes, betas, *addresses, ctypes.byref(place), *map(_address, beta_gradients))
        if not betas and ctx.call.options["softmax_over"] == "capsules" and softmaxes.numel():
            sharp = softmaxes[:, :, 0].abs().amax((1, 2)) > SHARP
            if sharp.any():
                upstream = contiguous[sharp], None
                (gradient[sharp],) = _differentiate_reference(ctx.call, [votes[sharp]], upstream)
        return None, gradient, *beta_gradients


def _differentiate_reference(
    call: RoutingCall, inputs: Sequence[Tensor], upstream: Sequence[Tensor | None]
) -> list[Any]:
    """Return gradients that can be differentiated again, or that come through the agreement weights."""
    create_graph = torch.is_grad_enabled()
    with torch.enable_grad():
        if not create_graph:
            inputs = [tensor.detach().requires_grad_() for tensor in inputs]
        outputs = call.reference(*inputs, **call.options)
        pairs = zip(outputs, upstream, strict=True)
        wanted = [(output, given) for output, given in pairs if given is not None and output.requires_grad]
        sources, weights = [output for output, _ in wanted], [given for _, given in wanted]
        needed = [tensor for tensor in inputs if tensor.requires_grad]
        gradients = torch.autograd.grad(sources, needed, weights, create_graph=create_graph, allow_unused=True)
    found = iter(gradients)
    return [next(found) if tensor.requires_grad else None for tensor in inputs]


class _Shape(ctypes.Structure):
    _fields_ = tuple(
        (name, ctypes.c_int64)
        for name in ("tokens", "heads", "capsules", "size", "iterations", "token_stride", "head_stride")
    )


class _Em(ctypes.Structure):
    _fields_ = (
        ("shape", _Shape),
        ("beta_a", ctypes.c_void_p),
        ("beta_mu", ctypes.c_void_p),
        ("inverse_temperature", ctypes.c_void_p),
        ("activate", ctypes.c_int),
    )


class _Simple(ctypes.Structure):
    _fields_ = (("shape", _Shape), ("squash", ctypes.c_int), ("over_heads", ctypes.c_int))


class _Gradient(ctypes.Structure):
    _fields_ = (("votes", ctypes.c_void_p), ("token_stride", ctypes.c_int64), ("head_stride", ctypes.c_int64))


def _run(direction: str, call: RoutingCall, votes: Tensor, betas: Sequence[Tensor], *arguments: Any) -> None:
    options = call.options
    shape = _Shape(*votes.shape, options["iterations"], *votes.stride()[:2])
    settings: _Em | _Simple
    if betas:
        schedule = (ctypes.c_float * options["iterations"])(*options["inverse_temperature"])
        settings = _Em(shape, *map(_address, betas), ctypes.addressof(schedule), options["activate"])
    else:
        settings = _Simple(shape, options["squash"], options["softmax_over"] == "heads")
    library = native.load("routing").library
    assert library is not None
    name = f"{'em' if betas else 'simple'}_{direction}"
    getattr(library, name)(ctypes.byref(settings), ctypes.c_int(torch.get_num_threads()), *arguments)


def _address(tensor: Tensor) -> ctypes.c_void_p:
    """Return a pointer to a tensor's numbers; that of an empty one is null."""
    return ctypes.c_void_p(tensor.data_ptr())
