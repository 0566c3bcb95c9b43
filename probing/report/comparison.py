"""Two models side by side: what `probe compare` prints, for each task and over all of them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from tabulate import tabulate

from probing.errors import ProbingError
from probing.report.grouping import Group, Model, find_model, group_results, load_records
from probing.report.significance import TESTS, Comparer, Verdict, format_difference, judge
from probing.results.record import Record
from probing.statistics.comparisons import Comparison, average_comparisons


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One task, or the average of all that both models have been measured on."""

    task: str
    accuracy: tuple[float, float]
    """Of the two models, in percent, the mean over seeds."""
    seeds: tuple[list[int], list[int]]
    verdict: Verdict
    """The average's p-value is corrected for nothing: it is a question of its own."""
    p_mcnemar: float | None
    p_randomisation: float | None
    """Where one of the models has one seed only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    """Two models on one data set."""

    first: str
    second: str
    data: str
    preset: str
    tasks: Sequence[Line]
    overall: Line
    left_out: Sequence[str]
    """Tasks that could not be compared, and why."""

    @property
    def wins(self) -> int:
        """Return the tasks on which the first model is significantly better."""
        return sum(line.verdict.better for line in self.tasks)

    @property
    def losses(self) -> int:
        return sum(line.verdict.worse for line in self.tasks)

    @property
    def ties(self) -> int:
        return len(self.tasks) - self.wins - self.losses


def load_and_compare(folder: Path, first: str, second: str, *, as_json: bool, on_damaged: Callable[[str], None]) -> str:
    """Return the comparison of two models in a results folder, as text or JSON."""
    contests = make_contests(load_records(folder, on_damaged), first, second)
    if as_json:
        return json.dumps([_as_dict(contest) for contest in contests], indent=2, ensure_ascii=False)
    return "\n\n".join(map(render_text, contests))


def make_contests(results: Sequence[Record], first: str, second: str) -> list[Contest]:
    """Compare two models, each called as in the table or as it is registered, on every data set that both have."""
    groups = group_results(results)
    pairs = zip(groups, find_model(groups, first), find_model(groups, second), strict=True)
    found = [(group, one, other) for group, one, other in pairs if one is not None and other is not None]
    if any(one is other for _, one, other in found):
        raise ProbingError(f"{first!r} and {second!r} are the same model: {found[0][1].label}. Name two")
    contests = [contest for group, one, other in found if (contest := _make_contest(group, one, other))]
    if not contests:
        raise ProbingError(
            f"{first!r} and {second!r} have no task in common on the same data and preset. See `probe report`"
        )
    return contests


def _make_contest(group: Group, first: Model, second: Model) -> Contest | None:
    comparer = Comparer(group)
    made = {task: comparer.compare(first, second, task) for task in group.families}
    comparisons = {task: comparison for task, comparison in made.items() if comparison is not None}
    if not comparisons:
        return None
    verdicts = judge(comparisons)
    pair = (first, second)
    lines = [_make_line(task, pair, [task], one, verdicts[task]) for task, one in comparisons.items()]
    average = average_comparisons(list(comparisons.values()))
    name = f"average of {len(lines)}"
    gaps = [
        f"{task} has not been measured for {' and '.join(model.label for model in pair if task not in model.cells)}"
        for task in made
        if task not in first.cells or task not in second.cells
    ]
    return Contest(
        first=first.label,
        second=second.label,
        data=group.results[0].identity.data.name,
        preset=group.results[0].identity.preset,
        tasks=lines,
        overall=_make_line(name, pair, list(comparisons), average, judge({name: average})[name]),
        left_out=[*gaps, *comparer.incomparable],
    )


def _make_line(
    name: str, pair: tuple[Model, Model], tasks: Sequence[str], comparison: Comparison, verdict: Verdict
) -> Line:
    first, second = ([model.cells[task] for task in tasks] for model in pair)
    seeds = [sorted({record.identity.seed for cell in cells for record in cell.records}) for cells in (first, second)]
    return Line(
        task=name,
        accuracy=(fmean(cell.accuracy for cell in first), fmean(cell.accuracy for cell in second)),
        seeds=(seeds[0], seeds[1]),
        verdict=verdict,
        p_mcnemar=comparison.p_mcnemar,
        p_randomisation=None if comparison.test == "bootstrap" else comparison.p_randomisation,
    )


def render_text(contest: Contest) -> str:
    """Return the comparison for a terminal."""
    lines = [*contest.tasks, contest.overall] if len(contest.tasks) > 1 else contest.tasks
    single = any(line.p_mcnemar is not None for line in lines)
    headers = ["Task", contest.first, contest.second, "difference", "95 % interval", "p", "p (Holm)"]
    rows = []
    for line in lines:
        verdict = line.verdict
        row = [
            line.task,
            *(f"{accuracy:.2f}" for accuracy in line.accuracy),
            f"{format_difference(verdict.difference)}{verdict.mark}",
        ]
        row += [verdict.interval, format_p(verdict.p)]
        row += ["" if line is contest.overall else format_p(verdict.p_holm)]
        if single:
            row.append("" if line.p_randomisation is None else format_p(line.p_randomisation))
        rows.append([_printable(text) for text in row])
    headers += ["p (randomisation)"] if single else []
    body = tabulate(rows, [_printable(text) for text in headers], disable_numparse=True, colalign=_align(headers))
    return "\n".join([body, "", *map(_printable, _summarise(contest))])


def _summarise(contest: Contest) -> list[str]:
    differences = [line.verdict.difference for line in contest.tasks]
    overall = contest.overall.verdict
    tests = " or ".join(TESTS[test] for test in TESTS if test in {line.verdict.test for line in contest.tasks})
    first, second = (f"seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}" for seeds in contest.overall.seeds)
    summary = [
        f"{contest.first} against {contest.second}. Data: {contest.data}; preset: {contest.preset}; "
        + (f"{first}." if first == second else f"{first} against {second}."),
        f"{_count(contest.wins, 'win')}, {_count(contest.ties, 'tie')}, {_count(contest.losses, 'loss', 'losses')} "
        f"at p < .05 after Holm's correction over the tasks; "
        f"higher on {sum(d > 0 for d in differences)}, lower on {sum(d < 0 for d in differences)}.",
        f"Mean difference {format_difference(overall.difference)} {overall.interval} percentage points, "
        f"p {format_p(overall.p, equals='= ')} by {TESTS[overall.test]}.",
        f"p by task: {tests}, paired on the test sentences; †, ‡: p < .05, p < .01 after the correction.",
    ]
    if any(line.p_randomisation is not None for line in contest.tasks):
        summary.append("A model has one seed only: nothing here tells what other seeds would give.")
    return summary + [f"Left out: {reason}." for reason in contest.left_out]


def format_p(p: float, *, equals: str = "") -> str:
    """Return a p-value with three digits after the point."""
    return "< .001" if p < 0.001 else equals + (f"{p:.3f}".removeprefix("0") if p < 0.9995 else "1.000")


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def _align(headers: Sequence[str]) -> tuple[str, ...]:
    return ("left", *("right" for _ in headers[1:]))


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)


def _as_dict(contest: Contest) -> dict[str, Any]:
    def line(item: Line) -> dict[str, Any]:
        return {
            "task": item.task,
            "accuracy": item.accuracy,
            "seeds": item.seeds,
            **dataclasses.asdict(item.verdict),
            "p_mcnemar": item.p_mcnemar,
            "p_randomisation": item.p_randomisation,
        }

    return {
        "first": contest.first,
        "second": contest.second,
        "data": contest.data,
        "preset": contest.preset,
        "wins": contest.wins,
        "ties": contest.ties,
        "losses": contest.losses,
        "tasks": [line(item) for item in contest.tasks],
        "overall": line(contest.overall),
        "left_out": list(contest.left_out),
    }
