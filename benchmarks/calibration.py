"""False alarms and power of the tests between models, in tables that are simulated like those of results/books.

`python -m benchmarks.calibration` draws the tables, saves the figures in calibration.json and writes them into
docs/statistics.md. A table has 8 models, 10 tasks and 3 seeds. Every answer is right if a normal variable is above a
threshold: it has a part of the sentence, a small one of model and sentence, the luck of the seed, and the noise of each
answer. The seeds' luck makes the ratio MSR/MSE what the case wants.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from probing.statistics import Comparison, Sample, average_comparisons, compare, holm, learn_seeds

FIGURES = Path(__file__).with_name("calibration.json")
PAGE = Path(__file__).parent.parent / "docs" / "statistics.md"
MARKS = ("<!-- calibration: begin -->\n", "<!-- calibration: end -->\n")

MODELS, SEEDS = 8, 3
TASKS = (
    (2000, 0.97, 0.20),
    (1067, 0.90, 0.02),
    (1521, 0.36, 0.24),
    (500, 0.63, 0.10),
    (650, 0.55, 0.50),
    (1662, 0.77, 0.50),
    (1084, 0.70, 0.50),
    (908, 0.63, 0.50),
    (2000, 0.68, 0.50),
    (5000, 0.62, 0.50),
)
"""Test sentences, accuracy, and accuracy of a failed training, of each task."""
SENTENCE, OWN, NOISE = 0.72, 0.01, 0.27
"""Shares of a sentence, of model and sentence, and of single answers in the variance of what decides an answer."""
RATIO = 2.0
"""MSR/MSE, about that of results/books."""
LEVEL = 0.05
POINTS = (2, 5, 10, 17)
SEED = 20_190_603

Floats = npt.NDArray[np.float64]
Random = np.random.Generator


@dataclass(frozen=True, slots=True)
class Case:
    """What is true of the simulated tables."""

    words: str
    ratios: Callable[[Random], Floats]
    """True ratios MSR/MSE of a task's models."""
    failed: float = 0.0
    """Share of the trainings that fail."""


def _constant(_: Random) -> Floats:
    return np.full(MODELS, RATIO)


CASES: Mapping[str, Case] = {
    "plain": Case("one ratio for all cells", _constant),
    "failed": Case("3 % of the trainings fail", _constant, failed=0.03),
    "halves": Case("ratio 1.2 or 3, at random", lambda random: np.where(random.random(MODELS) < 0.5, 1.2, 3.0)),
    "lognormal": Case(
        "ratio − 1 lognormal, σ = 1", lambda random: 1 + (RATIO - 1) * np.exp(random.standard_normal(MODELS))
    ),
    "extreme": Case("ratio 1.2 or 6, at random", lambda random: np.where(random.random(MODELS) < 0.5, 1.2, 6.0)),
}


def simulate(random: Random, case: Case, points: float) -> list[list[Sample]]:
    """Return the answers of a table, task by task; the first model is worse than all others by so many points."""
    return [[Sample(right) for right in _simulate_task(random, case, points, *task)] for task in TASKS]


def _simulate_task(
    random: Random, case: Case, points: float, sentences: int, accuracy: float, chance: float
) -> npt.NDArray[np.bool_]:
    accuracies = np.full(MODELS, accuracy)
    accuracies[0] -= points / 100
    thresholds = special.ndtri(accuracies)
    # The noise of an answer: the mean over sentences of p (1 - p), where p is the chance to have one right.
    places = math.sqrt(SENTENCE + OWN) * special.ndtri((np.arange(200) + 0.5) / 200)
    chances = special.ndtr((thresholds[:, None] + places) / math.sqrt(NOISE))
    noise = (chances * (1 - chances)).mean(-1)
    density = np.exp(-(thresholds**2) / 2) / math.sqrt(2 * math.pi)
    spread = np.sqrt((case.ratios(random) - 1) * noise / sentences) / density
    values = thresholds[:, None, None] + spread[:, None, None] * random.standard_normal((MODELS, SEEDS, 1))
    values = values + math.sqrt(SENTENCE) * random.standard_normal(sentences)
    values = values + math.sqrt(OWN) * random.standard_normal((MODELS, 1, sentences))
    right = values + math.sqrt(NOISE) * random.standard_normal((MODELS, SEEDS, sentences)) > 0
    failed = random.random((MODELS, SEEDS)) < case.failed
    right[failed] = random.random((int(failed.sum()), sentences)) < chance
    return np.asarray(right)


