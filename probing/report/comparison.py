"""Two models side by side: the output of `probe compare`, for each task and over all of them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from probing.errors import ProbingError, as_one_line
from probing.report.blocks import Statement, add_hint, add_method, align, split_columns, wrap
from probing.report.grouping import AVERAGE, ModelResults, ResultGroup, find_model, group_results, load_records
from probing.report.selection import EVERYTHING, Selection
from probing.report.significance import TESTS, Comparer, Verdict, format_difference, judge, judge_against
from probing.results import Record
from probing.statistics import Comparison, average_comparisons


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonLine:
    """Two models on one task, or on the average of all tasks that both have been measured on."""

    task: str
    """Name of the task, or of the average."""
    accuracy: Sequence[float]
    """Test accuracies of the two models in percent, the means over seeds."""
    seeds: Sequence[list[int]]
    """Seeds of the two models."""
    verdict: Verdict
    """Verdict on the difference; Holm's correction runs over all comparisons of the table with the second model."""
    p_mcnemar: float | None
    """P-value of McNemar's exact test, if each model has one seed."""
    p_randomisation: float | None
    """P-value of approximate randomisation, if one of the models has one seed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelComparison:
    """Two models on one data set and preset."""

    first: str
    """Label of the first model; differences are first - second."""
    second: str
    """Label of the second model."""
    data: str
    preset: str
    wins: int
    """Number of tasks on which the first model is significantly better."""
    ties: int
    """Number of tasks without a significant difference."""
    losses: int
    """Number of tasks on which the first model is significantly worse."""
    tasks: Sequence[ComparisonLine]
    """Line of each task that could be compared."""
    overall: ComparisonLine
    """Line of the average over these tasks."""
    left_out: Sequence[str]
    """Tasks that could not be compared, and why."""


def load_and_compare(
    folder: Path,
    first: str,
    second: str,
    *,
    as_json: bool,
    selection: Selection = EVERYTHING,
    explain: bool = False,
    width: int | None = None,
    on_damaged: Callable[[str], None],
) -> str:
    """Return the comparison of two models in a results folder, as text for a terminal's width or as JSON."""
    comparisons = compare_models(selection.apply(load_records(folder, on_damaged), on_damaged), first, second)
    if as_json:
        return json.dumps([_as_dict(comparison) for comparison in comparisons], indent=2, ensure_ascii=False)
    text = "\n\n".join(render_text(comparison, explain=explain, width=width) for comparison in comparisons)
    return text if explain else add_hint(text, width)


def compare_models(records: Sequence[Record], first: str, second: str) -> list[ModelComparison]:
    """Compare two models, each given by its label or registered name, on every data set that both have."""
    groups = group_results(records)
    pairs = zip(groups, find_model(groups, first), find_model(groups, second), strict=True)
    found = [(group, one, other) for group, one, other in pairs if one is not None and other is not None]
    if any(one is other for _, one, other in found):
        raise ProbingError(f"{first!r} and {second!r} are the same model: {found[0][1].label}. Name two")
    comparisons = [made for group, one, other in found if (made := _compare_in_group(group, one, other))]
    if not comparisons:
        raise ProbingError(
            f"{first!r} and {second!r} have no task in common on the same data and preset. See `probe report`"
        )
    return comparisons


def _compare_in_group(group: ResultGroup, first: ModelResults, second: ModelResults) -> ModelComparison | None:
    """Compare two models of one group; None if they have no task in common."""
    comparer = Comparer(group)
    comparisons = comparer.compare_in(group.families, first, second)
    if not comparisons:
        return None
    family = judge_against(second, comparer)
    verdicts = {task: family[first.label, task] for task in comparisons}
    pair = (first, second)
    name, average = f"average of {len(comparisons)}", average_comparisons(list(comparisons.values()))
    # An average of some of the tasks is in no table, so it is no member of the family: it is judged alone.
    overall = family.get((first.label, AVERAGE)) or judge({name: average})[name]
    gaps = [
        f"{task} has not been measured for {' and '.join(model.label for model in pair if task not in model.results)}"
        for task in group.families
        if task not in first.results or task not in second.results
    ]
    wins = sum(verdict.better for verdict in verdicts.values())
    losses = sum(verdict.worse for verdict in verdicts.values())
    return ModelComparison(
        first=first.label,
        second=second.label,
        data=group.identity.data.name,
        preset=group.identity.preset,
        wins=wins,
        ties=len(verdicts) - wins - losses,
        losses=losses,
        tasks=[_make_line(task, pair, [task], comparisons[task], verdict) for task, verdict in verdicts.items()],
        overall=_make_line(name, pair, list(comparisons), average, overall),
        left_out=[*gaps, *comparer.incomparable],
    )


