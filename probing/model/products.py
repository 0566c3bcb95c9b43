"""Matrix products by oneDNN, for translators: in search, and in training with its gradients.

torch's own choice for float32 is MKL. On an AMD EPYC, oneDNN, which torch has too, took half its time for the products
of a translator; other processors were not measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

MATRIX_PRODUCTS = (torch.matmul, torch.mm, torch.Tensor.matmul, torch.Tensor.mm, torch.Tensor.__matmul__)


def has_onednn() -> bool:
    """Return whether this torch multiplies by oneDNN."""
    operations = ("_linear_pointwise", "_reorder_linear_weight")
    return torch.backends.mkldnn.is_available() and all(hasattr(torch.ops.mkldnn, name) for name in operations)


def can_multiply(inputs: Tensor, weight: Tensor) -> bool:
    """Return whether `multiply` takes these matrices."""
    return (
        has_onednn()
        and inputs.device.type == weight.device.type == "cpu"
        and inputs.dtype == weight.dtype == torch.float32
        and inputs.numel() > 0
        and not torch.is_autocast_enabled("cpu")
    )


def multiply(input_Td: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return input times transposed weight, plus bias, by oneDNN; without gradients, in float32 on a CPU."""
    output: Tensor = torch.ops.mkldnn._linear_pointwise(input_Td, weight, bias, "none", [], "")
    return output


class OneDnnProducts(TorchFunctionMode):
    """Inside it, linear layers and products of two matrices are computed by oneDNN where that is possible.

    The gradients of what was computed inside it are too. Products of two matrices have none. Where no gradients are
    wanted and `frozen`, the weights are laid out for oneDNN once and kept: they must not change inside it.
    """

    def __init__(self, *, frozen: bool = False) -> None:
        super().__init__()
        self.frozen = frozen
        self.kept: dict[tuple[object, ...], tuple[Tensor, Tensor]] = {}
        """Weights, and the same as oneDNN has them, by where they lie; who holds them keeps their place from others."""

    def __torch_function__(
        self,
        function: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if not kwargs:
            if function is functional.linear and can_multiply(args[0], args[1]):
                return self._multiply(*args)
            if function is torch.addmm and args[0].dim() == 1 and can_multiply(args[1], args[2]):
                return self._multiply(args[1], args[2].mT, args[0])
            if function in MATRIX_PRODUCTS and not torch.is_grad_enabled():
                left, right = args
                if left.dim() == right.dim() == 2 and can_multiply(left, right):
                    return multiply(left, right.mT)
        return function(*args, **(kwargs or {}))

    def _multiply(self, input_Td: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        """Return the product of `multiply`, with gradients where they are wanted."""
        if not torch.is_grad_enabled():
            return multiply(input_Td, self._lay_out(weight) if self.frozen else weight, bias)
        if input_Td.dim() != 2:
            return functional.linear(input_Td, weight, bias)
        output: Tensor = _Product.apply(input_Td, weight, bias)
        return output

    def _lay_out(self, weight: Tensor) -> Tensor:
        """Return a weight as oneDNN has it."""
        place = (weight.data_ptr(), weight.shape, weight.stride())
        if place not in self.kept:
            self.kept[place] = weight, torch.ops.mkldnn._reorder_linear_weight(weight)
        return self.kept[place][1]


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, input_Td: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(input_Td, weight)
        return multiply(input_Td, weight, bias)

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> Any:
        input_Td, weight = ctx.saved_tensors
        (gradient,) = upstream
        for_input, for_weight, for_bias = ctx.needs_input_grad
        product = functional.linear if torch.is_grad_enabled() else multiply  # a gradient's gradient is left to torch
        return (
            product(gradient, weight.mT) if for_input else None,
            product(gradient.mT, input_Td.mT) if for_weight else None,
            gradient.sum(0) if for_bias else None,
        )
