"""EM routing: capsules are Gaussians, heads are the data they explain.

Algorithm 2 of Li et al. (2019); the Gaussians' dimensions are independent, so densities multiply over K.
Shapes: T tokens, H heads, N capsules, K capsule size, d = N*K.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from probing.aggregators.implementation import Implementation, route
from probing.aggregators.votes import Votes

MIN_VARIANCE = 1e-9
"""The least variance of a capsule's votes: with one head, or equal votes, it would be zero."""

MIN_MASS = 1e-30
"""The least mass by which agreement weights are divided: a capsule that every head leaves has the mass 0."""


def em_routing(
    votes: Tensor,
    beta_a: Tensor | float,
    beta_mu: Tensor | float,
    *,
    iterations: int = 3,
    inverse_temperature: Sequence[float] | None = None,
    activate: bool = True,
    implementation: Implementation = "auto",
    agreement: bool = True,
) -> tuple[Tensor, Tensor]:
    """Return the capsules (..., N, K) and the agreement weights (..., H, N) that made them.

    `votes` is (..., H, N, K), the betas (N,) or scalars, `inverse_temperature` lambda for each iteration
    (1, 2, …, T by default). `activate=False` leaves out the factor A_n, as the authors' released code does. With
    `agreement=False` the weights may be empty.
    """
    if iterations < 1:
        raise ValueError(f"iterations must be at least 1. Got {iterations} instead.")
    given = () if inverse_temperature is None else tuple(inverse_temperature)
    schedule = tuple(map(float, given or range(1, iterations + 1)))
    if len(schedule) != iterations:
        raise ValueError(
            f"inverse_temperature must have one value for each of {iterations} iterations. Got {len(schedule)} instead."
        )
    return route(
        reference_em_routing,
        votes,
        _as_tensor(beta_a, votes),
        _as_tensor(beta_mu, votes),
        implementation=implementation,
        agreement=agreement,
        iterations=iterations,
        inverse_temperature=schedule,
        activate=activate,
    )


def _as_tensor(beta: Tensor | float, votes: Tensor) -> Tensor:
    """Return a number as a tensor; a tensor keeps its type, which narrow votes would cut."""
    if isinstance(beta, Tensor):
        return beta
    return torch.tensor(beta, dtype=torch.promote_types(votes.dtype, torch.float32), device=votes.device)


def reference_em_routing(
    votes: Tensor,
    beta_a: Tensor,
    beta_mu: Tensor,
    *,
    iterations: int,
    inverse_temperature: Sequence[float],
    activate: bool,
) -> tuple[Tensor, Tensor]:
    """EM routing in plain torch operations, which every faster implementation must agree with."""
    # Votes are taken relative to the first head's. That changes no formula, so the pivot needs no gradient; it keeps
    # the digits of votes that are nearly equal, whose deviations everything is divided by.
    pivot_NK = votes[..., 0, :, :].detach()
    votes = votes - pivot_NK.unsqueeze(-3)
    num_capsules = votes.shape[-2]
    log_agreement_HN = torch.full_like(votes[..., 0], -math.log(num_capsules))
    for iteration, temperature in enumerate(inverse_temperature, 1):
        # M-step. C_hn / sum_h C_hn is taken in log space: a capsule that every head leaves keeps a defined mean.
        weights_HN1 = log_agreement_HN.softmax(-2).unsqueeze(-1)
        mass_N = log_agreement_HN.exp().sum(-2)
        mean_NK = (weights_HN1 * votes).sum(-3)
        distance_HNK = (votes - mean_NK.unsqueeze(-3)).square()
        variance_NK = (weights_HN1 * distance_HNK).sum(-3).clamp(min=MIN_VARIANCE)
        log_deviation_NK = 0.5 * variance_NK.log()
        cost_N = (log_deviation_NK + 0.5 * (1 + math.log(2 * math.pi))).sum(-1) * mass_N
        activation_logit_N = temperature * (beta_a - beta_mu * mass_N - cost_N)
        if iteration < iterations:  # E-step; after the last M-step it could not change the output.
            log_density_HN = -(distance_HNK / (2 * variance_NK.unsqueeze(-3))).sum(-1) - (
                log_deviation_NK + 0.5 * math.log(2 * math.pi)
            ).sum(-1).unsqueeze(-2)
            log_activation_N = functional.logsigmoid(activation_logit_N)
            log_agreement_HN = (log_activation_N.unsqueeze(-2) + log_density_HN).log_softmax(-1)
    capsules_NK = mean_NK + pivot_NK
    if activate:
        capsules_NK = activation_logit_N.sigmoid().unsqueeze(-1) * capsules_NK
    return capsules_NK, log_agreement_HN.exp()