def judge_table(table: list[list[Sample]]) -> tuple[Floats, Floats]:
    """Return corrected p-values: (columns, models - 1) against the first model, and (columns, pairs) of all pairs."""
    prior = learn_seeds(sample for column in table for sample in column)
    pairs = list(combinations(range(MODELS), 2))
    columns: list[list[Comparison]] = [
        [compare(column[one], column[other], stream=place, prior=prior) for one, other in pairs]
        for place, column in enumerate(table)
    ]
    columns.append([average_comparisons(list(same)) for same in zip(*columns, strict=True)])
    p = np.array([[comparison.p for comparison in column] for column in columns])
    against = p[:, : MODELS - 1]
    marks = np.array(holm(against.ravel().tolist())).reshape(against.shape)
    return marks, np.array([holm(row.tolist()) for row in p])


def measure(case: Case, points: float, tables: int) -> dict[str, float]:
    """Return shares: of tables with a false mark and of columns with false bold, or of differences that were found."""
    found = []
    for number in range(tables):
        table = simulate(np.random.default_rng((SEED, int(points), number)), case, points)
        marks, pairs = (p < LEVEL for p in judge_table(table))
        if points:
            found.append((marks[:-1].mean(), pairs[:-1, : MODELS - 1].mean()))
        else:
            found.append((marks.any(), pairs.any(-1).mean()))
    marked, bold = np.mean(found, axis=0)
    return {"marks": round(float(marked), 3), "bold": round(float(bold), 3), "tables": tables}


def write_page(figures: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """Return the table of the figures in Markdown."""
    some = next(iter(figures.values()))
    lines = [
        f"Shares in {some['0']['tables']:,} simulated tables without differences, and in {some['5']['tables']:,} for "
        "each difference; marks / bold:",
        "",
        "| truth | false alarms: a table's marks / a column's bold | "
        + " | ".join(f"{n} points" for n in POINTS)
        + " |",
        "|---|---|" + "---|" * len(POINTS),
    ]
    for name, of_case in figures.items():
        values = [f"{_format(of_case[str(n)]['marks'])} / {_format(of_case[str(n)]['bold'])}" for n in (0, *POINTS)]
        lines.append(f"| {CASES[name].words} | " + " | ".join(values) + " |")
    return "\n".join(lines) + "\n"


def _format(share: float) -> str:
    return f"{share:.2f}".removeprefix("0")


def put_into(page: str, text: str) -> str:
    """Return a page with the text between its marks."""
    before, rest = page.split(MARKS[0])
    return before + MARKS[0] + text + MARKS[1] + rest.split(MARKS[1])[1]


def main() -> None:
    """Measure all cases, or only write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=500, help="Number of tables without differences in each case.")
    parser.add_argument("--page", action="store_true", help="Only write the saved figures into the page.")
    options = parser.parse_args()
    if not options.page:
        figures: dict[str, Any] = {}
        for name, case in CASES.items():
            sizes = {n: options.tables if n == 0 else max(1, options.tables // 8) for n in (0, *POINTS)}
            figures[name] = {str(n): measure(case, n, tables) for n, tables in sizes.items()}
            print(name, figures[name], flush=True)
        FIGURES.write_text(json.dumps(figures, indent=2) + "\n")
    PAGE.write_text(put_into(PAGE.read_text(), write_page(json.loads(FIGURES.read_text()))))


if __name__ == "__main__":
    main()
