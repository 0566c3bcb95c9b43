"""The slow reference for the routings, and the votes that every implementation is compared on."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Case:
    """Votes of one token, in a difficulty of their own."""

    heads: int = 4
    capsules: int = 5
    size: int = 1
    iterations: int = 3
    scale: float = 1.0
    equal: bool = False

    def votes(self) -> Tensor:
        """Return the float32 votes (H, N, K), which are float64 votes too."""
        generator = torch.Generator().manual_seed(7)
        votes = torch.randn(self.heads, self.capsules, self.size, generator=generator) * self.scale
        return votes[:1].expand_as(votes).clone() if self.equal else votes

    def betas(self) -> tuple[Tensor, Tensor]:
        generator = torch.Generator().manual_seed(8)
        beta_a, beta_mu = torch.randn(2, self.capsules, generator=generator)
        return beta_a, beta_mu

    def upstream(self) -> Tensor:
        """Return what the capsules' gradient is taken of: the loss is the sum of capsules * upstream."""
        return torch.randn(self.capsules, self.size, generator=torch.Generator().manual_seed(9))


CASES = {
    "plain": Case(),
    "K=2": Case(heads=3, capsules=4, size=2),
    "K=3, T=4": Case(heads=4, capsules=3, size=3, iterations=4),
    "T=1": Case(size=2, iterations=1),
    "T=2": Case(iterations=2),
    "H=1": Case(heads=1),
    "N=1": Case(capsules=1),
    "H=1, N=1, K=1": Case(heads=1, capsules=1),
    "equal": Case(equal=True),
    "equal, K=2": Case(heads=2, capsules=3, size=2, equal=True),
    "1e-4": Case(scale=1e-4),
    "1e-6": Case(scale=1e-6),
    "1e4": Case(scale=1e4),
    "1e6": Case(scale=1e6),
    "1e6, K=2": Case(heads=4, capsules=3, size=2, scale=1e6),
}


@dataclass(frozen=True, slots=True)
class Expected:
    """What the paper's formulas give: float64 tensors."""

    capsules: Tensor
    agreement: Tensor
    gradients: tuple[Tensor, ...]
    """Of the votes, then of the betas where there are any."""
    gradient_scales: tuple[float, ...]


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> Iterator[None]:
    """Tensors of a few numbers: threads would only wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def paper() -> ModuleType:
    """Return the module `paper.py`, which stands beside this file."""
    spec = importlib.util.spec_from_file_location("routing_paper", Path(__file__).with_name("paper.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(params=CASES.values(), ids=CASES.keys())
def case(request: pytest.FixtureRequest) -> Case:
    chosen: Case = request.param
    return chosen


@pytest.fixture(scope="session")
def cases() -> dict[str, Case]:
    return CASES


@pytest.fixture(scope="session")
def paper_simple(paper: ModuleType) -> Any:
    """Return a function of a case and options: simple routing by the paper's formulas."""

    @functools.cache
    def expect(case: Case, **options: Any) -> Expected:
        votes, upstream = (paper.to_numbers(tensor.tolist()) for tensor in (case.votes(), case.upstream()))

        def loss() -> Any:
            capsules, _ = paper.simple_routing(votes, case.iterations, **options)
            return _weigh(capsules, upstream)

        capsules, agreement = paper.simple_routing(votes, case.iterations, **options)
        gradients = [paper.differentiate(loss, votes, case.scale)]
        return _expected(case, capsules, agreement, gradients)

    return expect


@pytest.fixture(scope="session")
def paper_em(paper: ModuleType) -> Any:
    """Return a function of a case and options: EM routing by the paper's formulas."""

    @functools.cache
    def expect(case: Case, **options: Any) -> Expected:
        tensors = (case.votes(), *case.betas(), case.upstream())
        votes, beta_a, beta_mu, upstream = (paper.to_numbers(tensor.tolist()) for tensor in tensors)

        def loss() -> Any:
            capsules, _ = paper.em_routing(votes, beta_a, beta_mu, case.iterations, **options)
            return _weigh(capsules, upstream)

        capsules, agreement = paper.em_routing(votes, beta_a, beta_mu, case.iterations, **options)
        gradients = [paper.differentiate(loss, votes, case.scale)]
        gradients += [paper.differentiate(loss, beta, 1) for beta in (beta_a, beta_mu)]
        return _expected(case, capsules, agreement, gradients)

    return expect


@pytest.fixture(scope="session")
def assert_near() -> Any:
    """Return a function that compares tensors to a tolerance relative to the expected one's largest value.

    A saturated routing's gradient is next to nothing; its `scale` is then that of the output over that of the input.
    """

    def compare(actual: Tensor, expected: Tensor, tolerance: float, scale: float = 0.0) -> None:
        assert actual.isfinite().all()
        assert actual.shape == expected.shape
        scale = max(scale, float(expected.double().abs().max()))
        error = float((actual.double() - expected.double()).abs().max())
        assert error <= tolerance * scale, f"off by {error:.2e} on a scale of {scale:.2e}"

    return compare


def _expected(case: Case, capsules: Any, agreement: Any, gradients: list[Any]) -> Expected:
    output = float(_tensor(capsules).abs().max())
    scales = (output / case.scale, output, output)[: len(gradients)]
    return Expected(_tensor(capsules), _tensor(agreement), tuple(map(_tensor, gradients)), scales)


def _weigh(capsules: Any, upstream: Any) -> Any:
    return sum(
        c * g for row, weights in zip(capsules, upstream, strict=True) for c, g in zip(row, weights, strict=True)
    )


def _tensor(nested: Any) -> Tensor:
    def to_floats(item: Any) -> Any:
        return [to_floats(part) for part in item] if isinstance(item, list) else float(item)

    return torch.tensor(to_floats(nested), dtype=torch.float64)
