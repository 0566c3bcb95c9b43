"""What Li et al. (2019) say about their Table 1, and whether other results say the same.

A claim is supported or contradicted by differences that are significant after Holm's correction within the claim;
with fewer of them than the claim needs, it cannot be decided. What the paper leaves open is put as a claim as well:
its authors' code routes otherwise than it says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from probing.report.grouping import AVERAGE, Model
from probing.report.significance import Comparer, Verdict, format_difference, judge
from probing.statistics.comparisons import Comparison
from probing.tasks.table import TASKS

Answer = Literal["supported", "contradicted", "cannot be decided"]
Models = Mapping[str, Model]


@dataclass(frozen=True, slots=True)
class Claim:
    """One of the paper's claims, and what these results say about it."""

    text: str
    answer: Answer
    numbers: str
    """What the answer rests on."""


class UndecidableError(Exception):
    """Something that a claim is about has not been measured."""


def check_claims(comparer: Comparer) -> list[Claim]:
    """Return the paper's claims, each with what one table's results say about it; none without routing and Base."""
    measured = {model.name for model in comparer.group.models if model.cells}
    if "base" not in measured or measured.isdisjoint({"simple", "em"}):
        return []
    checks: dict[str, Callable[[Comparer], tuple[Answer, str]]] = {
        "simple routing beats Base on most of the ten tasks": partial(_beats_on_most, name="simple"),
        "EM routing beats Base on most of the ten tasks": partial(_beats_on_most, name="em"),
        "SeLen is the exception: routing does not beat Base there": _is_the_exception,
        "EM routing is best on most of the eight syntactic and semantic tasks": _is_best_on_most,
        "EM routing beats Base by more than 3 points on TrDep, Tense and ObjNm": lambda c: _all_hold(
            c, "em", ("TrDep", "Tense", "ObjNm"), margin=3.0, sign=1
        ),
        "simple routing is below Base on TrDep and SubNm": lambda c: _all_hold(
            c, "simple", ("TrDep", "SubNm"), margin=0.0, sign=-1
        ),
    }
    for name, words in (("simple", "simple"), ("em", "EM")):
        if measured >= {name, f"{name}-code"}:
            question = f"left open: {words} routing as printed beats that of the authors' code on most of the ten tasks"
            checks[question] = partial(_beats_on_most, name=name, rival=f"{name}-code")
    claims = []
    for text, check in checks.items():
        try:
            answer, numbers = check(comparer)
        except UndecidableError as reason:
            answer, numbers = "cannot be decided", str(reason)
        claims.append(Claim(text, answer, numbers))
    return claims


def _beats_on_most(comparer: Comparer, name: str, rival: str = "base") -> tuple[Answer, str]:
    tasks = [task.name for task in TASKS]
    verdicts = judge(_compare(comparer, name, rival, tasks))
    better = [task for task, verdict in verdicts.items() if verdict.better]
    worse = [task for task, verdict in verdicts.items() if verdict.worse]
    others = [task for task in verdicts if task not in (*better, *worse)]
    numbers = "; ".join(
        f"{word} {len(chosen)}{_list_differences(verdicts, chosen)}"
        for word, chosen in (("better on", better), ("worse on", worse), ("no significant difference on", others))
    )
    if len(verdicts) == len(tasks):
        numbers += f"; on average {_show(judge(_compare(comparer, name, rival, [AVERAGE]))[AVERAGE])}"
    return _count(len(better), len(worse), len(tasks)), numbers + _unmeasured(tasks, verdicts)


