"""The figure of a sweep: accuracy against a setting, a panel for each task, a line for each model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from probing.report.sweeps import SENTENCES, Sweep, SweepRow, count_training, describe_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDE = 8
"""Ratio of the largest value to the smallest from which an axis is logarithmic."""


def list_lines(sweep: Sweep) -> dict[str, list[SweepRow]]:
    """Return the rows of each line, by its label: a model, with the values of all settings but the first."""
    lines: dict[str, list[SweepRow]] = {}
    for row in sweep.rows:
        others = zip(sweep.settings[1:], row.values[1:], strict=True)
        marks = [
            f"{name.partition('.')[2]}={describe_value(name, value)}" for name, value in others if value is not None
        ]
        label = f"{row.label} ({', '.join(marks)})" if marks else row.label
        lines.setdefault(label, []).append(row)
    return lines


class Positions:
    """Places of a setting's values on the axis of one panel: numbers as they are, anything else in order."""

    def __init__(self, sweep: Sweep, task: str) -> None:
        self.name, self.task = sweep.settings[0], task
        rows = [row for row in sweep.rows if task in row.results and row.values[0] is not None]
        found = [self._read(row) for row in rows]
        self.is_numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in found)
        self.values: list[Any] = sorted(set(found)) if self.is_numeric else list(dict.fromkeys(found))

    def _read(self, row: SweepRow) -> Any:
        """Return a row's value; of the number of sentences the one that there really were."""
        return count_training(row.results[self.task]) if self.name == SENTENCES else row.values[0]

    def find(self, row: SweepRow) -> float:
        """Return the place of a row's value."""
        value = self._read(row)
        return float(value) if self.is_numeric else float(self.values.index(value))

    @property
    def is_logarithmic(self) -> bool:
        """Whether the values span so much that a logarithmic axis shows them better."""
        return self.is_numeric and len(self.values) > 1 and 0 < WIDE * self.values[0] <= self.values[-1]

    def finish(self, axes: Axes) -> None:
        """Give the axis its scale and ticks."""
        if self.is_logarithmic:
            axes.set_xscale("log")
        places = self.values if self.is_numeric else list(range(len(self.values)))
        axes.set_xticks(places, [_shorten(self.name, value) for value in self.values])
        axes.minorticks_off()


def _shorten(name: str, value: Any) -> str:
    """Return a value as a tick shows it: thousands with a k."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1000:
        return f"{value / 1000:.3g}k"
    return describe_value(name, value)


def draw_line(axes: Axes, rows: Sequence[SweepRow], task: str, positions: Positions, look: dict[str, Any]) -> None:
    """Draw a model's accuracies with their 95 % intervals; one that the setting does not concern is a level line."""
    rows = [row for row in rows if task in row.results]
    results = [row.results[task] for row in rows]
    if not rows:
        return
    means = np.array([result.accuracy for result in results])
    if rows[0].values[0] is None:
        axes.axhline(float(means[0]), linestyle="--", linewidth=0.8, color=look["color"], label=look["label"])
        return
    low, high = (np.array([100 * getattr(one.interval, end) for one in results]) for end in ("low", "high"))
    places = [positions.find(row) for row in rows]
    reach = np.stack([means - low, high - means]).clip(0)  # rounding can put a mean outside its own interval
    axes.errorbar(places, means, yerr=reach, **look, markersize=3.5, elinewidth=0.6)
