"""All configurations at once give what each gives alone, trained by plain torch."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from probing.errors import ProbingError
from probing.grids import Grid

CPU = torch.device("cpu")
DIM, CLASSES = 7, 4


def build(configurations: list[tuple[int, float, float]], **options: object) -> Grid:
    defaults = {"input_dim": DIM, "num_classes": CLASSES, "seed": 3, "device": CPU, "optimizer": "adam"}
    return Grid.build(configurations, **defaults | {"learning_rate": 0.01} | options)


def batches(count: int) -> list[tuple[Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(0)
    return [
        (torch.randn(9, DIM, generator=generator), torch.randint(CLASSES, (9,), generator=generator))
        for _ in range(count)
    ]


def with_constant(inputs: Tensor) -> Tensor:
    return torch.cat([inputs, torch.ones(len(inputs), 1)], 1)


def train(grid: Grid, count: int, start: int = 0) -> None:
    for inputs, labels in batches(start + count)[start:]:
        grid.step(with_constant(inputs), nn.functional.one_hot(labels, CLASSES).float())


def plain(grid: Grid, number: int) -> nn.Sequential:
    """The same classifier as a torch module."""
    group = grid.copy(number)
    if group.is_linear:
        model = nn.Sequential(nn.Linear(DIM, CLASSES))
    else:
        model = nn.Sequential(nn.Linear(DIM, group.weights[0].shape[1]), nn.Sigmoid())
        model.append(nn.Linear(group.weights[0].shape[1], CLASSES))
        model[2].weight.data = group.weights[1][0].t().clone()
        model[2].bias.data = group.weights[2][0, 0].clone()
    model[0].weight.data = group.weights[0][0, :, :-1].clone()
    model[0].bias.data = group.weights[0][0, :, -1].clone()
    return model


def train_plain(model: nn.Sequential, decay: float, count: int, optimizer: type = torch.optim.Adam) -> None:
    steps = optimizer(model.parameters(), lr=0.01, weight_decay=decay)
    for inputs, labels in batches(count):
        steps.zero_grad()
        nn.functional.cross_entropy(model(inputs), labels).backward()
        steps.step()


GRIDS = [
    [(0, 0.0, 0.0), (0, 0.0, 0.1), (0, 0.0, 1.0)],
    [(5, 0.0, 0.0), (5, 0.0, 0.1)],
    [(5, 0.0, 0.0), (3, 0.0, 0.2), (0, 0.0, 0.1), (5, 0.0, 0.3)],
]


@pytest.mark.parametrize("configurations", GRIDS)
def test_a_grid_is_its_classifiers_trained_one_at_a_time(configurations: list[tuple[int, float, float]]) -> None:
    grid = build(configurations)
    alone = {number: plain(grid, number) for number in grid.active}
    train(grid, 20)
    inputs = batches(1)[0][0]
    predictions = grid.predict(with_constant(inputs))
    for row, number in enumerate(grid.active):
        train_plain(alone[number], configurations[number][2], 20)
        expected = alone[number](inputs)
        scores = grid.copy(number).scores(with_constant(inputs))[0]
        torch.testing.assert_close(scores, expected, rtol=1e-4, atol=1e-5)
        assert predictions[row].tolist() == expected.argmax(1).tolist()


def test_the_others_go_on_as_before_when_one_is_dropped() -> None:
    configurations = GRIDS[2]
    whole, smaller = build(configurations), build(configurations)
    train(whole, 10)
    train(smaller, 5)
    smaller.drop([0, 1])
    assert smaller.active == [3, 2]
    train(smaller, 5, start=5)
    for number in (2, 3):
        for left, right in zip(smaller.copy(number).weights, whole.copy(number).weights, strict=True):
            torch.testing.assert_close(left, right, rtol=1e-5, atol=1e-6)


def test_losses_are_the_mean_cross_entropy() -> None:
    grid = build(GRIDS[2])
    inputs, labels = batches(1)[0]
    expected = [nn.functional.cross_entropy(plain(grid, number)(inputs), labels) for number in grid.active]
    losses = grid.step(with_constant(inputs), nn.functional.one_hot(labels, CLASSES).float(), with_loss=True)
    assert losses is not None
    torch.testing.assert_close(losses, torch.stack(expected))


def test_dropout_falls_before_the_sigmoid_in_training_only() -> None:
    grid = build([(2000, 0.5, 0.0), (2000, 0.0, 0.0)])
    (group,) = grid.groups
    mask = group._mask(50, 2000, grid.noise)
    assert mask[:, 0].unique().tolist() == [0.0, 2.0]
    assert mask[:, 0].mean().item() == pytest.approx(1.0, abs=0.02)
    assert mask[:, 1].unique().tolist() == [1.0]
    inputs = with_constant(batches(1)[0][0])
    torch.testing.assert_close(group.scores(inputs)[0], group.scores(inputs)[1])


def test_classifiers_of_a_size_start_alike_within_the_bounds_of_torch() -> None:
    grid = build([(6, 0.0, 0.0), (6, 0.1, 0.0)])
    (group,) = grid.groups
    assert all(torch.equal(weight[0], weight[1]) for weight in group.weights)
    assert group.weights[0].abs().max().item() <= DIM**-0.5
    assert group.num_parameters == 6 * (DIM + 1) + (6 + 1) * CLASSES


def test_sentevals_other_optimisers() -> None:
    grid = build([(0, 0.0, 0.1)], optimizer="sgd,lr=0.01")
    alone = plain(grid, 0)
    train(grid, 5)
    train_plain(alone, 0.1, 5, torch.optim.SGD)
    torch.testing.assert_close(grid.copy(0).weights[0][0, :, :-1], alone[0].weight.data)


@pytest.mark.parametrize(
    ("optimizer", "text"),
    [
        ("adm", "unknown optim 'adm'. Known: adam, adamax, "),
        ("sgd,lr", "optim 'sgd,lr': 'lr' is not of the form key=number, e.g. lr=0.1"),
        ("sgd,speed=1", "optim 'sgd,speed=1': "),
    ],
)
def test_an_optimiser_that_is_none(optimizer: str, text: str) -> None:
    with pytest.raises(ProbingError) as error:
        build([(0, 0.0, 0.0)], optimizer=optimizer)
    assert str(error.value).startswith(text)
