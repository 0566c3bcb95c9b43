"""Scores of translations that contradict themselves are no record."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from probing.errors import ProbingError
from probing.results import Store, read_record
from tests.translations import BASE, Run, make_translation

SOUND = [6, 6, 5, 3, 1, 0, 6, 5, 4, 3]


def save(folder: Path, statistics: list[list[int]]) -> Path:
    record = make_translation(BASE)
    assert record.translation is not None
    test = structs.replace(record.translation.test, statistics=statistics)
    return Store(folder).save(
        structs.replace(record, outcome=structs.replace(record.translation, tests={"newstest2014": test}))
    )


def test_a_translation_comes_back_as_it_was(tmp_path: Path) -> None:
    path = Store(tmp_path).save(make_translation(BASE))
    assert read_record(path).translation == make_translation(BASE).translation
    assert read_record(save(tmp_path, [SOUND])).translation is not None


@pytest.mark.parametrize("letters", ["1" * 199, "1" * 201, "1" * 199 + "2", ""])
def test_verdicts_that_cannot_be(tmp_path: Path, letters: str) -> None:
    good = Run(phenomena=(("inversion", "10-1" * 50),))
    path = Store(tmp_path).save(make_translation(good))
    assert read_record(path).translation == make_translation(good).translation
    path = Store(tmp_path).save(make_translation(Run(phenomena=(("inversion", letters),))))
    with pytest.raises(ProbingError, match="the verdicts on 'inversion' must be one of 1, 0, - for each sentence"):
        read_record(path)


@pytest.mark.parametrize(
    ("statistics", "problem"),
    [
        ([], "statistics must have 10 numbers for each of one sentence or more"),
        ([SOUND[:9]], "statistics must have 10 numbers for each of one sentence or more"),
        ([SOUND, [*SOUND[:2], 7, *SOUND[3:]]], "more n-grams match than there are"),
        ([[2**31 + 1, *SOUND[1:]]], "a sentence has more than 2147483648 words"),
    ],
)
def test_statistics_that_cannot_be(tmp_path: Path, statistics: list[list[int]], problem: str) -> None:
    path = save(tmp_path, statistics)
    with pytest.raises(ProbingError) as error:
        read_record(path)
    assert str(error.value) == f"{path}: not a result record ({problem}). Delete it and run the cell again"
