"""Adam with warm-up, decay and clipping, as the paper's models are trained."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import torch
from torch import Tensor, nn


class Optimizer:
    """Adam; the learning rate rises linearly, then falls with the inverse square root; gradients are clipped.

    It calls the kernel of torch's fused Adam directly: `torch.optim` imports torch's compiler first, which takes longer
    than everything else before the first step.
    """

    def __init__(
        self, model: nn.Module, *, learning_rate: float, warmup_steps: int, clip_norm: float, epsilon: float = 1e-8
    ) -> None:
        self.parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.means, self.squares = ([torch.zeros_like(each) for each in self.parameters] for _ in range(2))
        self.counts = [torch.zeros((), device=each.device) for each in self.parameters]
        """How often each parameter had a gradient."""
        self.peak, self.warmup_steps, self.clip_norm = learning_rate, warmup_steps, clip_norm
        self.epsilon = epsilon
        self.steps = 0

    @property
    def learning_rate(self) -> float:
        """Learning rate of the next step."""
        step = self.steps + 1
        return self.peak * min(step / self.warmup_steps, math.sqrt(self.warmup_steps / step))

    def step(self, losses: Iterable[Tensor]) -> Tensor:
        """Move the weights down the gradient of a sum of losses, and return that sum."""
        for parameter in self.parameters:
            parameter.grad = None
        total = None
        for loss in losses:
            loss.backward()
            total = loss.detach() if total is None else total + loss.detach()
        assert total is not None
        if self.clip_norm:
            nn.utils.clip_grad_norm_(self.parameters, self.clip_norm)
        self._move()
        self.steps += 1
        return total

    def tensors(self) -> dict[str, Tensor]:
        """Return the moments of each parameter, by its number."""
        return {
            f"{name}.{place}": tensor
            for name, tensors in (("mean", self.means), ("square", self.squares), ("steps", self.counts))
            for place, tensor in enumerate(tensors)
        }

    def restore(self, tensors: Mapping[str, Tensor], steps: int) -> None:
        """Restore the moments that `tensors` returned."""
        for name, tensor in self.tensors().items():
            tensor.copy_(tensors[name])
        self.steps = steps

    @torch.no_grad()
    def _move(self) -> None:
        gradients = {place: each.grad for place, each in enumerate(self.parameters) if each.grad is not None}
        parameters, means, squares, counts = (
            [tensors[place] for place in gradients]
            for tensors in (self.parameters, self.means, self.squares, self.counts)
        )
        torch._foreach_add_(counts, 1)
        torch._fused_adam_(
            parameters,
            list(gradients.values()),
            means,
            squares,
            [],
            counts,
            lr=self.learning_rate,
            beta1=0.9,
            beta2=0.98,
            weight_decay=0.0,
            eps=self.epsilon,
            amsgrad=False,
            maximize=False,
        )
