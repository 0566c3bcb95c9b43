"""Devices and types of numbers that training computes on."""

from __future__ import annotations

import functools
import platform
from pathlib import Path

import torch
from torch import Tensor

from probing.errors import ProbingError


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
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else _name_processor()
    return {"processor": name, "instruction_set": torch.backends.cpu.get_cpu_capability()}


def _name_processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return (names[0] if names else platform.processor() or platform.machine())[:100] or "unknown"


def pick_precision(name: str, device: torch.device) -> torch.dtype:
    """Return the type that training computes in; `auto` is bfloat16 on a GPU that has it."""
    narrow = device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    return torch.bfloat16 if name == "bfloat16" or (name == "auto" and narrow) else torch.float32


def move(tensor: Tensor, device: torch.device) -> Tensor:
    """Copy to the device; to a GPU from pinned memory, so that the copy waits for nothing and nothing waits for it."""
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)
