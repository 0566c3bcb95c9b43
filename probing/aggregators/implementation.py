"""The choice of a routing's implementation: compiled kernels, torch.compile, or plain torch operations."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import Tensor

from probing import native
from probing.aggregators import fused
from probing.errors import ProbingError

Implementation = Literal["auto", "fused", "reference"]
"""`auto`: fused where it can be, else the reference; `fused`: an error where it cannot be."""

FUSED_DTYPES = (torch.float32, torch.bfloat16, torch.float16)
"""Types that the kernels take; narrow ones are computed in float32."""


def route(
    reference: Callable[..., tuple[Tensor, Tensor]],
    votes: Tensor,
    *betas: Tensor,
    implementation: Implementation,
    agreement: bool,
    **options: Any,
) -> tuple[Tensor, Tensor]:
    """Return capsules and agreement by the chosen implementation; if agreement is not wanted, it may be empty."""
    chosen = choose(implementation, votes, *betas)
    if chosen == "kernels":
        return fused.route(fused.RoutingCall(reference, options, agreement=agreement), votes, *betas)
    if chosen == "compiled":
        return compile_reference(reference)(votes, *betas, **options)
    return reference(votes, *betas, **options)


def choose(implementation: Implementation, votes: Tensor, *betas: Tensor) -> Literal["kernels", "compiled", "plain"]:
    """Return the implementation for these tensors."""
    if implementation not in ("auto", "fused", "reference"):
        raise ValueError(f"implementation must be 'auto', 'fused' or 'reference'. Got {implementation!r} instead.")
    if implementation == "reference":
        return "plain"
    obstacle = _find_obstacle(votes, *betas)
    if obstacle is None:
        return "kernels" if votes.device.type == "cpu" else "compiled"
    if implementation == "fused":
        raise ProbingError(f"routing cannot be fused: {obstacle}. Use implementation=auto or reference")
    return "plain"


def describe(implementation: Implementation, device: str | torch.device) -> str:
    """Return one line that says which implementation a routing on this device has, and why."""
    kind = torch.device(device).type
    if implementation == "reference":
        return "plain torch operations, as asked for"
    if kind == "cpu":
        return native.load("routing").note
    obstacle = _find_device_obstacle(kind)
    return f"plain torch operations: {obstacle}" if obstacle else f"fused by torch.compile on {kind}"


@functools.cache
def compile_reference(reference: Callable[..., tuple[Tensor, Tensor]]) -> Callable[..., tuple[Tensor, Tensor]]:
    """Return the reference as torch.compile fuses it, for any number of tokens."""
    compiled: Callable[..., tuple[Tensor, Tensor]] = torch.compile(reference, dynamic=True)
    return compiled


def _find_obstacle(votes: Tensor, *betas: Tensor) -> str | None:
    if torch.compiler.is_compiling():
        return "torch.compile is compiling the model around it"
    if votes.device.type != "cpu":
        return _find_device_obstacle(votes.device.type)
    if votes.dtype not in FUSED_DTYPES:
        return f"the kernels compute in float32, and the votes are {str(votes.dtype).removeprefix('torch.')}"
    if any(beta.dim() > 1 for beta in betas):
        return "the kernels take one beta per capsule"
    found = native.load("routing")
    return None if found.library is not None else found.note


def _find_device_obstacle(kind: str) -> str | None:
    if kind != "cuda":
        return f"there are no kernels for {kind}"
    has_triton = importlib.util.find_spec("triton") is not None
    return None if has_triton else "torch.compile needs Triton on a GPU, and it is not installed"
