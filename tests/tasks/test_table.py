from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from probing.errors import ProbingError
from probing.tasks.table import COUNTERPARTS, FAMILIES, TASKS, get_task, get_tasks, own_task

NAMES = ["SeLen", "WC", "TrDep", "ToCo", "BShif", "Tense", "SubNm", "ObjNm", "SOMO", "CoIn"]
KNOWN = ", ".join(NAMES)


def names(tasks):
    return [task.name for task in tasks]


def test_the_ten_tasks_stand_in_the_papers_order():
    assert names(TASKS) == NAMES
    families = [task.family for task in TASKS]
    assert families == ["surface"] * 2 + ["syntactic"] * 3 + ["semantic"] * 5
    assert [task.classes for task in TASKS] == [6, 1000, 8, 20, 2, 2, 2, 2, 2, 2]
    assert FAMILIES == ("surface", "syntactic", "semantic", "own")


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_a_row_is_complete(task):
    assert re.fullmatch("[0-9a-f]{40}", task.blob)
    assert list(task.paper) == ["base", "simple", "em"]
    assert all(0 < accuracy < 100 for accuracy in task.paper.values())
    assert re.fullmatch("[a-z_]+", task.file)
    assert task.asks


def test_rows_are_not_copies_of_each_other():
    for column in ("blob", "file", "asks", "senteval"):
        assert len({getattr(task, column) for task in TASKS + COUNTERPARTS if getattr(task, column)}) >= len(TASKS)
    averages = {model: round(sum(task.paper[model] for task in TASKS) / 10, 2) for model in ("base", "simple", "em")}
    assert averages == {"base": 74.72, "simple": 75.38, "em": 76.75}


def test_no_spelling_names_two_tasks():
    spellings = Counter(spelling for task in TASKS + COUNTERPARTS for spelling in {s.lower() for s in task.spellings})
    assert max(spellings.values()) == 1


@pytest.mark.parametrize("task", TASKS + COUNTERPARTS, ids=lambda task: task.name)
def test_every_spelling_names_its_task_in_any_case(task):
    assert len(task.spellings) == 4
    for spelling in task.spellings:
        for variant in (spelling, spelling.lower(), spelling.upper(), spelling.swapcase()):
            assert get_task(variant) is task


def test_an_unknown_task():
    for received, hint in (("tens", " Did you mean 'Tense'?"), ("zzzz", ""), ("", "")):
        with pytest.raises(ProbingError) as caught:
            get_task(received)
        assert str(caught.value) == f"unknown task {received!r}.{hint} Known: {KNOWN}"


@pytest.mark.parametrize(
    ("received", "expected"),
    [
        (["all"], NAMES),
        (["ALL", "tense"], NAMES),
        (["Tense"], ["Tense"]),
        (["coin", "wc"], ["WC", "CoIn"]),
        (["CoIn,WC", "Length"], ["SeLen", "WC", "CoIn"]),
        ([" CoIn , WC "], ["WC", "CoIn"]),
        (["Tense", "past_present,TENSE"], ["Tense"]),
        (["DepDepth", "SeLen"], ["SeLen", "DepDepth"]),
        (["all,RootDep"], [*NAMES, "RootDep"]),
    ],
)
def test_tasks_come_in_the_tables_order_each_once(received, expected):
    assert names(get_tasks(received)) == expected


@pytest.mark.parametrize("received", [[], [""], [","], [" , ", ""]])
def test_no_task_named(received):
    with pytest.raises(ProbingError) as caught:
        get_tasks(received)
    assert str(caught.value) == "no task was named. Name one of them, or 'all': see `probe tasks`"


def test_a_stray_comma_is_an_unknown_task():
    with pytest.raises(ProbingError, match="unknown task ''"):
        get_tasks(["Tense,"])


def test_a_users_own_task_is_called_after_its_file():
    task = own_task(Path("some/where/My.Task.tsv"))
    assert (task.name, task.file, task.family, task.classes, task.blob) == ("My.Task", "My.Task", "own", 0, None)
    assert task.asks == "the label in My.Task.tsv"
    assert task.paper == {}
    assert len({task, own_task(Path("other.tsv"))}) == 2