def _make_line(
    name: str, pair: Sequence[ModelResults], tasks: Sequence[str], comparison: Comparison, verdict: Verdict
) -> ComparisonLine:
    results = [[model.results[task] for task in tasks] for model in pair]
    return ComparisonLine(
        task=name,
        accuracy=[fmean(result.accuracy for result in of_model) for of_model in results],
        seeds=[sorted({one.identity.seed for result in of_model for one in result.records}) for of_model in results],
        verdict=verdict,
        p_mcnemar=comparison.p_mcnemar,
        p_randomisation=None if comparison.test == "seeds" else comparison.p_randomisation,
    )


def render_text(comparison: ModelComparison, *, explain: bool = False, width: int | None = None) -> str:
    """Return the comparison for a terminal; columns that do not fit stand below."""
    lines = [*comparison.tasks, comparison.overall] if len(comparison.tasks) > 1 else comparison.tasks
    single = any(line.p_mcnemar is not None for line in lines)
    headers = ["Task", comparison.first, comparison.second, "difference", "95 % interval", "p", "p (Holm)"]
    cells = [headers + ["p (randomisation)"] * single]
    for line in lines:
        verdict = line.verdict
        row = [line.task, *(f"{accuracy:.2f}" for accuracy in line.accuracy)]
        row += [f"{format_difference(verdict.difference)}{verdict.mark}", verdict.interval, format_p(verdict.p)]
        row.append(format_p(verdict.p_holm))
        if single:
            row.append("" if line.p_randomisation is None else format_p(line.p_randomisation))
        cells.append(row)
    cells = [[as_one_line(text) for text in row] for row in cells]
    parts = split_columns(cells, cells[0][1:], width)
    bodies = [align([[row[0], *(row[place] for place in part)] for row in cells]) for part in parts]
    below = [statement.choose(explain=explain) for statement in _summarise(comparison)]
    return "\n".join(["\n\n".join(bodies), "", *(wrap(as_one_line(line), width) for line in below if line)])


def _summarise(comparison: ModelComparison) -> list[Statement]:
    """Return the lines below the table; the short ones leave out the tests."""
    differences = [line.verdict.difference for line in comparison.tasks]
    overall = comparison.overall.verdict
    tests = " or ".join(TESTS[test] for test in TESTS if test in {line.verdict.test for line in comparison.tasks})
    first, second = (f"seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}" for seeds in comparison.overall.seeds)
    counts = (
        f"{_count(comparison.wins, 'win')}, {_count(comparison.ties, 'tie')}, "
        f"{_count(comparison.losses, 'loss', 'losses')} at p < .05"
    )
    signs = f"higher on {sum(d > 0 for d in differences)}, lower on {sum(d < 0 for d in differences)}."
    mean = (
        f"Mean difference {format_difference(overall.difference)} {overall.interval} percentage points, "
        f"p {format_p(overall.p, equals='= ')}"
    )
    summary = [
        add_method(
            f"{comparison.first} against {comparison.second}. Data: {comparison.data}; preset: {comparison.preset}; "
            + (first if first == second else f"{first} against {second}"),
            "",
        ),
        Statement(
            f"{counts} (†; ‡: p < .01) after Holm's correction; {signs}",
            f"{counts} after Holm's correction over all comparisons of the table with {comparison.second}; {signs}",
        ),
        add_method(mean, f" by {TESTS[overall.test]}"),
        Statement(
            "", f"p by task: {tests}, paired on the test sentences; †, ‡: p < .05, p < .01 after the correction."
        ),
    ]
    if any(line.p_randomisation is not None for line in comparison.tasks):
        summary.append(add_method("A model has one seed only: nothing here tells what other seeds would give", ""))
    return summary + [add_method(f"Left out: {reason}", "") for reason in comparison.left_out]


def format_p(p: float, *, equals: str = "") -> str:
    """Return a p-value with three decimals, or as < .001."""
    return "< .001" if p < 0.001 else equals + (f"{p:.3f}".removeprefix("0") if p < 0.9995 else "1.000")


def _count(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun in the singular or plural."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def _as_dict(comparison: ModelComparison) -> dict[str, Any]:
    """Return the comparison as `probe compare --json` prints it."""
    lines = {"tasks": [_flatten(line) for line in comparison.tasks], "overall": _flatten(comparison.overall)}
    return dataclasses.asdict(comparison) | lines


def _flatten(line: ComparisonLine) -> dict[str, Any]:
    """Return a line's fields, with those of the verdict in its place."""
    fields = dataclasses.asdict(line)
    verdict: dict[str, Any] = fields.pop("verdict")
    p_values = {name: fields.pop(name) for name in ("p_mcnemar", "p_randomisation")}
    return fields | verdict | p_values
