"""The instances of a task before they are written as the lines of its file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Instance:
    """One line of a task file, without its split."""

    label: str
    tokens: Sequence[str]
    target: str | None = None
    """Word form that determines the label, for the tasks that have one."""


Splits = dict[str, list[Instance]]
"""Split -> its instances."""


def format_splits(splits: Splits) -> str:
    """Return the text of a task file."""
    return "".join(
        f"{split}\t{instance.label}\t{' '.join(instance.tokens)}\n"
        for split, instances in splits.items()
        for instance in instances
    )
