"""Figures beside those of an earlier version: what got slower is marked.

Ratios of two candidates of one run are compared on any machine, times on the same processor only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.table import Table

TOLERANCE = 0.1
"""Share by which a figure may be worse: repeated runs differ by so much."""
HIGHER_IS_BETTER = {"speedup", "share", "tokens_per_second", "sentences_per_second", "trees_per_second"}
LOWER_IS_BETTER = {"time_ratio", "memory_ratio", "milliseconds", "seconds", "processor_seconds", "padding"}
RATIOS = {"speedup", "share", "time_ratio", "memory_ratio", "padding"}


def list_slower(before: dict[str, Any], now: dict[str, Any]) -> list[tuple[str, float, float]]:
    """Return the name, the earlier and the present value of each figure that got worse by more than the tolerance."""
    earlier = dict(_walk(before["figures"]))
    same_processor = before["conditions"]["machine"]["processor"] == now["conditions"]["machine"]["processor"]
    found = []
    for path, value in _walk(now["figures"]):
        name = path.rpartition(" ")[2]
        if path not in earlier or not (same_processor or name in RATIOS):
            continue
        worse = earlier[path] / value if name in HIGHER_IS_BETTER else value / earlier[path]
        if worse > 1 + TOLERANCE:
            found.append((path, earlier[path], value))
    return found


def render_slower(part: str, found: list[tuple[str, float, float]]) -> Table | str:
    """Return the figures that got worse as a table, or a sentence that none did."""
    if not found:
        return f"{part}: nothing got slower than in the repository's figures by more than {100 * TOLERANCE:.0f} %"
    table = Table("figure", "before", "now", title=f"{part}: slower than in the repository's figures")
    for path, before, now in found:
        table.add_row(path, f"{before:.4g}", f"[red]{now:.4g}[/red]")
    return table


def _walk(figures: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """Yield the path and the value of each figure that has a better direction and is not 0."""
    items = figures.items() if isinstance(figures, dict) else enumerate(figures) if isinstance(figures, list) else ()
    for name, value in items:
        below = f"{path} {name}".strip()
        if isinstance(value, (dict, list)):
            yield from _walk(value, below)
        elif isinstance(value, (int, float)) and name in HIGHER_IS_BETTER | LOWER_IS_BETTER and value > 0:
            yield below, float(value)
