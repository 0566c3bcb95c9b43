"""Simple routing: a head's votes go where they agree with the capsules by scalar product.

Algorithm 1 and Equations 7 and 8 of Li et al. (2019).
Shapes: T tokens, H heads, N capsules, K capsule size, d = N*K.
"""

from __future__ import annotations

from functools import partial
from typing import Literal

import torch
from torch import Tensor, nn

from probing.aggregators.implementation import Implementation, route
from probing.aggregators.votes import Votes

EPSILON = 1e-9
"""Stands under the root of the norm that squashing divides by."""


def simple_routing(
    votes: Tensor,
    *,
    iterations: int = 3,
    squash: bool = True,
    softmax_over: Literal["capsules", "heads"] = "capsules",
    implementation: Implementation = "auto",
    agreement: bool = True,
) -> tuple[Tensor, Tensor]:
    """Return the capsules (..., N, K) and the agreement weights (..., H, N) that made them.

    `votes` is (..., H, N, K). `softmax_over="heads"` is the authors' released code, where sum_h C = 1. With
    `agreement=False` the weights may be empty.
    """
    if iterations < 1:
        raise ValueError(f"iterations must be at least 1. Got {iterations} instead.")
    if softmax_over not in ("capsules", "heads"):
        raise ValueError(f"softmax_over must be 'capsules' or 'heads'. Got {softmax_over!r} instead.")
    return route(
        reference_simple_routing,
        votes,
        implementation=implementation,
        agreement=agreement,
        iterations=iterations,
        squash=squash,
        softmax_over=softmax_over,
    )


def reference_simple_routing(
    votes: Tensor, *, iterations: int, squash: bool, softmax_over: Literal["capsules", "heads"]
) -> tuple[Tensor, Tensor]:
    """Simple routing in plain torch operations, which every faster implementation must agree with."""
    logits_HN = torch.zeros_like(votes[..., 0])
    for iteration in range(iterations):
        log_agreement_HN = logits_HN.log_softmax(-1 if softmax_over == "capsules" else -2)
        # C_hn / sum_h C_hn, taken in log space: a capsule that every head leaves keeps a defined mean.
        weights_HN = log_agreement_HN.softmax(-2)
        capsules_NK = (weights_HN.unsqueeze(-1) * votes).sum(-3)
        if squash:
            capsules_NK = _squash(capsules_NK)
        if iteration < iterations - 1:
            logits_HN = logits_HN + (capsules_NK.unsqueeze(-3) * votes).sum(-1)
    return capsules_NK, log_agreement_HN.exp()


def _squash(capsules_NK: Tensor) -> Tensor:
    square = capsules_NK.square().sum(-1, keepdim=True)
    return capsules_NK * (square / (1 + square) / torch.sqrt(square + EPSILON))


class SimpleAggregator(nn.Module):
    """The heads vote for N capsules; simple routing weighs the votes."""

    def __init__(
        self,
        model_dim: int,
        num_heads: int,
        *,
        num_capsules: int,
        iterations: int = 3,
        votes: Literal["shared", "per_head"] = "shared",
        squash: bool = True,
        softmax_over: Literal["capsules", "heads"] = "capsules",
        nonlinear: bool = True,
        implementation: Implementation = "auto",
    ) -> None:
        super().__init__()
        self.iterations = iterations
        self.implementation: Implementation = implementation
        self.route = partial(simple_routing, squash=squash, softmax_over=softmax_over)
        self.votes = Votes(model_dim, num_heads, num_capsules=num_capsules, votes=votes, nonlinear=nonlinear)

    def forward(self, heads_THd: Tensor) -> Tensor:
        """Return (T, d) from the heads' outputs (T, H, d/H)."""
        votes = self.votes(heads_THd)
        capsules_TNK, _ = self.route(
            votes, iterations=self.iterations, implementation=self.implementation, agreement=False
        )
        return capsules_TNK.flatten(-2)

    def agreements(self, heads_THd: Tensor) -> Tensor:
        """Return the agreement weights (iterations, T, H, N) with which each iteration made its capsules."""
        votes = self.votes(heads_THd)
        counts = range(1, self.iterations + 1)
        return torch.stack([self.route(votes, iterations=n, implementation=self.implementation)[1] for n in counts])


SimpleCodeAggregator = partial(SimpleAggregator, softmax_over="heads", nonlinear=False)
"""Simple routing as in the authors' released code: softmax over heads, linear input capsules."""
