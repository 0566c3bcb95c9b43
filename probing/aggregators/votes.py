"""Input capsules and their votes, which both routings share (Section 4.1 of Li et al. 2019).

Shapes: T tokens, H heads, N capsules, K = d/N capsule size, d model width.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional


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
        concat_Td = self.norm(heads_THd.reshape(tokens, num_heads * head_dim))
        if self.per_head:
            heads_HTd = concat_Td.view(tokens, num_heads, head_dim).transpose(0, 1)
            capsules_HTd = torch.baddbmm(self.input_bias.unsqueeze(1), heads_HTd, self.input_weight)
            if self.nonlinear:
                capsules_HTd = torch.relu(capsules_HTd)
            votes_THd = torch.bmm(capsules_HTd, self.vote_weight.transpose(1, 2)).transpose(0, 1)
        else:
            capsules_Td = torch.addmm(self.input_bias[0], concat_Td, self.input_weight[0])
            if self.nonlinear:
                capsules_Td = torch.relu(capsules_Td)
            votes_THd = functional.linear(capsules_Td, self.vote_weight.flatten(0, 1))
        return votes_THd.reshape(tokens, num_heads, self.num_capsules, num_heads * head_dim // self.num_capsules)
