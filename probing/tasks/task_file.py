"""A task file in SentEval's format, read and checked.

Each line is an instance: `tr|va|te <TAB> LABEL <TAB> tokens separated by spaces`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from probing.errors import ProbingError
from probing.storage import decode_line, iterate_bytes, open_file

SPLITS = {"tr": "train", "va": "dev", "te": "test"}
"""A line's first field -> the split's name in results and messages."""

MAX_TOKENS = 10_000
"""Largest number of tokens in a sentence: attention over more needs more memory than machines have."""

LINES_BETWEEN_SHARES = 1 << 14
"""Number of lines after which the progress of reading is reported."""
OnShare = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Split:
    """The instances of one split, in the file's order."""

    sentences: list[list[str]]
    labels: list[str]


@dataclass(frozen=True, slots=True)
class TaskData:
    """A whole task file, read and checked."""

    splits: Mapping[str, Split]
    """`tr`, `va` and `te`."""

    @property
    def labels(self) -> list[str]:
        """The labels of the training split, sorted: a label's place is its class id."""
        return sorted(set(self.splits["tr"].labels))


def iterate_lines(path: Path, on_share: OnShare = lambda share: None) -> Iterator[tuple[int, str]]:
    """Yield each line of a UTF-8 text file with its number, whatever its line ends are."""
    with open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        for number, line in iterate_bytes(file, path):
            if number % LINES_BETWEEN_SHARES == 0:
                on_share(min(1.0, file.tell() / size))
            yield number, decode_line(path, number, line).rstrip("\r\n")


def parse_line(path: Path, number: int, line: str) -> tuple[str, str, list[str]]:
    """Return the split, label and tokens of one line of a task file."""
    if (tabs := line.count("\t")) != 2:
        raise ProbingError(f"{path}:{number}: expected 3 tab-separated fields, got {tabs + 1}")
    split, label, text = line.split("\t")
    if split not in SPLITS:
        raise ProbingError(f"{path}:{number}: unknown split {split!r}. Allowed: {', '.join(SPLITS)}")
    if not label.strip():
        raise ProbingError(f"{path}:{number}: empty label")
    tokens = text.split(maxsplit=MAX_TOKENS)
    if not tokens:
        raise ProbingError(f"{path}:{number}: empty sentence")
    if len(tokens) > MAX_TOKENS:
        raise ProbingError(f"{path}:{number}: a sentence of more than {MAX_TOKENS:,} tokens. Split it or leave it out")
    return split, label, tokens


def iterate_instances(path: Path, on_share: OnShare = lambda share: None) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the split, label and tokens of each line, and check all of the file; an error names the file and line."""
    first_lines: dict[tuple[str, str], int] = {}
    for number, line in iterate_lines(path, on_share):
        instance = parse_line(path, number, line)
        first_lines.setdefault(instance[:2], number)
        yield instance
    if not first_lines:
        raise ProbingError(f"{path}: the file is empty. Expected lines of split <TAB> label <TAB> tokens")
    there = {split for split, _ in first_lines}
    if missing := [name for name in SPLITS if name not in there]:
        raise ProbingError(f"{path}: no line of split {', '.join(missing)}. All of {', '.join(SPLITS)} are needed")
    for (split, label), number in first_lines.items():
        if ("tr", label) not in first_lines:
            raise ProbingError(f"{path}:{number}: label {label!r} of split {split} does not occur in tr")


def read_task_file(path: Path) -> TaskData:
    """Read a task file and check all of it."""
    splits = {name: Split([], []) for name in SPLITS}
    for split, label, tokens in iterate_instances(path):
        splits[split].sentences.append(tokens)
        splits[split].labels.append(label)
    return TaskData(splits)
