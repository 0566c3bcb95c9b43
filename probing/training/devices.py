"""Devices and types of numbers that training computes on."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, TypeVar

import torch
from torch import Tensor

from probing.errors import ProbingError
from probing.native import has_narrow_products, name_processor

AnyConfig = TypeVar("AnyConfig", bound=Any)
"""Settings of probing or of translation."""
NARROW_WIDTH = 256
"""Smallest model_dim for which products of bfloat16 numbers save more time on a processor than rounding costs."""


def pick_device(name: str) -> torch.device:
    """Return the device asked for; `auto` takes a GPU where there is one."""
    available = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if name == "auto":
        return torch.device("cuda" if available["cuda"] else "mps" if available["mps"] else "cpu")
    if name not in available:
        raise ProbingError(f"unknown device {name!r}. Known: auto, {', '.join(available)}")
    if not available[name]:
        here = ", ".join(device for device, there in available.items() if there)
        raise ProbingError(f"--device {name}: there is no such device on this machine. Available: {here}")
    return torch.device(name)


@functools.cache
def describe_processor(device: torch.device) -> dict[str, str]:
    """Return the name of the processor or GPU, and the instruction set that torch uses on the processor.

    Figures of one cell can differ between processors, because they round differently.
    """
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else name_processor()
    return {"processor": name, "instruction_set": torch.backends.cpu.get_cpu_capability()}


def pick_precision(name: str, device: torch.device, model_dim: int = 0) -> torch.dtype:
    """Return the type that training computes in.

    `auto` is bfloat16 on a GPU that has it, and on a processor that multiplies such numbers, if the model is so wide
    that this is faster.
    """
    if name != "auto":
        return torch.bfloat16 if name == "bfloat16" else torch.float32
    if device.type == "cuda":
        narrow = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        narrow = device.type == "cpu" and model_dim >= NARROW_WIDTH and has_narrow_products()
    return torch.bfloat16 if narrow else torch.float32


def settle_precision(config: AnyConfig, device: torch.device) -> AnyConfig:
    """Return a run's settings with the precision that `auto` stands for here, since it is part of a cell's key."""
    precision = pick_precision(config.training.precision, device, config.model.model_dim)
    training = dataclasses.replace(config.training, precision=str(precision).removeprefix("torch."))
    settled: AnyConfig = dataclasses.replace(config, training=training)
    return settled


def move(tensor: Tensor, device: torch.device) -> Tensor:
    """Copy to the device; to a GPU from pinned memory, so that the copy waits for nothing and nothing waits for it."""
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)
