"""A finding of a check: an error (the file is unusable), a warning (its scores are doubtful) or a note."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of a check."""

    severity: Severity
    check: str
    message: str
