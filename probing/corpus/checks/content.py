"""One pass over a task file collects everything that its checks need; lines that break the format are skipped."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from probing.corpus.checks.repeats import SentenceIndex
from probing.corpus.instances import Instance
from probing.errors import ProbingError
from probing.tasks import SPLITS, Task, iterate_lines, parse_line

MAX_PROBLEMS = 20
"""Number of lines that break the format whose messages are kept; the rest are only counted."""
REORDERED = frozenset({"BShif", "CoIn"})
"""Tasks whose changed sentences have the words of the original in another order."""

SAMPLED = {"tr": 10_000, "va": 0, "te": 5_000}
"""Split -> number of instances that are kept as a sample."""

Size = tuple[str, int]
"""A label and a number of tokens."""


@dataclass(slots=True)
class TargetWords:
    """The target words of WC, inferred: a label's target occurs once in each sentence of the label and in no other."""

    candidates: dict[str, set[str]] = field(default_factory=dict)
    """Label -> the words that occur in all of its sentences."""
    sentences: Counter[str] = field(default_factory=Counter)
    """Word -> sentences that it occurs in."""
    occurrences: Counter[str] = field(default_factory=Counter)
    """Word -> its occurrences."""

    def observe(self, label: str, tokens: list[str]) -> None:
        """Count the words of a sentence."""
        lowered = " ".join(tokens).lower().split()
        words = set(lowered)
        self.sentences.update(words)
        self.occurrences.update(lowered)
        self.candidates.setdefault(label, words).intersection_update(words)

    def can_be_target(self, word: str, size: int) -> bool:
        """Return whether a word occurs once in each of as many sentences as its label has."""
        return self.sentences[word] == self.occurrences[word] == size


@dataclass(slots=True)
class SentenceSample:
    """A random sample of the instances of a split, the same in every run."""

    size: int
    """Largest number of instances."""
    instances: list[Instance] = field(default_factory=list)
    random: Random = field(default_factory=lambda: Random(0))
    offered: int = 0
    """Number of instances to choose from so far."""

    def offer(self, label: str, tokens: list[str]) -> None:
        """Keep the instance, or one of the earlier ones instead, each with the same probability."""
        self.offered += 1
        if len(self.instances) < self.size:
            self.instances.append(Instance(label, tokens))
        elif self.size and (place := self.random.randrange(self.offered)) < self.size:
            self.instances[place] = Instance(label, tokens)


@dataclass(slots=True)
class Content:
    """The content of a task file, summarised for its checks."""

    task: Task
    forms: Mapping[str, frozenset[str]] | None = None
    """Split -> its target forms, if a datasheet lists them."""
    counts: dict[str, Counter[str]] = field(default_factory=lambda: {split: Counter() for split in SPLITS})
    """Split -> label -> instances."""
    sizes: Counter[Size] = field(default_factory=Counter)
    """Label and number of tokens -> instances."""
    first_lines: dict[tuple[str, str], int] = field(default_factory=dict)
    """Split and label -> the first line with them."""
    first_lines_by_size: dict[Size, int] = field(default_factory=dict)
    """Label and number of tokens -> the first line with them."""
    samples: dict[str, SentenceSample] = field(
        default_factory=lambda: {split: SentenceSample(SAMPLED[split]) for split in SPLITS}
    )
    """Split -> sample of its instances."""
    index: SentenceIndex = field(default_factory=SentenceIndex)
    formless: array[int] = field(default_factory=lambda: array("q"))
    """Lines whose sentence should contain a target form of its split and does not."""
    problems: list[str] = field(default_factory=list)
    """Messages about the first lines that break the format."""
    problem_count: int = 0
    """Number of lines that break the format."""
    read_to_end: bool = True
    targets: TargetWords | None = None
    """Target words, for WC only."""

    def complain(self, problem: object) -> None:
        """Count a line that breaks the format, and keep the message if there are few so far."""
        self.problem_count += 1
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(str(problem))

    def add(self, number: int, split: str, label: str, tokens: list[str]) -> None:
        """Count an instance."""
        self.counts[split][label] += 1
        self.samples[split].offer(label, tokens)
        self.first_lines.setdefault((split, label), number)
        size = (label, len(tokens))
        self.sizes[size] += 1
        self.first_lines_by_size.setdefault(size, number)
        self.index.add(number, split, label, tokens, reordered=self.task.name in REORDERED)
        if self.targets is not None:
            self.targets.observe(label, tokens)
        if self.forms is not None and self._lacks_form(split, label, tokens):
            self.formless.append(number)

    def _lacks_form(self, split: str, label: str, tokens: list[str]) -> bool:
        assert self.forms is not None
        if label == "O" and self.task.name == "SOMO":  # an original sentence has no replacement in it
            return False
        forms = self.forms[split]
        return forms.isdisjoint(tokens) and forms.isdisjoint(" ".join(tokens).lower().split())

    def count_formless(self) -> tuple[int, int]:
        """Return the number of different sentences without a target form, and the first line of one."""
        lines = np.intersect1d(np.array(self.formless, np.int64), self.index.first_numbers())
        return len(lines), int(lines.min(initial=np.iinfo(np.int64).max))


def read_content(path: Path, task: Task, forms: Mapping[str, Any] | None = None) -> Content:
    """Return the content of a task file; lines that break the format are only listed as problems.

    forms: split -> its target forms, if a datasheet lists them.
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
        # The reader cannot continue after bytes that it cannot decode.
        content.complain(f"{error}. The rest was not read")
        content.read_to_end = False
    return content