def compute_activations(
    votes: Tensor, agreement_HN: Tensor, beta_a: Tensor, beta_mu: Tensor, *, temperature: float
) -> Tensor:
    """Return the activations (..., N) that one M-step makes of votes (..., H, N, K) and agreement weights."""
    mass_N = agreement_HN.sum(-2)
    weights_HN1 = (agreement_HN / mass_N.clamp(min=MIN_MASS).unsqueeze(-2)).unsqueeze(-1)
    mean_NK = (weights_HN1 * votes).sum(-3)
    variance_NK = (weights_HN1 * (votes - mean_NK.unsqueeze(-3)).square()).sum(-3).clamp(min=MIN_VARIANCE)
    cost_N = (0.5 * variance_NK.log() + 0.5 * (1 + math.log(2 * math.pi))).sum(-1) * mass_N
    return (temperature * (beta_a - beta_mu * mass_N - cost_N)).sigmoid()


class EMAggregator(nn.Module):
    """The heads vote for N capsules; EM routing weighs the votes."""

    def __init__(
        self,
        model_dim: int,
        num_heads: int,
        *,
        num_capsules: int,
        iterations: int = 3,
        votes: Literal["shared", "per_head"] = "shared",
        inverse_temperature: Sequence[float] = (),
        activate: bool = True,
        implementation: Implementation = "auto",
    ) -> None:
        super().__init__()
        self.iterations = iterations
        self.activate = activate
        self.implementation: Implementation = implementation
        self.inverse_temperature = tuple(inverse_temperature)
        self.votes = Votes(model_dim, num_heads, num_capsules=num_capsules, votes=votes)
        self.beta_a = nn.Parameter(torch.randn(num_capsules) * model_dim**-0.5)
        self.beta_mu = nn.Parameter(torch.randn(num_capsules) * model_dim**-0.5)

    def forward(self, heads_THd: Tensor) -> Tensor:
        """Return (T, d) from the heads' outputs (T, H, d/H)."""
        capsules_TNK, _ = em_routing(
            self.votes(heads_THd),
            self.beta_a,
            self.beta_mu,
            iterations=self.iterations,
            inverse_temperature=self.inverse_temperature,
            activate=self.activate,
            implementation=self.implementation,
            agreement=False,
        )
        return capsules_TNK.flatten(-2)

    def agreements(self, heads_THd: Tensor) -> Tensor:
        """Return the agreement weights (iterations, T, H, N) with which each iteration made its capsules."""
        votes = self.votes(heads_THd)
        schedule = self.inverse_temperature or tuple(range(1, self.iterations + 1))
        route = partial(em_routing, votes, self.beta_a, self.beta_mu, implementation=self.implementation)
        schedules = [schedule[:count] for count in range(1, self.iterations + 1)]
        return torch.stack([route(iterations=len(some), inverse_temperature=some)[1] for some in schedules])

    def activations(self, heads_THd: Tensor) -> Tensor:
        """Return the activation of each token's capsules (T, N), those of the last iteration."""
        temperature = self.inverse_temperature[-1] if self.inverse_temperature else float(self.iterations)
        votes, agreement = self.votes(heads_THd), self.agreements(heads_THd)[-1]
        return compute_activations(votes, agreement, self.beta_a, self.beta_mu, temperature=temperature)


EMCodeAggregator = partial(EMAggregator, activate=False)
"""EM routing as in the authors' released code: the means alone are the output."""
