"""The text of a record, parsed as fast as thousands of records need it.

A text as `Store.save` writes it is taken apart: what many records have in common is parsed and checked once, and the
answers never become a number each. Any other text is parsed as plain JSON, with the same outcome.
"""

from __future__ import annotations

import itertools
import re
import secrets
from array import array
from collections.abc import Iterator, Mapping, Sequence, ValuesView
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from probing.results.schema import Built, builder, field_builders
from probing.storage import parse_json

COUNTS = ("train", "dev", "test", "right")
"""What a record tells of each class."""
SHARED = ("preset", "data", "model", "settings")
"""The fields that stand side by side in a record and are the same for all seeds of a cell."""

MANY = 100
"""Counts of more classes than these are compared as an array."""

_HOLE = secrets.token_hex(8)
"""Stands where something was taken out; no text has it by itself."""
_DIGITS = bytes.maketrans(b"0123456789", bytes(range(10)))
_RIGHT = re.compile(r'(?<="right":)[0-9]+')


class Classes(Mapping[str, Mapping[str, int]]):
    """The counts of each label. All but those of right answers are shared with other records: labels may be many."""

    __slots__ = ("_given", "_right")

    def __init__(self, given: Mapping[str, tuple[int, Mapping[str, int]]], right: Sequence[int]) -> None:
        """Take each label's place and counts, and the right answers by place."""
        self._given, self._right = given, right

    def __getitem__(self, label: str) -> Mapping[str, int]:
        place, counts = self._given[label]
        return {**counts, "right": self._right[place]}

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)

    def values(self) -> ValuesView[Mapping[str, int]]:
        """Return the counts without looking up each label."""
        return {place: {**counts, "right": self._right[place]} for place, counts in self._given.values()}.values()


def pack(answers: Sequence[int]) -> Sequence[int]:
    """Return classes as an array with a byte for each, or eight where a byte is too few."""
    if isinstance(answers, array):
        return answers
    try:
        return array("B", answers)
    except OverflowError:
        return array("q", answers)


def parse_record(text: str, kind: type) -> Any:
    """Return what a record's text says; what needs no more checks for `kind`, the record's class, is marked as built.

    A text that is no JSON is a ValueError.
    """
    try:
        content = _take_apart(text, kind)
    except (LookupError, TypeError, ValueError):  # the plain way says what is wrong, if anything is
        content = None
    return parse_json(text) if content is None else content


def _take_apart(text: str, kind: type) -> dict[str, Any] | None:
    preset = text.find(',"preset":')
    status = text.find(',"status":', preset)
    classes = text.find(',"classes":{', status)
    gold = text.find(',"gold":[', classes)
    predictions = text.find('],"predictions":[', gold)
    end = text.find("]", predictions + 1)
    if min(preset, status, classes, gold, predictions, end) < 0:
        return None
    holes = f',"classes":"{_HOLE}","gold":"{_HOLE}","predictions":"{_HOLE}"'
    content = parse_json(f'{text[:preset]},"preset":"{_HOLE}"{text[status:classes]}{holes}{text[end + 1 :]}')
    scores = content["scores"]
    found = [content["preset"], scores["classes"], scores["gold"], scores["predictions"]]
    if found != [_HOLE] * 4 or not content.keys().isdisjoint(SHARED[1:]):
        return None  # what was taken out is part of something else
    known = _parse_gold(text[gold + 9 : predictions])
    answers = _parse_answers(text[predictions + 17 : end])
    counts = known.count(answers, text[classes + 11 : gold])
    scores |= {"gold": Built(known.labels), "predictions": Built(answers), "classes": Built(counts)}
    return {**content, **_parse_shared(text[preset + 1 : status], kind)}


@lru_cache(maxsize=1024)
def _parse_shared(text: str, kind: type) -> dict[str, Any]:
    shared, builders = parse_json(f"{{{text}}}"), field_builders(kind)
    return {**shared, **{name: Built(builders[name](shared[name], name)) for name in SHARED}}


class _Gold:
    """The test labels of a task, and what the last record tells of its classes."""

    def __init__(self, text: str) -> None:
        self.labels = _parse_answers(text)
        self.template: _Template | None = None

    def count(self, answers: Sequence[int], text: str) -> Classes:
        """Return the counts that a text tells; if they cannot be those of these answers, it is a ValueError."""
        if len(answers) != len(self.labels):
            raise ValueError("not as many answers as labels")
        labels, found = np.asarray(self.labels), np.asarray(answers)
        hits = labels[labels == found]
        right = self.template.match(text, hits) if self.template is not None else None
        if self.template is None or right is None:
            self.template = _Template(text)
            if max(self.labels) >= len(self.template.given):
                raise ValueError("a label that is not there")
            right = self.template.match(text, hits)
        if right is None or found.max() >= len(self.template.given):
            raise ValueError("the counts are not those of the answers")
        return Classes(self.template.given, right)


_parse_gold = lru_cache(maxsize=64)(_Gold)


class _Template:
    """What the records of a task tell of its classes, but for the right answers."""

    def __init__(self, text: str) -> None:
        classes = builder(dict[str, dict[str, int]])(parse_json(text), "classes")
        if any(tuple(counts) != COUNTS or min(counts.values()) < 0 for counts in classes.values()):
            raise ValueError("not the counts of classes")
        self.given = {label: (place, counts) for place, (label, counts) in enumerate(classes.items())}
        self.pieces = _RIGHT.split(text)
        self.blank = np.frombuffer("0".join(self.pieces).encode(), np.uint8)
        self.places = np.cumsum([len(piece.encode()) + 1 for piece in self.pieces[:-1]]) - 1

    def match(self, text: str, hits: npt.NDArray[np.integer[Any]]) -> list[int] | None:
        """Return how many answers are right by class, if that is what a text tells."""
        counts = np.bincount(hits, minlength=len(self.given))
        right: list[int] = counts.tolist()
        if len(right) > MANY and counts.max() < 100:
            told = self.blank.copy()
            told[self.places] += (counts % 10).astype(np.uint8)
            tens = counts > 9
            told = np.insert(told, self.places[tens], ord("0") + counts[tens] // 10)
            return right if told.tobytes() == text.encode() else None
        spelled = "".join(itertools.chain.from_iterable(zip(self.pieces, map(str, right), strict=False)))
        return right if spelled + self.pieces[-1] == text else None


def _parse_answers(text: str) -> Sequence[int]:
    if len(text) % 2 and text[1::2] == "," * (len(text) // 2):  # as classes of one digit are written
        figures = text[::2].encode()
        if figures.isdigit():
            return array("B", figures.translate(_DIGITS))
    return _parse_numbers(np.frombuffer(text.encode(), np.uint8))


def _parse_numbers(text: npt.NDArray[np.uint8]) -> Sequence[int]:
    """Return numbers of up to four digits with commas between them; anything else is a ValueError."""
    digits = text - ord("0")  # below zero it begins again at the top
    commas = np.flatnonzero(text == ord(","))
    ends = np.append(commas, len(text))
    widths = np.diff(ends, prepend=-1) - 1
    values = np.zeros(len(ends), np.int64)
    for place in range(min(4, int(widths.max()))):
        values += np.where(widths > place, digits[ends - 1 - place], 0).astype(np.int64) * 10**place
    sound = np.count_nonzero(digits < 10) == len(text) - len(commas) and 1 <= widths.min() <= widths.max() <= 4
    if not sound or np.any((widths > 1) & (values < 10 ** (widths - 1))):
        raise ValueError("not numbers as JSON has them, or large ones")
    return array("q", values.tobytes()) if values.max() > 255 else array("B", values.astype(np.uint8).tobytes())
