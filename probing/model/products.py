"""Matrix products by oneDNN, for models that are not trained.

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


def has_onednn() -> bool:
    """Return whether this torch multiplies by oneDNN."""
    return torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def can_multiply(inputs: Tensor, weight: Tensor) -> bool:
    """Return whether `multiply` takes these matrices."""
    return (
        has_onednn()
        and inputs.device.type == weight.device.type == "cpu"
        and inputs.dtype == weight.dtype == torch.float32
        and inputs.numel() > 0
    )


def multiply(input_Td: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return input times transposed weight, plus bias, by oneDNN; without gradients, in float32 on a CPU."""
    output: Tensor = torch.ops.mkldnn._linear_pointwise(input_Td, weight, bias, "none", [], "")
    return output


class OneDnnProducts(TorchFunctionMode):
    """Inside it, linear layers and products with a bias are computed by oneDNN where that is possible."""

    def __torch_function__(
        self,
        function: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if not kwargs and not torch.is_grad_enabled():
            if function is functional.linear and can_multiply(args[0], args[1]):
                return multiply(*args)
            if function is torch.addmm and args[0].dim() == 1 and can_multiply(args[1], args[2]):
                return multiply(args[1], args[2].mT, args[0])
        return function(*args, **(kwargs or {}))
