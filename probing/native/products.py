"""Matrix products on a processor: in float32, or of numbers in bfloat16 with sums in float32.

torch's own choice for float32 is MKL, which leaves half of some processors unused. There a kernel of our own
multiplies, or, where that cannot be had, oneDNN, which is part of torch, too. oneDNN prepares itself anew for each
shape, and batches differ in their number of tokens.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode, _get_current_function_mode

from probing.native.compiling import load
from probing.native.processor import has_onednn, has_slow_mkl, has_wide_vectors

_ACTIVE: ContextVar[FastProducts | None] = ContextVar("active products", default=None)
STEP = 64
"""Rows of narrow matrices are filled up with zeros to a multiple of this, so that few shapes occur."""
MATRIX_PRODUCTS = {torch.matmul, torch.mm, torch.Tensor.matmul, torch.Tensor.mm, torch.Tensor.__matmul__}
PRODUCTS = MATRIX_PRODUCTS | {functional.linear, torch.addmm}
"""The operations of torch that may be replaced."""


@contextmanager
def operations_as_they_are() -> Iterator[None]:
    """Inside it, no operation of torch is looked at, which takes time: even the question for a tensor's address is one.

    It is for code that multiplies no matrices, or only by `differentiate` or inside `active_products`: these two still
    have the products that are active here.
    """
    products = _ACTIVE.get()
    if products is None or _get_current_function_mode() is not products:
        yield
        return
    products.stop_looking()
    try:
        yield
    finally:
        products.look()


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
    """Return input times transposed weight, plus bias; without gradients, in float32 on a CPU."""
    kernel = find_kernel()
    if kernel is None:
        return multiply_by_onednn(input_Td, weight, bias)
    left = _lines(input_Td if input_Td.dim() == 2 else input_Td.reshape(-1, input_Td.shape[-1]))
    right, width = _lines(weight), weight.shape[0]
    output = left.new_empty(left.shape[0], width)
    if bias is not None:
        bias = bias.contiguous()
    kernel.multiply(
        ctypes.byref(_describe(left)),
        ctypes.byref(_describe(right)),
        ctypes.c_int64(left.shape[1]),
        ctypes.c_int(torch.get_num_threads()),
        ctypes.byref(_Target(output.data_ptr(), width, None if bias is None else bias.data_ptr())),
    )
    return output if input_Td.dim() == 2 else output.view(*input_Td.shape[:-1], width)


def multiply_by_onednn(input_Td: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return the same by oneDNN, whose layout the weight may have."""
    output: Tensor = torch.ops.mkldnn._linear_pointwise(input_Td, weight, bias, "none", [], "")
    return output


@functools.cache
def find_kernel() -> ctypes.CDLL | None:
    """Return our kernel, if this processor has what it needs."""
    library = load("products").library if has_wide_vectors() else None
    return library if library is not None and library.is_here() else None


class _Operand(ctypes.Structure):
    _fields_ = (("data", ctypes.c_void_p), *((name, ctypes.c_int64) for name in ("rows", "row_stride", "depth_stride")))


class _Target(ctypes.Structure):
    _fields_ = (("data", ctypes.c_void_p), ("stride", ctypes.c_int64), ("bias", ctypes.c_void_p))


def _describe(matrix: Tensor) -> _Operand:
    return _Operand(matrix.data_ptr(), matrix.shape[0], *matrix.stride())


def _lines(matrix: Tensor) -> Tensor:
    """Return a matrix whose rows or columns are contiguous."""
    return matrix if 1 in matrix.stride() else matrix.contiguous()


