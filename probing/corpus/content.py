"""One pass over a task file collects all that its checks need, whatever lines break the format."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from probing.corpus.places import Places
from probing.dataset import SPLITS, iterate_lines, parse_line
from probing.errors import ProbingError
from probing.tasks import Task

MAX_PROBLEMS = 20
"""How many lines that break the format are kept of a file; the rest are counted."""
REORDERED = frozenset({"BShif", "CoIn"})
"""The tasks whose changed sentences hold the words of the original in another order."""

Size = tuple[str, int]
"""A label and a number of tokens."""


@dataclass(slots=True)
class TargetWords:
    """WC's targets, inferred: a label's target is a word that stands once in each of its sentences and in no other."""

    candidates: dict[str, set[str]] = field(default_factory=dict)
    """Label -> the words that stand in all of its sentences."""
    sentences: Counter[str] = field(default_factory=Counter)
    occurrences: Counter[str] = field(default_factory=Counter)

    def observe(self, label: str, tokens: list[str]) -> None:
        lowered = " ".join(tokens).lower().split()
        words = set(lowered)
        self.sentences.update(words)
        self.occurrences.update(lowered)
        self.candidates.setdefault(label, words).intersection_update(words)

    def can_be_target(self, word: str, size: int) -> bool:
        """Tell whether a word stands in as many sentences as its label has, once in each."""
        return self.sentences[word] == self.occurrences[word] == size


@dataclass(slots=True)
class Content:
    """What a task file holds, as far as its checks need it."""

    task: Task
    forms: Mapping[str, frozenset[str]] | None = None
    """The target forms of each split, where a datasheet lists them."""
    counts: dict[str, Counter[str]] = field(default_factory=lambda: {split: Counter() for split in SPLITS})
    """Split -> label -> instances."""
    sizes: Counter[Size] = field(default_factory=Counter)
    first_lines: dict[tuple[str, str], int] = field(default_factory=dict)
    """Split and label -> the first line with them."""
    first_lines_by_size: dict[Size, int] = field(default_factory=dict)
    places: Places = field(default_factory=Places)
    formless: array[int] = field(default_factory=lambda: array("q"))
    """The lines whose sentence should hold a target form of its split and does not."""
    problems: list[str] = field(default_factory=list)
    problem_count: int = 0
    read_to_end: bool = True
    targets: TargetWords | None = None

    def complain(self, problem: object) -> None:
        self.problem_count += 1
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(str(problem))

    def add(self, number: int, split: str, label: str, tokens: list[str]) -> None:
        self.counts[split][label] += 1
        self.first_lines.setdefault((split, label), number)
        size = (label, len(tokens))
        self.sizes[size] += 1
        self.first_lines_by_size.setdefault(size, number)
        self.places.add(number, split, label, tokens, reordered=self.task.name in REORDERED)
        if self.targets is not None:
            self.targets.observe(label, tokens)
        if self.forms is not None and self._lacks_form(split, label, tokens):
            self.formless.append(number)

    def _lacks_form(self, split: str, label: str, tokens: list[str]) -> bool:
        assert self.forms is not None
        if label == "O" and self.task.name == "SOMO":  # an original sentence needs hold no replacement
            return False
        forms = self.forms[split]
        return forms.isdisjoint(tokens) and forms.isdisjoint(" ".join(tokens).lower().split())

    def count_formless(self) -> tuple[int, int]:
        """Return how many sentences lack a target form, each counted once, and the first line of one."""
        lines = np.intersect1d(np.array(self.formless, np.int64), self.places.first_numbers())
        return len(lines), int(lines.min(initial=np.iinfo(np.int64).max))


def read_content(path: Path, task: Task, forms: Mapping[str, Any] | None = None) -> Content:
    """Read a task file; lines that break the format are kept as problems and left out of the rest.

    forms: the target forms of each split, where a datasheet lists them.
    """
    content = Content(task)
    content.targets = TargetWords() if task.name == "WC" else None
    content.forms = {split: frozenset(forms.get(split, ())) for split in SPLITS} if forms else None
    try:
        for number, line in iterate_lines(path):
            try:
                instance = parse_line(path, number, line)
            except ProbingError as error:
                content.complain(error)
                continue
            content.add(number, *instance)
    except ProbingError as error:
        # The reader cannot go on behind bytes that it cannot decode.
        content.complain(f"{error}. The rest was not read")
        content.read_to_end = False
    return content
