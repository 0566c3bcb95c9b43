"""The compiled kernel trains as torch operations do."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from probing import native
from probing.probes import kernel
from probing.probes.definitions import Configuration, Probe
from probing.probes.grid import Grid
from probing.probes.standardise import Batches, Inputs

CPU = torch.device("cpu")
compiled = pytest.mark.skipif(kernel.load().library is None, reason="there is no C++ compiler")

Configurations = list[tuple[int, float, float]]


def make_probe(configurations: Configurations, optimizer: str = "adam") -> Probe:
    items = tuple(Configuration(hidden=item[0], dropout=item[1], weight_decay=item[2]) for item in configurations)
    return Probe(name="some", configurations=items, standardise=False, learning_rate=0.01, optimizer=optimizer)


def train(
    configurations: Configurations,
    *,
    dim: int = 7,
    classes: int = 4,
    sentences: int = 150,
    batch_size: int = 9,
    fused: bool = True,
    dtype: torch.dtype = torch.float32,
    offset: int = 0,
    zeros: float = 0.0,
    standardise: bool = True,
    passes: int = 2,
    optimizer: str = "adam",
) -> tuple[Grid, torch.Tensor]:
    """Train for some passes; the vectors are columns `offset` to `offset + dim` of a wider matrix, some of them 0."""
    generator = torch.Generator().manual_seed(0)
    vectors = torch.randn(sentences, dim + 2 * offset, generator=generator).to(dtype)[:, offset : offset + dim]
    vectors[torch.rand(sentences, dim, generator=generator) < zeros] = 0
    labels = torch.randint(classes, (sentences,), generator=generator)
    inputs = Inputs.measure(vectors, standardise=standardise, device=CPU)
    grid = Grid.build(make_probe(configurations, optimizer), input_dim=dim, num_classes=classes, seed=3, device=CPU)
    grid.fused = fused
    losses = torch.zeros(0)
    for _ in range(passes):
        order = torch.randperm(sentences, generator=generator)
        losses = grid.train(Batches(inputs, vectors, labels, order, batch_size))
    return grid, losses


def compare(configurations: Configurations, **options: object) -> None:
    (grid, losses), (plain, expected) = (train(configurations, **options, fused=fused) for fused in (True, False))  # type: ignore[arg-type]
    torch.testing.assert_close(losses, expected, rtol=1e-4, atol=1e-5)
    for mine, theirs in zip(grid.stacks, plain.stacks, strict=True):
        for weight, other in zip(mine.weights, theirs.weights, strict=True):
            torch.testing.assert_close(weight, other, rtol=1e-3, atol=1e-4)


def count_calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    calls: list[int] = []
    original = kernel.train
    monkeypatch.setattr(kernel, "train", lambda *given: calls.append(1) or original(*given))
    return calls


GRIDS: list[Configurations] = [
    [(0, 0.0, 0.0), (0, 0.0, 0.1), (0, 0.0, 1.0)],
    [(5, 0.0, 0.0), (5, 0.0, 0.1)],
    [(8, 0.3, 0.0), (8, 0.0, 0.0), (8, 0.6, 0.01)],
    [(5, 0.2, 0.0), (3, 0.0, 0.2), (0, 0.0, 0.1), (5, 0.0, 0.3)],
]


@compiled
@pytest.mark.parametrize("configurations", GRIDS)
def test_training_is_that_of_torch_operations(configurations: Configurations, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = count_calls(monkeypatch)
    compare(configurations)
    assert calls


@compiled
@pytest.mark.parametrize("classes", [2, 6, 20, 131])
def test_any_number_of_classes(classes: int) -> None:
    compare(GRIDS[3], classes=classes, batch_size=32)


@compiled
@given(
    dim=st.integers(1, 40),
    sentences=st.integers(1, 70),
    batch_size=st.integers(1, 70),
    hidden=st.sampled_from([0, 0, 1, 7, 8]),
    configurations=st.integers(1, 8),
)
@settings(max_examples=40, deadline=None)
def test_any_shape(dim: int, sentences: int, batch_size: int, hidden: int, configurations: int) -> None:
    grid = [(hidden, 0.1 * (number % 3), 0.01 * number) for number in range(configurations)]
    compare(grid, dim=dim, sentences=sentences, batch_size=batch_size, passes=1)


@compiled
@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
def test_other_precisions_are_read(dtype: torch.dtype) -> None:
    compare(GRIDS[3], dtype=dtype)


@compiled
def test_vectors_may_be_part_of_a_wider_matrix() -> None:
    compare(GRIDS[3], offset=3)


@compiled
@pytest.mark.parametrize("standardise", [True, False])
@pytest.mark.parametrize("zeros", [0.9, 0.95, 0.98, 1.0])
def test_vectors_that_are_mostly_zero(zeros: float, standardise: bool) -> None:
    compare(GRIDS[3], dim=203, zeros=zeros, standardise=standardise)
    compare(GRIDS[2], dim=96, zeros=zeros, standardise=standardise, batch_size=33)


@compiled
@pytest.mark.parametrize("zeros", [0.0, 0.97])
@pytest.mark.parametrize("configurations", GRIDS)
def test_threads_change_no_bit(configurations: Configurations, zeros: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "PRODUCTS_FOR_THREADS", 0)
    grids = []
    before = torch.get_num_threads()
    for threads in (1, 2):
        torch.set_num_threads(threads)
        grids.append(train(configurations, classes=23, dim=100, zeros=zeros))
    torch.set_num_threads(before)
    (one, losses), (two, others) = grids
    assert torch.equal(losses, others)
    for left, right in zip(one.stacks, two.stacks, strict=True):
        assert all(map(torch.equal, left.weights, right.weights))


@compiled
def test_padding_stays_zero() -> None:
    grid, _ = train([(5, 0.2, 0.1)], dim=9)
    (stack,) = grid.stacks
    assert not stack.weights[0][:, :, 10:].any()
    assert not stack.weights[1][:, :, 6:].any()


@compiled
def test_extreme_scores_stay_finite() -> None:
    generator = torch.Generator().manual_seed(0)
    vectors = torch.randn(64, 4, generator=generator) * 1e4
    labels = torch.randint(3, (64,), generator=generator)
    for hidden in (0, 5):
        grid = Grid.build(make_probe([(hidden, 0.0, 0.0)]), input_dim=4, num_classes=3, seed=0, device=CPU)
        inputs = Inputs.measure(vectors, standardise=False, device=CPU)
        losses = grid.train(Batches(inputs, vectors, labels, torch.arange(64), 8))
        assert losses.isfinite().all()
        assert all(weight.isfinite().all() for weight in grid.stacks[0].weights)


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.delenv("CXX", raising=False)
    native.load.cache_clear()
    yield
    native.load.cache_clear()


def test_without_a_compiler_torch_does_it_and_a_warning_says_so_once(
    no_compiler: None, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        grid, losses = train(GRIDS[3])
    assert caplog.messages == [
        "descent runs without fused kernels, several times slower: no C++ compiler was found (CXX, c++, g++, clang++)"
    ]
    plain, expected = train(GRIDS[3], fused=False)
    assert torch.equal(losses, expected)
    assert all(map(torch.equal, grid.stacks[0].weights, plain.stacks[0].weights))


@compiled
@pytest.mark.parametrize("optimizer", ["rmsprop", "rmsprop,lr=0.1,alpha=0.9", "sgd,lr=0.1", "adam,lr=0.003"])
@pytest.mark.parametrize("hidden", [0, 5])
def test_other_optimisers(optimizer: str, hidden: int) -> None:
    compare([(hidden, 0.0, 0.0), (hidden, 0.0, 0.01)], optimizer=optimizer)
