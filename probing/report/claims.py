"""The claims that Li et al. (2019) make about their Table 1, checked against other results.

A claim is supported or contradicted by differences that are significant, as `probe report --compare` marks them; with
fewer of them than the claim needs, it cannot be decided. The questions that the paper leaves open, because its authors'
code routes differently from its text, are checked as claims as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from probing.report.grouping import AVERAGE, ModelResults
from probing.report.significance import Comparer, Verdict, format_difference, judge_against
from probing.tasks import TASKS

Answer = Literal["supported", "contradicted", "cannot be decided"]
"""Answer of the results to a claim."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One of the paper's claims, and the answer of the results to it."""

    text: str
    answer: Answer
    numbers: str
    """Differences that the answer rests on."""

    def __str__(self) -> str:
        return f"{self.text}: {self.answer} ({self.numbers})"


class UndecidableError(Exception):
    """A claim cannot be checked, because a model or task in it has not been measured."""


def check_claims(comparer: Comparer) -> list[Claim]:
    """Return the paper's claims, each checked against one table; without routing or without Base there are none."""
    measured = {model.name for model in comparer.group.models if model.results}
    if "base" not in measured or measured.isdisjoint({"simple", "em"}):
        return []
    checks: dict[str, Callable[[Comparer], tuple[Answer, str]]] = {
        "simple routing beats Base on most of the ten tasks": partial(_check_most, name="simple"),
        "EM routing beats Base on most of the ten tasks": partial(_check_most, name="em"),
        "SeLen is the exception: routing does not beat Base there": _check_exception,
        "EM routing is best on most of the eight syntactic and semantic tasks": _check_best_on_most,
        "EM routing beats Base by more than 3 points on TrDep, Tense and ObjNm": lambda c: _check_margin(
            c, "em", ("TrDep", "Tense", "ObjNm"), margin=3.0, sign=1
        ),
        "simple routing is below Base on TrDep and SubNm": lambda c: _check_margin(
            c, "simple", ("TrDep", "SubNm"), margin=0.0, sign=-1
        ),
    }
    for name, words in (("simple", "simple"), ("em", "EM")):
        if measured >= {name, f"{name}-code"}:
            question = f"left open: {words} routing as printed beats that of the authors' code on most of the ten tasks"
            checks[question] = partial(_check_most, name=name, rival=f"{name}-code")
    claims = []
    for text, check in checks.items():
        try:
            answer, numbers = check(comparer)
        except UndecidableError as reason:
            answer, numbers = "cannot be decided", str(reason)
        claims.append(Claim(text, answer, numbers))
    return claims


def _check_most(comparer: Comparer, name: str, rival: str = "base") -> tuple[Answer, str]:
    """Check that a model beats a rival on most of the ten tasks."""
    tasks = [task.name for task in TASKS]
    verdicts = _judge(comparer, name, rival, tasks)
    better = [task for task, verdict in verdicts.items() if verdict.better]
    worse = [task for task, verdict in verdicts.items() if verdict.worse]
    others = [task for task in verdicts if task not in (*better, *worse)]
    found = {"better on": better, "worse on": worse, "no significant difference on": others}
    differences = {task: f"{task} {format_difference(verdict.difference)}" for task, verdict in verdicts.items()}
    numbers = _count({word: [differences[task] for task in chosen] for word, chosen in found.items()})
    if len(verdicts) == len(tasks):
        numbers += f"; on average {_format_verdict(_judge(comparer, name, rival, [AVERAGE])[AVERAGE])}"
    return _decide_most(len(better), len(worse), len(tasks)), numbers + _list_unmeasured(tasks, verdicts)


def _check_exception(comparer: Comparer) -> tuple[Answer, str]:
    """Check that no routing beats Base on SeLen."""
    found = {name: _judge(comparer, name, "base", ["SeLen"]).get("SeLen") for name in ("simple", "em")}
    verdicts = {name: verdict for name, verdict in found.items() if verdict is not None}
    if not verdicts:
        raise UndecidableError("SeLen has not been measured")
    base = _find(comparer, "base").label
    numbers = ", ".join(
        f"{_find(comparer, name).label} − {base} {_format_verdict(one)}" for name, one in verdicts.items()
    )
    if any(verdict.better for verdict in verdicts.values()):
        return "contradicted", numbers
    below = all(verdict.difference <= 0 for verdict in verdicts.values()) and len(verdicts) == len(found)
    if below and any(verdict.worse for verdict in verdicts.values()):
        return "supported", numbers
    return "cannot be decided", numbers


