"""The two routings as Li et al. (2019) print them: loops over h, n, i, in arithmetic that cannot over- or underflow.

Nothing is taken from the product. The numbers have 60 digits and an unbounded exponent, so that densities and
softmaxes are written without logarithms, and a gradient is a plain difference quotient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mpmath import exp, log, mp, mpf, pi, sqrt

mp.dps = 60
STEP = mpf(10) ** -20

Numbers = list[list[list[mpf]]]
"""Indexed by h, n, i."""


def to_numbers(nested: object) -> object:
    """Return nested lists of floats as exact numbers."""
    return [to_numbers(item) for item in nested] if isinstance(nested, list) else mpf(nested)


def mean_of_votes(V: Numbers, C: list[list[mpf]], n: int, i: int) -> mpf:
    """Equation 7: the total input of a capsule, normalised."""
    heads = range(len(V))
    return sum(C[h][n] * V[h][n][i] for h in heads) / sum(C[h][n] for h in heads)


def simple_routing(
    V: Numbers, T: int, *, squash: bool = True, over_heads: bool = False
) -> tuple[list[list[mpf]], list[list[mpf]]]:
    """Algorithm 1, with Equation 8 in every iteration, and the root of that as the released code has it."""
    heads, capsules, dims = range(len(V)), range(len(V[0])), range(len(V[0][0]))
    B = [[mpf(0) for n in capsules] for h in heads]
    for _ in range(T):
        C = [[mpf(0) for n in capsules] for h in heads]
        for h in heads:
            for n in capsules:
                others = [B[m][n] for m in heads] if over_heads else [B[h][m] for m in capsules]
                C[h][n] = exp(B[h][n]) / sum(exp(b) for b in others)
        omega = [[mean_of_votes(V, C, n, i) for i in dims] for n in capsules]
        if squash:
            for n in capsules:
                square = sum(omega[n][i] ** 2 for i in dims)
                norm = sqrt(square + mpf("1e-9"))
                omega[n] = [square / (1 + square) * omega[n][i] / norm for i in dims]
        for h in heads:
            for n in capsules:
                B[h][n] += sum(omega[n][i] * V[h][n][i] for i in dims)
    return omega, C


def em_routing(
    V: Numbers,
    beta_a: list[mpf],
    beta_mu: list[mpf],
    T: int,
    *,
    inverse_temperature: Sequence[float] = (),
    activate: bool = True,
) -> tuple[list[list[mpf]], list[list[mpf]]]:
    """Algorithm 2; the densities of the K dimensions multiply, and no variance is under 1e-9."""
    heads, capsules, dims = range(len(V)), range(len(V[0])), range(len(V[0][0]))
    C_next = [[mpf(1) / len(V[0]) for n in capsules] for h in heads]
    for t in range(1, T + 1):
        C = C_next
        lam = inverse_temperature[t - 1] if inverse_temperature else t
        mu, variance, A = [], [], []
        for n in capsules:  # M-step
            mass = sum(C[h][n] for h in heads)
            mu.append([mean_of_votes(V, C, n, i) for i in dims])
            squares = [[[(V[h][m][i] - mu[n][i]) ** 2 for i in dims] for m in capsules] for h in heads]
            variance.append([max(mean_of_votes(squares, C, n, i), mpf("1e-9")) for i in dims])
            chi = sum(log(sqrt(variance[n][i])) + (1 + log(2 * pi)) / 2 for i in dims) * mass
            A.append(1 / (1 + exp(-lam * (beta_a[n] - beta_mu[n] * mass - chi))))
        C_next = []
        for h in heads:  # E-step
            P = []
            for n in capsules:
                density = mpf(1)
                for i in dims:
                    distance = (V[h][n][i] - mu[n][i]) ** 2
                    density *= exp(-distance / (2 * variance[n][i])) / sqrt(2 * pi * variance[n][i])
                P.append(density)
            total = sum(A[n] * P[n] for n in capsules)
            C_next.append([A[n] * P[n] / total for n in capsules])
    if activate:
        mu = [[A[n] * mu[n][i] for i in dims] for n in capsules]
    return mu, C


def differentiate(function: Callable[[], mpf], nested: list, scale: mpf) -> list:
    """Return the central difference quotients of a function of the numbers in nested lists, in their shape."""
    if isinstance(nested[0], list):
        return [differentiate(function, item, scale) for item in nested]
    gradient, step = [], STEP * scale
    for index, value in enumerate(nested):
        nested[index] = value + step
        above = function()
        nested[index] = value - step
        gradient.append((above - function()) / (2 * step))
        nested[index] = value
    return gradient
