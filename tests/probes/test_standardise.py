"""Inputs are the vectors, standardised or not, with a constant 1; batches keep their order."""

from __future__ import annotations

import pytest
import torch

from probing.probes import standardise as inputs
from probing.probes.standardise import LARGEST, Batches, Inputs, count_inputs

CPU = torch.device("cpu")
VECTORS = torch.randn(300, 6, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(("dim", "columns"), [(1, 8), (7, 8), (8, 16), (300, 304), (303, 304), (304, 312)])
def test_there_is_room_for_the_constant_and_whole_vectors(dim: int, columns: int) -> None:
    assert count_inputs(dim) == columns


def test_vectors_are_standardised_by_the_training_split() -> None:
    vectors = VECTORS * torch.tensor([1.0, 10, 100, 1e-2, 1, 0]) + 5
    made = Inputs.measure(vectors, standardise=True, device=CPU).make(vectors)
    assert made[:, :5].mean(0).tolist() == pytest.approx([0] * 5, abs=1e-3)
    assert made[:, :5].std(0, unbiased=False).tolist() == pytest.approx([1] * 5, rel=1e-3)
    assert (made[:, 5] == 0).all()
    assert (made[:, 6] == 1).all()
    assert (made[:, 7] == 0).all()
    raw = Inputs.measure(vectors, standardise=False, device=CPU).make(vectors)
    assert torch.equal(raw[:, :6], vectors)


@pytest.mark.parametrize("factor", [1e-35, 1e-11, 1e-9, 1e9, 1e30])
def test_vectors_of_any_size_are_standardised(factor: float) -> None:
    vectors = VECTORS * factor
    made = Inputs.measure(vectors, standardise=True, device=CPU).make(vectors)
    expected = Inputs.measure(VECTORS, standardise=True, device=CPU).make(VECTORS)
    torch.testing.assert_close(made, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("value", [0.0, 0.1, -1e-30, 1 / 3 * 1e10, 3e38])
def test_a_constant_column_is_not_blown_up(value: float) -> None:
    vectors = torch.full((10_000, 3), value)
    measured = Inputs.measure(vectors, standardise=True, device=CPU)
    assert measured.scale.tolist() == [1.0] * 3
    assert (measured.make(vectors)[:, :3] == 0).all()


def test_the_smallest_difference_counts() -> None:
    vectors = torch.full((1000, 1), 1000.0)
    vectors[::2] = torch.nextafter(torch.tensor(1000.0), torch.tensor(0.0))
    made = Inputs.measure(vectors, standardise=True, device=CPU).make(vectors)
    assert made[:, 0].std(correction=0) == pytest.approx(1.0)


def test_a_column_that_is_hardly_ever_used_is_not_blown_up() -> None:
    vectors = torch.zeros(10_000, 2)
    vectors[7, 0] = 1.0  # a rare word: by its deviation alone it would become 100
    vectors[::2, 1] = 1.0
    inputs = Inputs.measure(vectors, standardise=True, device=torch.device("cpu")).make(vectors)
    assert inputs[:, 0].abs().max() == pytest.approx(LARGEST)
    assert inputs[:, 1].std(correction=0) == pytest.approx(1.0)


def test_blocks_do_not_change_what_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Inputs.measure(VECTORS, standardise=True, device=CPU)
    monkeypatch.setattr(inputs, "BLOCK_NUMBERS", 80)
    measured = Inputs.measure(VECTORS, standardise=True, device=CPU)
    torch.testing.assert_close(whole.mean, measured.mean)
    torch.testing.assert_close(whole.scale, measured.scale)
    blocks = list(measured.blocks(VECTORS))
    assert {len(block) for block in blocks} == {10}
    assert torch.equal(torch.cat(blocks), measured.make(VECTORS))
    assert {len(block) for block in measured.blocks(VECTORS, width=20)} == {4}


def test_blocks_follow_an_order() -> None:
    made = Inputs.measure(VECTORS, standardise=False, device=CPU)
    (block,) = made.blocks(VECTORS, torch.tensor([7, 3]))
    assert torch.equal(block[:, :6], VECTORS[[7, 3]])


def test_batches_follow_the_order_and_parts_are_of_whole_batches() -> None:
    made = Inputs.measure(VECTORS, standardise=False, device=CPU)
    order = torch.randperm(300, generator=torch.Generator().manual_seed(1))[:50]
    batches = Batches(made, VECTORS, torch.arange(300), order, 8)
    assert len(batches) == 50
    assert [len(labels) for _, labels in batches] == [8] * 6 + [2]
    assert torch.cat([labels for _, labels in batches]).tolist() == order.tolist()
    assert torch.equal(torch.cat([rows for rows, _ in batches])[:, :6], VECTORS[order])
    parts = list(batches.split(20))
    assert [len(part) for part in parts] == [16, 16, 16, 2]
    assert torch.cat([part.order for part in parts]).tolist() == order.tolist()
    assert [len(part) for part in batches.split(1)] == [8] * 6 + [2]