def _is_the_exception(comparer: Comparer) -> tuple[Answer, str]:
    comparisons = {name: _compare(comparer, name, "base", ["SeLen"]).get("SeLen") for name in ("simple", "em")}
    made = {name: comparison for name, comparison in comparisons.items() if comparison is not None}
    if not made:
        raise UndecidableError("SeLen has not been measured")
    verdicts = judge(made)
    base = _find(comparer, "base").label
    numbers = ", ".join(f"{_find(comparer, name).label} − {base} {_show(one)}" for name, one in verdicts.items())
    if any(verdict.better for verdict in verdicts.values()):
        return "contradicted", numbers
    below = all(verdict.difference <= 0 for verdict in verdicts.values()) and len(verdicts) == len(comparisons)
    if below and any(verdict.worse for verdict in verdicts.values()):
        return "supported", numbers
    return "cannot be decided", numbers


def _is_best_on_most(comparer: Comparer) -> tuple[Answer, str]:
    tasks = [task.name for task in TASKS if task.family != "surface"]
    rivals = ("base", "simple")
    comparisons = {
        (task, rival): comparison
        for rival in rivals
        for task, comparison in _compare(comparer, "em", rival, tasks).items()
    }
    verdicts = judge(comparisons)
    measured = [task for task in tasks if all((task, rival) in verdicts for rival in rivals)]
    best = [task for task in measured if all(verdicts[task, rival].better for rival in rivals)]
    beaten = [task for task in measured if any(verdicts[task, rival].worse for rival in rivals)]
    others = [task for task in measured if task not in (*best, *beaten)]
    numbers = "; ".join(
        f"{word} {len(chosen)}" + (f" ({', '.join(chosen)})" if chosen else "")
        for word, chosen in (("better than both on", best), ("worse than one on", beaten), ("undecided on", others))
    )
    return _count(len(best), len(beaten), len(tasks)), numbers + _unmeasured(tasks, measured)


def _all_hold(comparer: Comparer, name: str, tasks: Sequence[str], *, margin: float, sign: int) -> tuple[Answer, str]:
    """Check that a model's difference to Base lies beyond a margin on each of some tasks."""
    comparisons = _compare(comparer, name, "base", tasks)
    if not comparisons:
        raise UndecidableError("none of these tasks has been measured")
    beyond = judge(comparisons, supposed=margin)
    shown = judge(comparisons)
    numbers = ", ".join(f"{task} {_show(verdict)}" for task, verdict in shown.items())
    numbers += _unmeasured(tasks, comparisons)
    if any((verdict.worse if sign > 0 else verdict.better) for verdict in beyond.values()):
        return "contradicted", numbers
    holds = all((verdict.better if sign > 0 else verdict.worse) for verdict in beyond.values())
    return "supported" if holds and len(beyond) == len(tasks) else "cannot be decided", numbers


def _compare(comparer: Comparer, first: str, second: str, tasks: Sequence[str]) -> dict[str, Comparison]:
    models = [_find(comparer, first), _find(comparer, second)]
    made = {task: comparer.compare(models[0], models[1], task) for task in tasks}
    return {task: comparison for task, comparison in made.items() if comparison is not None}


def _find(comparer: Comparer, name: str) -> Model:
    found = [model for model in comparer.group.models if model.name == name and model.cells]
    if not found:
        raise UndecidableError(f"{name} has not been measured")
    if len(found) > 1:
        raise UndecidableError(f"{name} has been measured in several ways: {', '.join(model.label for model in found)}")
    return found[0]


def _count(better: int, worse: int, number: int) -> Answer:
    """Decide whether something holds for most of a number of tasks, whatever the undecided ones are."""
    if better > number / 2:
        return "supported"
    return "contradicted" if number - worse <= number / 2 else "cannot be decided"


def _show(verdict: Verdict) -> str:
    return f"{format_difference(verdict.difference)} {verdict.interval}"


def _list_differences(verdicts: Mapping[str, Verdict], tasks: Sequence[str]) -> str:
    shown = [f"{task} {format_difference(verdicts[task].difference)}" for task in tasks]
    return f" ({', '.join(shown)})" if shown else ""


def _unmeasured(tasks: Sequence[str], measured: Mapping[str, object] | Sequence[str]) -> str:
    missing = [task for task in tasks if task not in measured]
    return f"; not measured: {', '.join(missing)}" if missing else ""