def multiply_narrow(input_Td: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return the same in float32 from the matrices rounded to bfloat16; the product is rounded before the bias."""
    output = functional.linear(narrow(input_Td), weight.to(torch.bfloat16))[: len(input_Td)].to(torch.float32)
    return output if bias is None else output.add_(bias)


def narrow(matrix_Td: Tensor) -> Tensor:
    """Return a matrix rounded to bfloat16, with rows of zeros up to a multiple of `STEP`."""
    rows = len(matrix_Td)
    filled = matrix_Td.new_empty((-(-rows // STEP) * STEP, matrix_Td.shape[1]), dtype=torch.bfloat16)
    filled[:rows] = matrix_Td
    filled[rows:] = 0
    return filled


@operations_as_they_are()
def differentiate(gradient_Tn: Tensor, input_Td: Tensor, weight_nd: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradients of a linear layer's input and weight, by the products that are active here."""
    products = _ACTIVE.get()
    if products is None or torch.is_grad_enabled() or not can_multiply(gradient_Tn, weight_nd):
        return gradient_Tn @ weight_nd, gradient_Tn.mT @ input_Td
    if products.narrow:
        return _differentiate_narrow(gradient_Tn, narrow(input_Td), weight_nd.to(torch.bfloat16))
    return multiply(gradient_Tn, weight_nd.mT), multiply_turned(gradient_Tn, input_Td)


def _differentiate_narrow(gradient_Tn: Tensor, input_Td: Tensor, weight_nd: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradients, given narrow inputs and weights; the gradient is rounded once for both products."""
    rounded = narrow(gradient_Tn)
    return (rounded @ weight_nd)[: len(gradient_Tn)].to(torch.float32), (rounded.mT @ input_Td).to(torch.float32)


def multiply_turned(left_Tn: Tensor, right_Tm: Tensor) -> Tensor:
    """Return the transposed left matrix times the right one, without gradients: that of a layer's weights.

    oneDNN wants its first matrix row by row: the narrower of the two is turned.
    """
    if find_kernel() is not None or left_Tn.shape[1] <= right_Tm.shape[1]:
        return multiply(left_Tn.mT, right_Tm.mT)
    return multiply(right_Tm.mT, left_Tn.mT).mT


def products_in(precision: torch.dtype, device: torch.device) -> AbstractContextManager[object]:
    """Return a context in which a model is trained in this precision on this device."""
    if device.type == "cpu" and has_onednn() and precision == torch.bfloat16:
        return FastProducts(narrow=True)
    if precision != torch.float32:
        return torch.autocast(device.type, precision)
    return FastProducts() if device.type == "cpu" and has_slow_mkl() else nullcontext()


def active_products() -> AbstractContextManager[object]:
    """Return the innermost `FastProducts` that is active here, or a context that changes nothing.

    torch does not activate it again in the backward pass.
    """
    return _ACTIVE.get() or nullcontext()


class FastProducts(TorchFunctionMode):
    """Inside it, linear layers and products of two matrices are computed by `multiply` where that is possible.

    The gradients of what was computed inside it are too. Products of two matrices have none. Where no gradients are
    wanted and `frozen`, the weights are laid out for oneDNN once and kept: they must not change inside it. If
    `narrow`, matrices are rounded to bfloat16 first.
    """

    def __init__(self, *, frozen: bool = False, narrow: bool = False) -> None:
        super().__init__()
        self.frozen, self.narrow = frozen, narrow
        self.multiply = multiply_narrow if narrow else multiply_by_onednn if frozen else multiply
        self.tokens: list[Token[FastProducts | None]] = []
        self.kept: dict[tuple[object, ...], tuple[Tensor, Tensor]] = {}
        """Weights, and the same as oneDNN has them, by where they lie; who holds them keeps their place from others."""

    def __enter__(self) -> FastProducts:
        self.look()
        self.tokens.append(_ACTIVE.set(self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _ACTIVE.reset(self.tokens.pop())
        self.stop_looking()

    def look(self) -> None:
        """Have all operations of torch come to `__torch_function__`."""
        super().__enter__()

    def stop_looking(self) -> None:
        """Let them go where they went before."""
        super().__exit__(None, None, None)

    def __torch_function__(
        self,
        function: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if function in PRODUCTS and not kwargs:
            if function is functional.linear and can_multiply(args[0], args[1]):
                return self._multiply(*args)
            if function is torch.addmm and args[0].dim() == 1 and can_multiply(args[1], args[2]):
                return self._multiply(args[1], args[2].mT, args[0])
            if function in MATRIX_PRODUCTS and not torch.is_grad_enabled():
                left, right = args
                if left.dim() == right.dim() == 2 and can_multiply(left, right):
                    return self._multiply_matrices(left, right)
        return function(*args, **(kwargs or {}))

    def _multiply(self, input_Td: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        """Return the product of `multiply`, with gradients where they are wanted."""
        if not torch.is_grad_enabled():
            return self.multiply(input_Td, self._lay_out(weight) if self.frozen else weight, bias)
        if input_Td.dim() != 2:
            return functional.linear(input_Td, weight, bias)
        output: Tensor = (_NarrowProduct if self.narrow else _Product).apply(input_Td, weight, bias)
        return output

    def _multiply_matrices(self, left: Tensor, right: Tensor) -> Tensor:
        if self.narrow or left.is_contiguous():
            return self.multiply(left, right.mT)
        return multiply_turned(left.mT, right)

    def _lay_out(self, weight: Tensor) -> Tensor:
        """Return a weight as oneDNN has it."""
        place = (weight.data_ptr(), weight.shape, weight.stride())
        if place not in self.kept:
            laid_out = weight.to(torch.bfloat16) if self.narrow else torch.ops.mkldnn._reorder_linear_weight(weight)
            self.kept[place] = weight, laid_out
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
        if torch.is_grad_enabled():  # a gradient's gradient is left to torch
            by_input, by_weight = gradient @ weight, gradient.mT @ input_Td
        else:
            by_input = multiply(gradient, weight.mT) if for_input else None
            by_weight = multiply_turned(gradient, input_Td) if for_weight else None
        return by_input, by_weight, gradient.sum(0) if for_bias else None


class _NarrowProduct(torch.autograd.Function):
    """A product of rounded matrices, which are kept for the gradients."""

    @staticmethod
    def forward(ctx: Any, input_Td: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        narrow_input, narrow_weight = narrow(input_Td), weight.to(torch.bfloat16)
        ctx.save_for_backward(narrow_input, narrow_weight)
        output = functional.linear(narrow_input, narrow_weight)[: len(input_Td)].to(torch.float32)
        return output if bias is None else output.add_(bias)

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> Any:
        (gradient,) = upstream
        by_input, by_weight = _differentiate_narrow(gradient, *ctx.saved_tensors)
        return by_input, by_weight, gradient.sum(0) if ctx.needs_input_grad[2] else None
