"""The sentence lengths that the tasks use, in tokens (Conneau et al. 2018)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

LENGTH_BINS: Final[Mapping[str, tuple[int, int]]] = {
    "0": (5, 8),
    "1": (9, 12),
    "2": (13, 16),
    "3": (17, 20),
    "4": (21, 25),
    "5": (26, 28),
}
"""Label of SeLen -> smallest and largest number of tokens."""
MIN_LENGTH: Final = min(low for low, _ in LENGTH_BINS.values())
MAX_LENGTH: Final = max(high for _, high in LENGTH_BINS.values())
