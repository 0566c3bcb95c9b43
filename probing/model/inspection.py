"""Inspection of a model: the tokens that a head attends to, the routing's weights of heads, a model without a head.

Shapes: L tokens of one sentence, H heads, d/H a head's width, N capsules, R iterations of the routing, C classes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from probing.model.attention import Attention, Packing


@runtime_checkable
class Routing(Protocol):
    """An aggregator that can show its agreement weights."""

    def agreements(self, heads_THd: Tensor) -> Tensor:
        """Return the agreement weights (R, L, H, N) with which each iteration made its capsules."""
        ...


@runtime_checkable
class Activating(Protocol):
    """An aggregator whose capsules have activations."""

    def activations(self, heads_THd: Tensor) -> Tensor:
        """Return the activation of each token's capsules (T, N), between 0 and 1."""
        ...


@dataclass(frozen=True, slots=True)
class LayerView:
    """Attention and agreement of one layer on one sentence."""

    attention: Tensor
    """(H, L, L): how much of each token (last) every token (middle) takes in."""
    agreement: Tensor | None
    """(R, L, H, N); None where the heads are not routed."""

    @property
    def shares(self) -> Tensor | None:
        """The heads' shares in each capsule, (R, L, H, N): they sum to 1 over the heads."""
        agreement = self.agreement
        return None if agreement is None else agreement / agreement.sum(2, keepdim=True).clamp_min(1e-30)


def attentions(model: nn.Module) -> list[Attention]:
    """Return the attention of each layer, the lowest first."""
    return [module for module in model.modules() if isinstance(module, Attention)]


@torch.inference_mode()
def inspect_sentence(model: nn.Module, tokens_L: Tensor) -> tuple[Tensor, list[LayerView]]:
    """Return the class probabilities (C,) of one sentence, and what each layer did with it."""
    model.eval()
    positions, length = torch.arange(len(tokens_L)), len(tokens_L)
    packing = Packing.build(torch.zeros_like(positions), positions, torch.tensor([length]), length)
    captured: list[tuple[Attention, Tensor, Tensor]] = []
    with ExitStack() as hooks:
        for attention in attentions(model):
            for hook in _capture(attention, captured):
                hooks.enter_context(hook)
        scores_1C = model(tokens_L, packing.map(lambda tensor: tensor.to(tokens_L.device)))
    return scores_1C[0].softmax(0), [_view(*parts) for parts in captured]


def _capture(attention: Attention, captured: list[tuple[Attention, Tensor, Tensor]]) -> Iterator[RemovableHandle]:
    """Yield hooks that keep the inputs of an attention and of its aggregator."""
    hidden: list[Tensor] = []
    yield attention.register_forward_pre_hook(lambda module, inputs: hidden.append(inputs[0]))
    yield attention.aggregator.register_forward_pre_hook(
        lambda module, inputs: captured.append((attention, hidden.pop(), inputs[0]))
    )


def _view(attention: Attention, hidden_Ld: Tensor, heads_LHd: Tensor) -> LayerView:
    projected = attention.query_key_value(hidden_Ld).view(len(hidden_Ld), 3, attention.num_heads, attention.head_dim)
    query_HLd, key_HLd, _ = projected.permute(1, 2, 0, 3)
    weights_HLL = (query_HLd @ key_HLd.transpose(1, 2) / math.sqrt(attention.head_dim)).softmax(-1)
    aggregator = attention.aggregator
    return LayerView(weights_HLL, aggregator.agreements(heads_LHd) if isinstance(aggregator, Routing) else None)


def masked_head(attention: Attention, head: int) -> RemovableHandle:
    """Silence one head, during a block with what is returned: the aggregator gets zeros instead."""

    def silence(module: nn.Module, inputs: tuple[Tensor]) -> tuple[Tensor]:
        (heads_THd,) = inputs
        return (heads_THd.index_fill(1, torch.tensor(head, device=heads_THd.device), 0.0),)

    return attention.aggregator.register_forward_pre_hook(silence)
