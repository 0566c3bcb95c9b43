"""Adam with warm-up, decay and clipping, as the paper's models are trained; decoupled weight decay on request."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import torch
from torch import Tensor, nn

from probing.native import operations_as_they_are
from probing.training.fused_adam import AdamStep, Moments, can_move, move

BETA1, BETA2 = 0.9, 0.98


class Optimizer:
    """Adam; the learning rate rises linearly, then falls with the inverse square root; gradients are clipped.

    On a processor the step is a kernel of ours. Elsewhere it is that of torch's fused Adam, called directly, because
    `torch.optim` imports torch's compiler first, which takes longer than everything else before the first step.
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        learning_rate: float,
        warmup_steps: int,
        clip_norm: float,
        epsilon: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        self.parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.means, self.squares = ([torch.zeros_like(each) for each in self.parameters] for _ in range(2))
        self.counts_P = torch.zeros(len(self.parameters), device=self.parameters[0].device if self.parameters else None)
        """How often each parameter had a gradient."""
        self.counts = list(self.counts_P.unbind())
        self.peak, self.warmup_steps, self.clip_norm = learning_rate, warmup_steps, clip_norm
        self.epsilon, self.weight_decay = epsilon, weight_decay
        self.steps = 0

    @property
    def learning_rate(self) -> float:
        """Learning rate of the next step."""
        step = self.steps + 1
        return self.peak * min(step / self.warmup_steps, math.sqrt(self.warmup_steps / step))

    def step(self, losses: Iterable[Tensor]) -> Tensor:
        """Move the weights down the gradient of a sum of losses, and return that sum."""
        with operations_as_they_are():
            for parameter in self.parameters:
                parameter.grad = None
        total = None
        for loss in losses:
            with operations_as_they_are():
                loss.backward()
                total = loss.detach() if total is None else total + loss.detach()
        assert total is not None
        with operations_as_they_are():
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
        gradients: list[Tensor] = []
        chosen = []
        for place, parameter in enumerate(self.parameters):
            if parameter.grad is not None:
                gradients.append(parameter.grad)
                chosen.append(place)
        parameters, means, squares, counts = (
            [tensors[place] for place in chosen] for tensors in (self.parameters, self.means, self.squares, self.counts)
        )
        self.counts_P[chosen] += 1
        dense = [gradient for gradient in gradients if not gradient.is_sparse]
        if can_move([*parameters, *dense]):
            step = AdamStep(self.learning_rate, BETA1, BETA2, self.epsilon, self.weight_decay, self.clip_norm)
            steps = self.counts_P[chosen].int().tolist()
            move([Moments(*each) for each in zip(parameters, means, squares, steps, strict=True)], gradients, step)
            return
        gradients = [each.to_dense() if each.is_sparse else each for each in gradients]
        for moved, gradient in zip(parameters, gradients, strict=True):
            moved.grad = gradient
        if self.clip_norm:
            nn.utils.clip_grad_norm_(parameters, self.clip_norm)
        if self.weight_decay:  # decoupled (Loshchilov & Hutter 2019); gains and biases are left alone
            matrices = [parameter for parameter in parameters if parameter.dim() > 1]
            torch._foreach_mul_(matrices, 1 - self.learning_rate * self.weight_decay)
        torch._fused_adam_(
            parameters,
            gradients,
            means,
            squares,
            [],
            counts,
            lr=self.learning_rate,
            beta1=BETA1,
            beta2=BETA2,
            weight_decay=0.0,
            eps=self.epsilon,
            amsgrad=False,
            maximize=False,
        )
