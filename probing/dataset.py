"""A task file becomes splits, a vocabulary and packed batches.

The format is SentEval's: one instance a line, `tr|va|te <TAB> LABEL <TAB> tokens separated by spaces`.
Packed means that the tokens of all sentences lie end to end, with no padding between them.

Shapes: S sentences of a split, T tokens of a batch, B sentences of a batch.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from probing.errors import ProbingError

SPLITS = {"tr": "train", "va": "dev", "te": "test"}
"""A line's first field -> the split's name in results and messages."""

UNKNOWN = 0
"""The id of every word that the vocabulary does not hold."""

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Split:
    """The instances of one split, in the file's order."""

    sentences: list[list[str]]
    labels: list[str]


@dataclass(frozen=True, slots=True)
class TaskData:
    """A whole task file, read and checked."""

    path: Path
    sha256: str
    blob: str
    """Git's SHA-1 of the file, by which SentEval's own files are recognised."""
    splits: Mapping[str, Split]
    """`tr`, `va` and `te`."""

    @property
    def labels(self) -> list[str]:
        """The labels of the training split, sorted: a label's place is its class id."""
        return sorted(set(self.splits["tr"].labels))

    @property
    def majority_label(self) -> str:
        """The most frequent label of the training split (the first in order among equals)."""
        counts = Counter(self.splits["tr"].labels)
        return min(counts, key=lambda label: (-counts[label], label))

    def majority_accuracy(self, split: str) -> float:
        """Return the percentage of a split that the most frequent training label gets right."""
        labels = self.splits[split].labels
        return 100.0 * labels.count(self.majority_label) / len(labels)


def iterate_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield each line of a UTF-8 text file with its number, whatever its line ends are."""
    with _open(path) as file:
        for number, line in enumerate(file, 1):
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise ProbingError(
                    f"{path}:{number}: not UTF-8 (byte 0x{line[error.start]:02x} at column {error.start + 1}). "
                    "Save the file as UTF-8"
                ) from None
            yield number, text.rstrip("\r\n")


def _open(path: Path):  # type: ignore[no-untyped-def]
    try:
        return path.open("rb")
    except OSError as error:
        raise ProbingError(f"{path}: cannot be read ({error.strerror or error})") from None


def parse_line(path: Path, number: int, line: str) -> tuple[str, str, list[str]]:
    """Return the split, label and tokens of one line of a task file."""
    fields = line.split("\t")
    if len(fields) != 3:
        raise ProbingError(f"{path}:{number}: expected 3 tab-separated fields, got {len(fields)}")
    split, label, text = fields
    if split not in SPLITS:
        raise ProbingError(f"{path}:{number}: unknown split {split!r}. Allowed: {', '.join(SPLITS)}")
    if not label.strip():
        raise ProbingError(f"{path}:{number}: empty label")
    tokens = text.split()
    if not tokens:
        raise ProbingError(f"{path}:{number}: empty sentence")
    return split, label, tokens


def read_task_file(path: Path) -> TaskData:
    """Read a task file and check all of it; an error names the file and the line."""
    splits = {name: Split([], []) for name in SPLITS}
    first_lines: dict[tuple[str, str], int] = {}
    for number, line in iterate_lines(path):
        split, label, tokens = parse_line(path, number, line)
        splits[split].sentences.append(tokens)
        splits[split].labels.append(label)
        first_lines.setdefault((split, label), number)
    _check_splits(path, splits, first_lines)
    sha256, blob = hash_file(path)
    return TaskData(path, sha256, blob, splits)


def _check_splits(path: Path, splits: Mapping[str, Split], first_lines: Mapping[tuple[str, str], int]) -> None:
    if not first_lines:
        raise ProbingError(f"{path}: the file is empty. Expected lines of split <TAB> label <TAB> tokens")
    missing = [name for name, split in splits.items() if not split.labels]
    if missing:
        raise ProbingError(f"{path}: no line of split {', '.join(missing)}. All of {', '.join(SPLITS)} are needed")
    for (split, label), number in first_lines.items():
        if ("tr", label) not in first_lines:
            raise ProbingError(f"{path}:{number}: label {label!r} of split {split} does not occur in tr")


def hash_file(path: Path) -> tuple[str, str]:
    """Return the SHA-256 of a file and its git blob id."""
    sha256, blob = hashlib.sha256(), hashlib.sha1(usedforsecurity=False)
    blob.update(b"blob %d\0" % path.stat().st_size)
    with _open(path) as file:
        while chunk := file.read(1 << 20):
            sha256.update(chunk)
            blob.update(chunk)
    return sha256.hexdigest(), blob.hexdigest()


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Words with ids from 1; 0 stands for every other word."""

    words: tuple[str, ...]

    @classmethod
    def build(
        cls, sentences: Iterable[Sequence[str]], *, min_frequency: int = 1, max_size: int | None = None
    ) -> Vocabulary:
        """Collect the words seen at least `min_frequency` times, most frequent first."""
        counts: Counter[str] = Counter()
        for tokens in sentences:
            counts.update(tokens)
        kept = sorted((w for w, n in counts.items() if n >= min_frequency), key=lambda w: (-counts[w], w))
        return cls(tuple(kept[:max_size]))

    def __len__(self) -> int:
        return len(self.words) + 1


@dataclass(frozen=True, slots=True)
class Batch:
    """Sentences laid end to end.

    tokens, rows, positions: (T,), a token's id, its sentence within the batch, its place in the sentence;
    lengths, labels: (B,).
    """

    tokens: Integers
    rows: Integers
    positions: Integers
    lengths: Integers
    labels: Integers


@dataclass(frozen=True, slots=True)
class PackedSplit:
    """A split as numbers: tokens end to end, sentence i at tokens[offsets[i]:offsets[i + 1]]."""

    tokens: Integers
    offsets: Integers
    labels: Integers

    @classmethod
    def pack(cls, split: Split, vocabulary: Vocabulary, labels: Sequence[str]) -> PackedSplit:
        word_ids = {word: index for index, word in enumerate(vocabulary.words, 1)}
        label_ids = {label: index for index, label in enumerate(labels)}
        lengths = np.fromiter(map(len, split.sentences), np.int64, len(split.sentences))
        tokens = np.fromiter(
            (word_ids.get(word, UNKNOWN) for sentence in split.sentences for word in sentence),
            np.int64,
            int(lengths.sum()),
        )
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        return cls(tokens, offsets, np.array([label_ids[label] for label in split.labels], np.int64))

    def __len__(self) -> int:
        return len(self.labels)

    def batch(self, sentences: Integers) -> Batch:
        """Return the named sentences as one packed batch."""
        starts = self.offsets[sentences]
        lengths = self.offsets[sentences + 1] - starts
        first_slots = np.cumsum(lengths) - lengths
        positions = np.arange(lengths.sum()) - np.repeat(first_slots, lengths)
        return Batch(
            tokens=self.tokens[np.repeat(starts, lengths) + positions],
            rows=np.repeat(np.arange(len(sentences)), lengths),
            positions=positions,
            lengths=lengths,
            labels=self.labels[sentences],
        )

    def batches(self, batch_size: int, order: Integers | None = None) -> Iterator[Batch]:
        """Yield batches of `batch_size` sentences, in the file's order or in the order given."""
        sentences = np.arange(len(self)) if order is None else order
        for start in range(0, len(sentences), batch_size):
            yield self.batch(sentences[start : start + batch_size])
