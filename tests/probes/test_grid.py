"""All configurations at once give what each gives alone, trained by plain torch."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from probing.probes import grid as grids
from probing.probes.definitions import Configuration, Probe
from probing.probes.grid import Grid
from probing.probes.stack import Stack
from probing.probes.standardise import Batches, Inputs

CPU = torch.device("cpu")
DIM, CLASSES, SENTENCES, SIZE = 7, 4, 200, 9

generator = torch.Generator().manual_seed(0)
VECTORS = torch.randn(SENTENCES, DIM, generator=generator)
LABELS = torch.randint(CLASSES, (SENTENCES,), generator=generator)
RAW = Inputs(torch.zeros(DIM), torch.ones(DIM), CPU)


def build(configurations: list[tuple[int, float, float]], *, fused: bool = True, optimizer: str = "adam") -> Grid:
    items = tuple(Configuration(hidden=item[0], dropout=item[1], weight_decay=item[2]) for item in configurations)
    probe = Probe(name="some", configurations=items, standardise=False, optimizer=optimizer, learning_rate=0.01)
    grid = Grid.build(probe, input_dim=DIM, num_classes=CLASSES, seed=3, device=CPU)
    grid.fused = fused
    return grid


def batches(start: int = 0, end: int = SENTENCES) -> Batches:
    return Batches(RAW, VECTORS, LABELS, torch.arange(start, end), SIZE)


def plain(grid: Grid, number: int) -> nn.Sequential:
    """The same classifier as a torch module."""
    stack = grid.copy(number)
    sizes = [DIM, stack.hidden, CLASSES] if stack.hidden else [DIM, CLASSES]
    model = nn.Sequential()
    for weight, before, after in zip(stack.weights, sizes, sizes[1:], strict=False):
        model.append(nn.Linear(before, after))
        model[-1].weight.data, model[-1].bias.data = weight[0, :, :before].clone(), weight[0, :, before].clone()
        model.append(nn.Sigmoid())
    return model[:-1]


def train_plain(model: nn.Sequential, decay: float, optimizer: type = torch.optim.Adam) -> float:
    steps = optimizer(model.parameters(), lr=0.01, weight_decay=decay)
    total = 0.0
    for inputs, labels in zip(VECTORS.split(SIZE), LABELS.split(SIZE), strict=True):
        steps.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        steps.step()
        total += loss.item() * len(labels)
    return total / SENTENCES


GRIDS = [
    [(0, 0.0, 0.0), (0, 0.0, 0.1), (0, 0.0, 1.0)],
    [(5, 0.0, 0.0), (5, 0.0, 0.1)],
    [(5, 0.0, 0.0), (3, 0.0, 0.2), (0, 0.0, 0.1), (5, 0.0, 0.3)],
]


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("configurations", GRIDS)
def test_a_grid_is_its_classifiers_trained_one_at_a_time(
    configurations: list[tuple[int, float, float]], fused: bool
) -> None:
    grid = build(configurations, fused=fused)
    alone = {number: plain(grid, number) for number in grid.active}
    losses = grid.train(batches())
    inputs = RAW.make(VECTORS)
    predictions = grid.predict(inputs)
    for row, number in enumerate(grid.active):
        expected_loss = train_plain(alone[number], configurations[number][2])
        assert losses[row].item() == pytest.approx(expected_loss, rel=1e-4)
        expected = alone[number](VECTORS)
        scores = grid.copy(number).scores(inputs)[0]
        torch.testing.assert_close(scores, expected, rtol=1e-4, atol=1e-5)
        assert (predictions[row] == expected.argmax(1)).float().mean() > 0.99


@pytest.mark.parametrize("fused", [True, False])
def test_the_others_go_on_as_before_when_one_is_dropped(fused: bool) -> None:
    whole, smaller = (build(GRIDS[2], fused=fused) for _ in range(2))
    whole.train(batches())
    smaller.train(batches(end=90))
    smaller.drop([0, 1])
    assert smaller.active == [3, 2]
    smaller.train(batches(start=90))
    for number in (2, 3):
        for left, right in zip(smaller.copy(number).weights, whole.copy(number).weights, strict=True):
            torch.testing.assert_close(left, right, rtol=1e-5, atol=1e-6)


def test_all_may_be_dropped() -> None:
    grid = build(GRIDS[2])
    grid.drop([])
    assert grid.active == [0, 3, 1, 2]
    grid.drop([0, 1, 2, 3])
    assert grid.active == []


@pytest.mark.parametrize("fused", [True, False])
def test_the_size_of_a_part_changes_nothing(fused: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, parts = (build(GRIDS[2], fused=fused) for _ in range(2))
    losses = whole.train(batches())
    monkeypatch.setattr(grids, "BLOCK_NUMBERS", 300)
    torch.testing.assert_close(parts.train(batches()), losses)
    for number in whole.active:
        for left, right in zip(parts.copy(number).weights, whole.copy(number).weights, strict=True):
            torch.testing.assert_close(left, right)


def test_sentevals_other_optimisers() -> None:
    grid = build([(0, 0.0, 0.1)], optimizer="sgd,lr=0.01")
    alone = plain(grid, 0)
    grid.train(batches())
    train_plain(alone, 0.1, torch.optim.SGD)
    torch.testing.assert_close(grid.copy(0).weights[0][0, :, :DIM], alone[0].weight.data)


def test_small_steps_of_torch_run_on_one_thread_and_threads_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    original = Stack.differentiate

    def spy(*given: Tensor) -> object:
        seen.append(torch.get_num_threads())
        return original(*given)

    monkeypatch.setattr(Stack, "differentiate", spy)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    build(GRIDS[0], fused=False).train(batches(end=18))
    assert seen == [1, 1]
    assert torch.get_num_threads() == 2
    torch.set_num_threads(before)
