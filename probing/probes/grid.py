"""A grid of small classifiers that are trained together, in stacks of equal size, on the same batches.

Shapes: B sentences, G configurations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from probing.probes import kernel
from probing.probes.definitions import Configuration, Probe
from probing.probes.optimizers import Adam, TorchOptimizer, make_optimizer
from probing.probes.stack import Stack
from probing.probes.standardise import BLOCK_NUMBERS, Batches

PRODUCTS_FOR_THREADS = 2**26
"""Number of multiplications in a step of torch operations below which it runs on one thread."""


@dataclass(slots=True)
class Grid:
    """All configurations, in stacks of equally many hidden units."""

    stacks: list[Stack]
    optimizers: list[Adam | TorchOptimizer]
    noise: torch.Generator
    fused: bool
    """Whether compiled kernels may be used."""

    @classmethod
    def build(cls, probe: Probe, *, input_dim: int, num_classes: int, seed: int, device: torch.device) -> Grid:
        """Make a probe's classifiers, those of a size with the same weights."""
        sizes: dict[int, dict[int, Configuration]] = {}
        for number, configuration in enumerate(probe.configurations):
            sizes.setdefault(configuration.hidden, {})[number] = configuration
        stacks = [
            Stack.build(members, input_dim=input_dim, num_classes=num_classes, seed=seed, device=device)
            for members in sizes.values()
        ]
        rate = probe.learning_rate
        optimizers = [make_optimizer(probe.optimizer, stack.weights, learning_rate=rate) for stack in stacks]
        return cls(stacks, optimizers, torch.Generator(device).manual_seed(seed), device.type == "cpu")

    @property
    def active(self) -> list[int]:
        """The configurations that are still trained, in the order of what `train` and `predict` return."""
        return [number for stack in self.stacks for number in stack.numbers]

    @property
    def width(self) -> int:
        """The most numbers that are made of a sentence at a time."""
        return max(len(stack.numbers) * max(stack.hidden, stack.num_classes) for stack in self.stacks)

    def train(self, batches: Batches) -> Tensor:
        """Train on all batches and return the mean cross-entropies (G,)."""
        total = torch.zeros(len(self.active), dtype=torch.float64)
        hidden = max(stack.hidden for stack in self.stacks)
        for part in batches.split(BLOCK_NUMBERS // max(hidden, batches.vectors.shape[1])):
            total += self._train_part(part).cpu()
        return total / len(batches)

    def _train_part(self, batches: Batches) -> Tensor:
        noises = [self._draw(stack, len(batches)) for stack in self.stacks]
        adams = [optimizer for optimizer in self.optimizers if isinstance(optimizer, Adam)]
        if self.fused and adams and kernel.load().library is not None:
            return kernel.train(self.stacks, adams, batches, noises)
        members = zip(self.stacks, self.optimizers, noises, strict=True)
        return torch.cat([_train_plainly(*member, batches) for member in members])

    def _draw(self, stack: Stack, sentences: int) -> Tensor | None:
        """Return the dropout's noise (H, sentences): one draw serves all of a stack, as it does with equal seeds."""
        if not stack.drops:
            return None
        return torch.rand(stack.hidden, sentences, generator=self.noise, device=self.noise.device)

    def predict(self, inputs_BD: Tensor) -> Tensor:
        """Return the classes (G, B) of all active configurations."""
        return torch.cat([stack.predict(inputs_BD) for stack in self.stacks])

    def copy(self, number: int) -> Stack:
        """Return one configuration as it is now."""
        stack = next(stack for stack in self.stacks if number in stack.numbers)
        return stack.select([stack.numbers.index(number)])

    def drop(self, numbers: Sequence[int]) -> None:
        """Go on without some configurations; the optimiser's memory of the others stays."""
        if not {*numbers} & {*self.active}:
            return
        stacks, optimizers = [], []
        for stack, optimizer in zip(self.stacks, self.optimizers, strict=True):
            places = [place for place, number in enumerate(stack.numbers) if number not in numbers]
            if places:
                stacks.append(stack.select(places))
                optimizers.append(optimizer.select(stacks[-1].weights, places))
        self.stacks, self.optimizers = stacks, optimizers


def _train_plainly(stack: Stack, optimizer: Adam | TorchOptimizer, noise_HS: Tensor | None, batches: Batches) -> Tensor:
    """Train with torch operations, as the kernel does."""
    total = torch.zeros(len(stack.numbers), dtype=torch.float64, device=stack.dropout.device)
    start = 0
    with threads_for(batches.size * stack.weights[0].numel()):
        for inputs_BD, labels_B in batches:
            noise_HB = None if noise_HS is None else noise_HS[:, start : start + len(labels_B)]
            losses, gradients = stack.differentiate(inputs_BD, labels_B, noise_HB)
            optimizer.step(stack.weights, gradients)
            total += losses
            start += len(labels_B)
    return total


@contextmanager
def threads_for(products: int, limit: int = PRODUCTS_FOR_THREADS) -> Iterator[None]:
    """Take one thread in the block if a step has few multiplications."""
    threads = torch.get_num_threads()
    if products < limit:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
