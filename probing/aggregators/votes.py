"""Input capsules and their votes, which both routings share (Section 4.1 of Li et al. 2019).

Shapes: T tokens, H heads, N capsules, K = d/N capsule size, d model width.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from probing.native import active_products, differentiate


class Votes(nn.Module):
    """Map the heads' outputs (T, H, d/H) to votes (T, H, N, K).

    The concatenation is layer-normed. `shared`: one layer d -> d makes the input capsule of all heads; `per_head`:
    each head has its own layer d/H -> d on its own output. Either way each head has its own vote weights
    W_h, d -> N*K, so that replacing W^O costs H * d^2 weights net.
    """

    def __init__(
        self,
        model_dim: int,
        num_heads: int,
        *,
        num_capsules: int,
        votes: Literal["shared", "per_head"] = "shared",
        nonlinear: bool = True,
    ) -> None:
        super().__init__()
        if model_dim % num_heads or model_dim % num_capsules:
            raise ValueError(
                f"num_heads and num_capsules must divide model_dim={model_dim}. Got {num_heads} and {num_capsules}."
            )
        if votes not in ("shared", "per_head"):
            raise ValueError(f"votes must be 'shared' or 'per_head'. Got {votes!r} instead.")
        self.num_heads = num_heads
        self.num_capsules = num_capsules
        self.per_head = votes == "per_head"
        self.nonlinear = nonlinear
        self.norm = nn.LayerNorm(model_dim)
        width = model_dim // num_heads if self.per_head else model_dim
        self.input_weight = nn.Parameter(torch.empty(num_heads if self.per_head else 1, width, model_dim))
        self.input_bias = nn.Parameter(torch.zeros(num_heads if self.per_head else 1, model_dim))
        # (H, N*K, d): the layout in which the heads' products are one matrix product, without a copy.
        self.vote_weight = nn.Parameter(torch.empty(num_heads, model_dim, model_dim))
        for weight in (self.input_weight, self.vote_weight):
            bound = math.sqrt(6 / (weight.shape[1] + weight.shape[2]))
            nn.init.uniform_(weight, -bound, bound)

    def forward(self, heads_THd: Tensor) -> Tensor:
        tokens, num_heads, head_dim = heads_THd.shape
        size = num_heads * head_dim // self.num_capsules
        if torch.is_autocast_enabled(heads_THd.device.type) or torch.compiler.is_compiling():
            votes = self.vote(self.make_capsules(heads_THd))
        else:
            others = [*self.norm.parameters(), self.input_weight, self.input_bias]
            votes = _Vote.apply(self, self.vote_weight, heads_THd, *others)
        return votes.reshape(tokens, num_heads, self.num_capsules, size)

    def make_capsules(self, heads_THd: Tensor) -> Tensor:
        """Return the input capsules: (T, d), or (H, T, d) if each head has its own."""
        concat_Td = self.norm(heads_THd.flatten(1))
        if self.per_head:
            heads_HTd = concat_Td.view(heads_THd.shape).transpose(0, 1)
            capsules = torch.baddbmm(self.input_bias.unsqueeze(1), heads_HTd, self.input_weight)
        else:
            capsules = torch.addmm(self.input_bias[0], concat_Td, self.input_weight[0])
        return torch.relu(capsules) if self.nonlinear else capsules

    def vote(self, capsules: Tensor) -> Tensor:
        """Return the votes of the input capsules: (T, H*N*K), or a view (T, H, N*K)."""
        if self.per_head:
            return torch.bmm(capsules, self.vote_weight.mT).transpose(0, 1)
        return functional.linear(capsules, self.vote_weight.flatten(0, 1))

    def differentiate_vote(self, capsules: Tensor, upstream: Tensor) -> tuple[Tensor, Tensor]:
        """Return the gradients of the input capsules and of the vote weights."""
        if self.per_head:
            upstream = upstream.transpose(0, 1)
            return upstream @ self.vote_weight, upstream.mT @ capsules
        by_capsules, by_weight = differentiate(upstream, capsules, self.vote_weight.flatten(0, 1))
        return by_capsules, by_weight.view_as(self.vote_weight)

    def differentiate(self, heads_THd: Tensor, upstream: Tensor) -> tuple[Tensor, ...]:
        """Return the gradients of the vote weights, the heads' outputs, the norm's parameters, and the input layer's.

        There is one input layer for all heads.
        """
        gain, bias = self.norm.weight, self.norm.bias
        concat_Td, width = heads_THd.flatten(1), gain.shape
        normed_Td, mean, scale = torch.native_layer_norm(concat_Td, width, gain, bias, self.norm.eps)
        capsules_Td = torch.addmm(self.input_bias[0], normed_Td, self.input_weight[0])
        if self.nonlinear:
            capsules_Td = torch.relu(capsules_Td)
        by_capsules, by_vote_weight = self.differentiate_vote(capsules_Td, upstream)
        if self.nonlinear:
            by_capsules = torch.ops.aten.threshold_backward(by_capsules, capsules_Td, 0)
        by_normed, by_input_weight = differentiate(by_capsules, normed_Td, self.input_weight[0].mT)
        by_concat, by_gain, by_bias = torch.ops.aten.native_layer_norm_backward(
            by_normed, concat_Td, width, mean, scale, gain, bias, [True, True, True]
        )
        by_heads = by_concat.view_as(heads_THd)
        return by_vote_weight, by_heads, by_gain, by_bias, by_input_weight.mT[None], by_capsules.sum(0, keepdim=True)


class _Vote(torch.autograd.Function):
    """The votes, for which only the heads' outputs are kept: the backward pass makes the input capsules again.

    That is a small product beside those of the votes, and the votes themselves are what routing has to keep.
    """

    @staticmethod
    def forward(ctx: Any, votes: Votes, vote_weight: Tensor, *inputs: Tensor) -> Tensor:
        ctx.votes = votes
        ctx.products = active_products()
        ctx.save_for_backward(vote_weight, *inputs)
        return votes.vote(votes.make_capsules(inputs[0]))

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> Any:
        votes: Votes = ctx.votes
        _, heads_THd, *_ = ctx.saved_tensors  # reading them all finds out whether one was changed
        with ctx.products:
            if votes.per_head or torch.is_grad_enabled():
                return _Vote.differentiate_step_by_step(ctx, *upstream)
            given = votes.differentiate(heads_THd, *upstream)
        return None, *[found if needed else None for found, needed in zip(given, ctx.needs_input_grad[1:], strict=True)]

    @staticmethod
    def differentiate_step_by_step(ctx: Any, *upstream: Tensor) -> Any:
        """Return gradients that can be differentiated again, or those of votes whose heads have their own layers."""
        votes: Votes = ctx.votes
        _, heads_THd, *parameters = ctx.saved_tensors
        create_graph = torch.is_grad_enabled()
        if not create_graph:
            heads_THd = heads_THd.detach().requires_grad_(heads_THd.requires_grad)
        with torch.enable_grad():
            capsules = votes.make_capsules(heads_THd)
        by_capsules, by_weight = votes.differentiate_vote(capsules, *upstream)
        inputs = [heads_THd, *parameters]
        needed = [each for each in inputs if each.requires_grad]
        if not needed:
            return None, by_weight, *[None] * len(inputs)
        if create_graph:
            found = iter(torch.autograd.grad(capsules, needed, by_capsules, create_graph=True))
        else:  # the same by way of a number: asked for a tensor's gradient, torch would import its compiler first
            with torch.enable_grad():
                product = torch.dot(capsules.flatten(), by_capsules.flatten())
            found = iter(torch.autograd.grad(product, needed))
        return None, by_weight, *[next(found) if each.requires_grad else None for each in inputs]
