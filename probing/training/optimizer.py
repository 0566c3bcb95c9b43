"""Adam with warm-up, decay and clipping, as the paper's models are trained."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn


class Optimizer:
    """Adam; the learning rate rises linearly, then falls with the inverse square root; gradients are clipped.

    It calls the kernel of torch's fused Adam directly: `torch.optim` imports torch's compiler first, which takes longer
    than everything else before the first step.
    """

    def __init__(self, model: nn.Module, *, learning_rate: float, warmup_steps: int, clip_norm: float) -> None:
        self.moments = [_Moments(parameter) for parameter in model.parameters() if parameter.requires_grad]
        self.peak, self.warmup_steps, self.clip_norm = learning_rate, warmup_steps, clip_norm
        self.steps = 0

    @property
    def learning_rate(self) -> float:
        """Learning rate of the next step."""
        step = self.steps + 1
        return self.peak * min(step / self.warmup_steps, math.sqrt(self.warmup_steps / step))

    def step(self, loss: Tensor) -> None:
        """Move the weights down the loss's gradient."""
        for each in self.moments:
            each.parameter.grad = None
        loss.backward()
        if self.clip_norm:
            nn.utils.clip_grad_norm_([each.parameter for each in self.moments], self.clip_norm)
        self._move()
        self.steps += 1

    def tensors(self) -> dict[str, Tensor]:
        """Return the moments of each parameter, by its number."""
        return {
            f"{name}.{place}": tensor
            for place, each in enumerate(self.moments)
            for name, tensor in (("mean", each.mean), ("square", each.square), ("steps", each.steps))
        }

    def restore(self, tensors: Mapping[str, Tensor], steps: int) -> None:
        """Restore the moments that `tensors` returned."""
        for name, tensor in self.tensors().items():
            tensor.copy_(tensors[name])
        self.steps = steps

    @torch.no_grad()
    def _move(self) -> None:
        moments = [each for each in self.moments if each.parameter.grad is not None]
        gradients = [each.parameter.grad for each in moments if each.parameter.grad is not None]
        steps = [each.steps for each in moments]
        torch._foreach_add_(steps, 1)
        torch._fused_adam_(
            [each.parameter for each in moments],
            gradients,
            [each.mean for each in moments],
            [each.square for each in moments],
            [],
            steps,
            lr=self.learning_rate,
            beta1=0.9,
            beta2=0.98,
            weight_decay=0.0,
            eps=1e-8,
            amsgrad=False,
            maximize=False,
        )


class _Moments:
    """A parameter, the running means of its gradient and of the square, and how often it had a gradient."""

    def __init__(self, parameter: nn.Parameter) -> None:
        self.parameter = parameter
        self.mean, self.square = torch.zeros_like(parameter), torch.zeros_like(parameter)
        self.steps = torch.zeros((), device=parameter.device)
