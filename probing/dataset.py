"""A task file becomes checked splits, then numbers, then packed batches.

The format is SentEval's: one instance a line, `tr|va|te <TAB> LABEL <TAB> tokens separated by spaces`.
Packed means that the tokens of all sentences lie end to end, with no padding between them.

Shapes: S sentences of a split, T tokens of a batch, B sentences of a batch.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from probing.cache import cache_folder, new_folder
from probing.errors import ProbingError

SPLITS = {"tr": "train", "va": "dev", "te": "test"}
"""A line's first field -> the split's name in results and messages."""

UNKNOWN = 0
"""The id of every word that the vocabulary does not hold."""

INDEX_VERSION = 1
"""Rises when cached indices change their form."""

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


def iterate_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield each line of a UTF-8 text file with its number, whatever its line ends are."""
    with _open(path) as file:
        for number, line in enumerate(file, 1):
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise ProbingError(
                    f"{path}:{number}: not UTF-8 (byte 0x{error.object[error.start]:02x} at column {error.start + 1}). "
                    "Save the file as UTF-8"
                ) from None
            yield number, text.rstrip("\r\n")


def _open(path: Path) -> BinaryIO:
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
    with _open(path) as file:
        sha256, blob = hashlib.sha256(), hashlib.sha1(usedforsecurity=False)
        blob.update(b"blob %d\0" % os.fstat(file.fileno()).st_size)
        while chunk := file.read(1 << 20):
            sha256.update(chunk)
            blob.update(chunk)
    return sha256.hexdigest(), blob.hexdigest()


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


@dataclass(frozen=True, slots=True)
class IndexedTask:
    """A task file as numbers. Word i + 1 is words[i]: the training split's by falling frequency, then the others."""

    path: Path
    sha256: str
    blob: str
    """Git's SHA-1 of the file, by which SentEval's own files are recognised."""
    labels: tuple[str, ...]
    """Sorted: a label's place is its class."""
    words: tuple[str, ...]
    frequencies: Integers
    """Of the training split's words."""
    splits: Mapping[str, PackedSplit]

    def vocabulary_size(self, *, min_frequency: int, max_vocabulary: int) -> int:
        """Return how many words a model sees, the unknown word included."""
        return 1 + min(int((self.frequencies >= min_frequency).sum()), max_vocabulary)

    def limit(self, split: str, vocabulary_size: int) -> PackedSplit:
        """Return a split in which every word beyond the vocabulary is the unknown one."""
        packed = self.splits[split]
        return replace(packed, tokens=np.where(packed.tokens < vocabulary_size, packed.tokens, UNKNOWN))

    def class_counts(self, split: str) -> Integers:
        return np.bincount(self.splits[split].labels, minlength=len(self.labels))

    @property
    def majority_class(self) -> int:
        """The most frequent class of the training split (the first among equals)."""
        return int(self.class_counts("tr").argmax())

    def majority_accuracy(self, split: str) -> float:
        """Return the percentage of a split that the most frequent training label gets right."""
        return 100.0 * float(np.mean(self.splits[split].labels == self.majority_class))


def index_task(data: TaskData) -> IndexedTask:
    """Number the words and labels of a task file."""
    counts = Counter(chain.from_iterable(data.splits["tr"].sentences))
    others = set(chain.from_iterable(chain(data.splits["va"].sentences, data.splits["te"].sentences)))
    words = (*sorted(counts, key=lambda word: (-counts[word], word)), *sorted(others - counts.keys()))
    word_ids = {word: number for number, word in enumerate(words, 1)}
    label_ids = {label: number for number, label in enumerate(data.labels)}
    return IndexedTask(
        path=data.path,
        sha256=data.sha256,
        blob=data.blob,
        labels=tuple(data.labels),
        words=words,
        frequencies=np.array([counts[word] for word in words[: len(counts)]], np.int64),
        splits={name: _pack(split, word_ids, label_ids) for name, split in data.splits.items()},
    )


def _pack(split: Split, word_ids: Mapping[str, int], label_ids: Mapping[str, int]) -> PackedSplit:
    lengths = np.fromiter(map(len, split.sentences), np.int64, len(split.sentences))
    words = map(word_ids.__getitem__, chain.from_iterable(split.sentences))
    return PackedSplit(
        tokens=np.fromiter(words, np.int64, int(lengths.sum())),
        offsets=np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]),
        labels=np.fromiter(map(label_ids.__getitem__, split.labels), np.int64, len(split.labels)),
    )


def load_task(path: Path) -> IndexedTask:
    """Read, check and index a task file, or take its index from the cache if the same file was read before."""
    sha256, blob = hash_file(path)
    folder = cache_folder("tasks") / f"{sha256}-{INDEX_VERSION}"
    try:
        return _load_index(folder, path, sha256, blob)
    except (OSError, EOFError, ValueError, KeyError, TypeError, RecursionError):  # not cached yet, or damaged
        shutil.rmtree(folder, ignore_errors=True)
    task = index_task(read_task_file(path))
    if task.sha256 != sha256:
        raise ProbingError(f"{path}: the file changed while it was read. Try again when it is complete")
    with contextlib.suppress(OSError):  # a cache that cannot be written costs time, nothing else
        _save_index(task, folder)
    return task


def _load_index(folder: Path, path: Path, sha256: str, blob: str) -> IndexedTask:
    def load(name: str) -> Integers:
        numbers = np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)
        if numbers.dtype != np.int64 or numbers.ndim != 1:
            raise ValueError(f"{name}.npy is not a list of whole numbers")
        return np.asarray(numbers)

    texts = json.loads((folder / "words.json").read_text(encoding="utf-8"))
    task = IndexedTask(
        path=path,
        sha256=sha256,
        blob=blob,
        labels=tuple(texts["labels"]),
        words=tuple(texts["words"]),
        frequencies=load("frequencies"),
        splits={
            name: PackedSplit(load(f"{name}-tokens"), load(f"{name}-offsets"), load(f"{name}-labels"))
            for name in SPLITS
        },
    )
    if not (0 < len(task.frequencies) <= len(task.words) and all(_is_whole(task, name) for name in SPLITS)):
        raise ValueError("the index does not fit together")
    return task


def _is_whole(task: IndexedTask, name: str) -> bool:
    split = task.splits[name]
    return (
        len(split.offsets) == len(split) + 1 > 1
        and split.offsets[0] == 0
        and bool((np.diff(split.offsets) > 0).all())
        and split.offsets[-1] == len(split.tokens)
        and 0 < split.tokens.min() <= split.tokens.max() <= len(task.words)
        and 0 <= split.labels.min() <= split.labels.max() < len(task.labels)
    )


def _save_index(task: IndexedTask, folder: Path) -> None:
    with new_folder(folder) as temporary:
        np.save(temporary / "frequencies.npy", task.frequencies)
        for name, split in task.splits.items():
            np.save(temporary / f"{name}-tokens.npy", split.tokens)
            np.save(temporary / f"{name}-offsets.npy", split.offsets)
            np.save(temporary / f"{name}-labels.npy", split.labels)
        texts = {"labels": task.labels, "words": task.words}
        (temporary / "words.json").write_text(json.dumps(texts), encoding="utf-8")
