"""The processor: its name, and which of torch's matrix products suit it."""

from __future__ import annotations

import functools
import platform
from pathlib import Path

import torch


@functools.cache
def name_processor() -> str:
    """Return the name of the processor's model."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return (names[0] if names else platform.processor() or platform.machine())[:100] or "unknown"


def has_onednn() -> bool:
    """Return whether this torch multiplies by oneDNN."""
    operations = ("_linear_pointwise", "_reorder_linear_weight")
    return torch.backends.mkldnn.is_available() and all(hasattr(torch.ops.mkldnn, name) for name in operations)


@functools.cache
def has_slow_mkl() -> bool:
    """Return whether other products than torch's own in float32 are faster, which are MKL's as a rule.

    On an AMD EPYC, MKL takes twice as long as the processor needs.
    """
    return has_onednn() and "AMD" in name_processor()


@functools.cache
def has_wide_vectors() -> bool:
    """Return whether the processor computes with vectors of sixteen numbers (AVX-512)."""
    return bool(torch.cpu._is_avx512_supported())


@functools.cache
def has_narrow_products() -> bool:
    """Return whether the processor multiplies bfloat16 numbers: in vectors (AVX-512) or in tiles (AMX)."""
    return has_onednn() and bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())
