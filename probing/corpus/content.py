"""One pass over a task file collects all that its checks need, whatever lines break the format."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from probing.dataset import SPLITS, iterate_lines, parse_line
from probing.errors import ProbingError
from probing.tasks import Task

MAX_PROBLEMS = 20
"""How many lines that break the format are kept of a file; the rest are counted."""
REORDERED = frozenset({"BShif", "CoIn"})
"""The tasks whose changed sentences hold the words of the original in another order."""

Occurrence = tuple[int, str, str]
"""A sentence's line, split and label."""
Size = tuple[str, int]
"""A label and a number of tokens."""


@dataclass(slots=True)
class TargetWords:
    """WC's targets, inferred: a label's target is a word that stands once in each of its sentences and in no other."""

    candidates: dict[str, set[str]] = field(default_factory=dict)
    """Label -> the words that stand in all of its sentences."""
    sentences: Counter[str] = field(default_factory=Counter)
    occurrences: Counter[str] = field(default_factory=Counter)

    def observe(self, label: str, sentence: str) -> None:
        tokens = sentence.lower().split()
        words = set(tokens)
        self.sentences.update(words)
        self.occurrences.update(tokens)
        self.candidates.setdefault(label, words).intersection_update(words)

    def can_be_target(self, word: str, size: int) -> bool:
        """Tell whether a word stands in as many sentences as its label has, once in each."""
        return self.sentences[word] == self.occurrences[word] == size


@dataclass(slots=True)
class Versions:
    """Sentences of the same words in another order and with another label: an original and its changed version."""

    seen: dict[int, tuple[int, str, str]] = field(default_factory=dict)
    count: int = 0
    example: tuple[int, int] | None = None

    def observe(self, number: int, label: str, sentence: str) -> None:
        first = self.seen.setdefault(hash(tuple(sorted(sentence.lower().split()))), (number, label, sentence))
        if first[1] != label and first[2] != sentence:
            self.count += 1
            self.example = self.example or (first[0], number)


@dataclass(slots=True)
class Content:
    """What a task file holds, as far as its checks need it."""

    task: Task
    counts: dict[str, Counter[str]] = field(default_factory=lambda: {split: Counter() for split in SPLITS})
    """Split -> label -> instances."""
    sizes: Counter[Size] = field(default_factory=Counter)
    first_lines: dict[tuple[str, str], int] = field(default_factory=dict)
    """Split and label -> the first line with them."""
    first_lines_by_size: dict[Size, int] = field(default_factory=dict)
    seen: dict[str, Occurrence] = field(default_factory=dict)
    """Sentence -> where it stands first."""
    repeats: dict[str, list[Occurrence]] = field(default_factory=dict)
    """Sentence -> all places of one that stands in more than one."""
    problems: list[str] = field(default_factory=list)
    problem_count: int = 0
    read_to_end: bool = True
    targets: TargetWords | None = None
    versions: Versions | None = None

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
        sentence = " ".join(tokens)
        occurrence = (number, split, label)
        first = self.seen.setdefault(sentence, occurrence)
        if first is not occurrence:
            self.repeats.setdefault(sentence, [first]).append(occurrence)
        if self.targets is not None:
            self.targets.observe(label, sentence)
        if self.versions is not None:
            self.versions.observe(number, label, sentence)


def read_content(path: Path, task: Task) -> Content:
    """Read a task file; lines that break the format are kept as problems and left out of the rest."""
    content = Content(task)
    content.targets = TargetWords() if task.name == "WC" else None
    content.versions = Versions() if task.name in REORDERED else None
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
