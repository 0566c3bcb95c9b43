"""The processes of a training, as far as one process shows them; tests of `probe translate run` start two."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
import torch
from torch import nn

from probing.errors import ProbingError
from probing.training import ALONE, Ranks, joining

CPU = torch.device("cpu")


def test_a_process_alone_changes_nothing() -> None:
    model, number = nn.Linear(2, 2), torch.tensor(3.5)
    assert Ranks(0, 1) == ALONE
    assert ALONE.is_first
    assert ALONE.wrap(model) is model
    assert ALONE.add(number) is number
    assert ALONE.agree(0.1) == 0.1
    ALONE.wait()


def test_only_the_first_process_is_first() -> None:
    assert [Ranks(rank, 3).is_first for rank in range(3)] == [True, False, False]


def draw(ranks: Ranks, seed: int, step: int) -> list[float]:
    torch.manual_seed(99)
    ranks.seed_step(seed, step)
    return torch.rand(4).tolist()


def test_a_process_alone_keeps_its_random_numbers() -> None:
    torch.manual_seed(99)
    expected = torch.rand(4).tolist()
    assert draw(ALONE, 1, 2) == draw(ALONE, 5, 6) == expected


def test_random_numbers_depend_on_seed_step_and_process_alone() -> None:
    places = [(rank, seed, step) for rank in (0, 1) for seed in (0, 1) for step in (0, 1, 2)]
    drawn = {place: draw(Ranks(place[0], 2), *place[1:]) for place in places}
    assert len({tuple(numbers) for numbers in drawn.values()}) == len(places)
    assert all(draw(Ranks(rank, 2), seed, step) == drawn[rank, seed, step] for rank, seed, step in places)
    assert draw(Ranks(1, 2), 1 << 40, 1 << 40), "large seeds are taken"


@pytest.mark.parametrize(
    ("text", "is_loss"),
    [
        ("[gloo] Connection closed by peer [127.0.0.1]:4242", True),
        ("Connection reset by peer", True),
        ("Timed out waiting 1800000ms", True),
        ("mat1 and mat2 shapes cannot be multiplied", False),
    ],
)
def test_the_loss_of_another_process_is_known_by_its_error(text: str, is_loss: bool) -> None:
    assert Ranks(0, 2).is_loss(RuntimeError(text)) == is_loss
    assert not ALONE.is_loss(RuntimeError(text)), "alone, there is no other process"


def test_an_error_is_described_in_one_short_line() -> None:
    assert Ranks(0, 2).describe(RuntimeError("\n first\nsecond")) == "first"
    assert len(Ranks(0, 2).describe(RuntimeError("x" * 500))) == 100
    text = "[/build/gloo/transport/tcp/pair.cc:537] Read error [127.0.0.1]:5041: Connection closed by peer"
    assert Ranks(0, 2).describe(RuntimeError(text)) == "Read error [127.0.0.1]:5041: Connection closed by peer"


def test_without_torchrun_a_process_is_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WORLD_SIZE", "MASTER_ADDR"):
        monkeypatch.delenv(name, raising=False)
    with joining(CPU) as ranks:
        assert ranks == ALONE
    monkeypatch.setenv("WORLD_SIZE", "4")  # as some job schedulers set it for programs of their own
    with joining(CPU) as ranks:
        assert ranks == ALONE
    assert not torch.distributed.is_initialized()


def find_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


def test_processes_that_cannot_reach_each_other_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": find_port(), "RANK": "nothing"}
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    with (
        pytest.raises(ProbingError, match="the processes of torchrun cannot reach each other: ") as caught,
        joining(CPU),
    ):
        pytest.fail("no process may be joined")
    assert "\n" not in str(caught.value)


@pytest.fixture
def group() -> Iterator[None]:
    """A group of one process, in which all that several do can be called."""
    torch.distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{find_port()}", rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


def test_numbers_are_shared(group: None) -> None:
    ranks, number = Ranks(0, 2), torch.tensor(3.0)
    assert ranks.add(number).item() == 1.5, "the only process's number, divided by the number of processes"
    assert number.item() == 3.0, "the number itself stays"
    assert ranks.agree(0.1) == 0.1, "no digit is lost"
    ranks.wait()


def test_gradients_are_those_of_the_model_itself(group: None) -> None:
    model = nn.Linear(3, 1)
    wrapped = Ranks(0, 2).wrap(model)
    wrapped(torch.ones(2, 3)).sum().backward()
    assert model.weight.grad is not None
    assert model.weight.grad.tolist() == [[2.0, 2.0, 2.0]]
