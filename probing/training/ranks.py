"""The processes of one training: this one alone, or several that torchrun started, on one machine or more.

Each process trains on its part of every batch. The gradients are averaged by DistributedDataParallel, so that the
weights are the same everywhere; the first process alone writes checkpoints and records.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from probing.errors import ProbingError

LOST = ("Connection closed by peer", "Connection reset by peer", "Broken pipe", "NCCL", "timed out", "Timed out")
"""Phrases of torch's errors about a process that is gone."""
SOURCE_PLACE = re.compile(r"^\[[^\]\s]*:\d+\]\s*(?=\S)")
"""File and line of torch's own sources at the beginning of an error."""


@dataclass(frozen=True, slots=True)
class Ranks:
    """Number of this process among those of a training."""

    rank: int = 0
    count: int = 1

    @property
    def is_first(self) -> bool:
        """Whether this is the process that writes and prints."""
        return self.rank == 0

    def wrap(self, model: nn.Module) -> nn.Module:
        """Return the model as training calls it: with gradients that are averaged over all processes."""
        if self.count == 1:
            return model
        from torch.nn.parallel import DistributedDataParallel

        return DistributedDataParallel(model)

    def wait(self) -> None:
        """Wait until all processes are here."""
        if self.count > 1:
            torch.distributed.barrier()

    def add(self, number: Tensor) -> Tensor:
        """Return the mean of a number over all processes."""
        if self.count > 1:
            number = number.clone()
            torch.distributed.all_reduce(number)
            number /= self.count
        return number

    def agree(self, number: float) -> float:
        """Return the first process's number, which may differ from this one's in the last digits."""
        if self.count == 1:
            return number
        shared = torch.tensor(number, dtype=torch.float64)
        torch.distributed.broadcast(shared, 0)
        return shared.item()

    def seed_step(self, seed: int, step: int) -> None:
        """Give each process its own random numbers, which depend on nothing but the step."""
        if self.count > 1:
            torch.manual_seed(((seed * 1_000_003 + step) * 1_000_003 + self.rank) % (1 << 63))

    def is_loss(self, error: RuntimeError) -> bool:
        """Return whether an error means that another process is gone."""
        return self.count > 1 and any(phrase in str(error) for phrase in LOST)

    def describe(self, error: RuntimeError) -> str:
        """Return the beginning of an error's text, without the place in torch's sources that some begin with."""
        return SOURCE_PLACE.sub("", str(error).strip()).splitlines()[0][:100]


ALONE = Ranks()


@contextmanager
def joining(device: torch.device) -> Iterator[Ranks]:
    """Join the processes that torchrun started; without it, this process is alone."""
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count == 1 or "MASTER_ADDR" not in os.environ:
        yield ALONE
        return
    backend = "nccl" if device.type == "cuda" else "gloo"
    if device.type == "cuda":
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    try:
        torch.distributed.init_process_group(backend)
    except (RuntimeError, ValueError) as error:
        raise ProbingError(f"the processes of torchrun cannot reach each other: {error}") from None
    try:
        yield Ranks(torch.distributed.get_rank(), count)
    finally:
        torch.distributed.destroy_process_group()