def _check_best_on_most(comparer: Comparer) -> tuple[Answer, str]:
    """Check that EM routing beats both Base and simple routing on most syntactic and semantic tasks."""
    tasks = [task.name for task in TASKS if task.family != "surface"]
    rivals = ("base", "simple")
    # EM routing is the reference here: it is better where the others are worse.
    verdicts = {
        (task, rival): verdict for rival in rivals for task, verdict in _judge(comparer, rival, "em", tasks).items()
    }
    measured = [task for task in tasks if all((task, rival) in verdicts for rival in rivals)]
    best = [task for task in measured if all(verdicts[task, rival].worse for rival in rivals)]
    beaten = [task for task in measured if any(verdicts[task, rival].better for rival in rivals)]
    others = [task for task in measured if task not in (*best, *beaten)]
    numbers = _count({"better than both on": best, "worse than one on": beaten, "undecided on": others})
    return _decide_most(len(best), len(beaten), len(tasks)), numbers + _list_unmeasured(tasks, measured)


def _check_margin(
    comparer: Comparer, name: str, tasks: Sequence[str], *, margin: float, sign: int
) -> tuple[Answer, str]:
    """Check that a model lies above Base (sign 1) or below it (sign -1) by more than a margin on all these tasks."""
    shown = _judge(comparer, name, "base", tasks)
    if not shown:
        raise UndecidableError("none of these tasks has been measured")
    beyond = _judge(comparer, name, "base", tasks, supposed=margin)
    numbers = ", ".join(f"{task} {_format_verdict(verdict)}" for task, verdict in shown.items())
    numbers += _list_unmeasured(tasks, shown)
    if any((verdict.worse if sign > 0 else verdict.better) for verdict in beyond.values()):
        return "contradicted", numbers
    holds = all((verdict.better if sign > 0 else verdict.worse) for verdict in beyond.values())
    return "supported" if holds and len(beyond) == len(tasks) else "cannot be decided", numbers


def _judge(
    comparer: Comparer, name: str, reference: str, columns: Sequence[str], *, supposed: float = 0.0
) -> dict[str, Verdict]:
    """Return the verdicts on a model against a reference, in those columns where both have been measured.

    They are the same as in a table with this reference: the claims have no correction of their own.
    """
    model, other = _find(comparer, name), _find(comparer, reference)
    family = judge_against(other, comparer, supposed=supposed)
    return {column: family[model.label, column] for column in columns if (model.label, column) in family}


def _find(comparer: Comparer, name: str) -> ModelResults:
    """Return the only measured model of this registered name."""
    found = [model for model in comparer.group.models if model.name == name and model.results]
    if not found:
        raise UndecidableError(f"{name} has not been measured")
    if len(found) > 1:
        raise UndecidableError(f"{name} has been measured in several ways: {', '.join(model.label for model in found)}")
    return found[0]


def _decide_most(better: int, worse: int, number: int) -> Answer:
    """Decide whether a claim holds for most of a number of tasks, however the undecided tasks would turn out."""
    if better > number / 2:
        return "supported"
    return "contradicted" if number - worse <= number / 2 else "cannot be decided"


def _format_verdict(verdict: Verdict) -> str:
    return f"{format_difference(verdict.difference)} {verdict.interval}"


def _count(found: Mapping[str, Sequence[str]]) -> str:
    """Return the number of items behind each word, and the items."""
    return "; ".join(
        f"{word} {len(items)}" + (f" ({', '.join(items)})" if items else "") for word, items in found.items()
    )


def _list_unmeasured(tasks: Sequence[str], measured: Mapping[str, object] | Sequence[str]) -> str:
    missing = [task for task in tasks if task not in measured]
    return f"; not measured: {', '.join(missing)}" if missing else ""
