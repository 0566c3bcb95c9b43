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
import zlib
from array import array
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from probing.cache import cache_folder, new_folder
from probing.errors import ProbingError
from probing.files import decode_line, iterate_bytes, open_file, parse_json

SPLITS = {"tr": "train", "va": "dev", "te": "test"}
"""A line's first field -> the split's name in results and messages."""

UNKNOWN = 0
"""The id of every word that the vocabulary does not hold."""

MAX_TOKENS = 10_000
"""Of a sentence: attention over more takes more memory than machines have."""

LINES_BETWEEN_SHARES = 1 << 14
"""While a file is read: how often it is told how far."""

INDEX_VERSION = 2
"""Rises when cached indices change their form."""

Integers = NDArray[np.int64]
SmallIntegers = NDArray[np.int32]
OnShare = Callable[[float], None]


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
    sha256, blob = hash_file(path)
    return TaskData(path, sha256, blob, splits)


def hash_file(path: Path) -> tuple[str, str]:
    """Return the SHA-256 of a file and its git blob id."""
    with open_file(path) as file:
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

    tokens: Integers | SmallIntegers
    offsets: Integers
    labels: Integers
    vocabulary_size: int | None = None
    """Words from this number on are the unknown one; without it, all are known."""

    def __len__(self) -> int:
        return len(self.labels)

    def batch(self, sentences: Integers) -> Batch:
        """Return the named sentences as one packed batch."""
        starts = self.offsets[sentences]
        lengths = self.offsets[sentences + 1] - starts
        first_slots = np.cumsum(lengths) - lengths
        positions = np.arange(lengths.sum()) - np.repeat(first_slots, lengths)
        tokens = self.tokens[np.repeat(starts, lengths) + positions].astype(np.int64, copy=False)
        if self.vocabulary_size is not None:
            tokens[tokens >= self.vocabulary_size] = UNKNOWN
        return Batch(
            tokens=tokens,
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
        return replace(self.splits[split], vocabulary_size=vocabulary_size)

    def class_counts(self, split: str) -> Integers:
        return np.bincount(self.splits[split].labels, minlength=len(self.labels))

    @property
    def majority_class(self) -> int:
        """The most frequent class of the training split (the first among equals)."""
        return int(self.class_counts("tr").argmax())

    def majority_accuracy(self, split: str) -> float:
        """Return the percentage of a split that the most frequent training label gets right."""
        return 100.0 * float(np.mean(self.splits[split].labels == self.majority_class))


class _Numbering(dict[str, int]):
    """Numbers for words, in the order in which they come."""

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        return number


@dataclass(frozen=True, slots=True)
class _Columns:
    """A split while its file is read: four bytes for each token, and no sentence as an object."""

    tokens: array[int] = field(default_factory=lambda: array("i"))
    lengths: array[int] = field(default_factory=lambda: array("i"))
    labels: array[int] = field(default_factory=lambda: array("i"))

    def pack(self, word_ids: SmallIntegers, label_ids: SmallIntegers) -> PackedSplit:
        """Return the split under the words' and labels' final numbers; the memory of the tokens is used again."""
        tokens = np.frombuffer(self.tokens, np.int32)
        for part in _cut(tokens):
            part[:] = word_ids[part]
        offsets = np.zeros(len(self.lengths) + 1, np.int64)
        np.cumsum(self.lengths, out=offsets[1:])
        return PackedSplit(tokens, offsets, label_ids[np.frombuffer(self.labels, np.int32)].astype(np.int64))


def _cut(numbers: SmallIntegers) -> Iterator[SmallIntegers]:
    """Yield views of a long list, so that what is computed from it takes little memory at a time."""
    for start in range(0, len(numbers), 1 << 20):
        yield numbers[start : start + (1 << 20)]


def index_file(path: Path, on_share: OnShare = lambda share: None) -> IndexedTask:
    """Read and check a task file, and number its words and labels."""
    words, labels = _Numbering(), _Numbering()
    columns = {name: _Columns() for name in SPLITS}
    for split, label, tokens in iterate_instances(path, on_share):
        column = columns[split]
        column.tokens.extend(map(words.__getitem__, tokens))
        column.lengths.append(len(tokens))
        column.labels.append(labels[label])
    sha256, blob = hash_file(path)
    counts = np.zeros(len(words), np.int64)
    for part in _cut(np.frombuffer(columns["tr"].tokens, np.int32)):
        counts += np.bincount(part, minlength=len(words))
    by_number = counts.tolist()
    ordered = sorted(words, key=lambda word: (-by_number[words[word]], word))
    word_ids, label_ids = _renumber(words, ordered, first=1), _renumber(labels, sorted(labels), first=0)
    return IndexedTask(
        path=path,
        sha256=sha256,
        blob=blob,
        labels=tuple(sorted(labels)),
        words=tuple(ordered),
        frequencies=np.sort(counts[counts > 0])[::-1],
        splits={name: column.pack(word_ids, label_ids) for name, column in columns.items()},
    )


def _renumber(numbers: Mapping[str, int], ordered: list[str], *, first: int) -> SmallIntegers:
    """Return the final number of each word, by its number so far."""
    final = np.empty(len(ordered), np.int32)
    final[[numbers[word] for word in ordered]] = np.arange(first, first + len(ordered))
    return final


def load_task(path: Path, on_share: OnShare = lambda share: None) -> IndexedTask:
    """Read, check and index a task file, or take its index from the cache if the same file was read before.

    While it is read, `on_share` is told again and again which share of it has been.
    """
    sha256, blob = hash_file(path)
    folder = cache_folder("tasks") / f"{sha256}-{INDEX_VERSION}"
    try:
        return _load_index(folder, path, sha256, blob)
    except (OSError, ValueError, KeyError, TypeError):  # not cached yet, or damaged
        shutil.rmtree(folder, ignore_errors=True)
    task = index_file(path, on_share)
    if task.sha256 != sha256:
        raise ProbingError(f"{path}: the file changed while it was read. Try again when it is complete")
    with contextlib.suppress(OSError):  # a cache that cannot be written costs time and memory, nothing else
        _save_index(task, folder)
        return _load_index(folder, path, sha256, blob)  # mapped into memory, which the index then no longer takes
    return task


def _load_index(folder: Path, path: Path, sha256: str, blob: str) -> IndexedTask:
    checksums = parse_json((folder / "checksums.json").read_text(encoding="utf-8"))

    def load(name: str, dtype: type[np.generic] = np.int64) -> NDArray[Any]:
        numbers = np.asarray(np.memmap(folder / name, dtype, mode="r"))
        if zlib.crc32(numbers.data) != checksums[name]:
            raise ValueError(f"{name} is damaged")
        return numbers

    texts = json.loads(load("words.json", np.uint8).tobytes())
    return IndexedTask(
        path=path,
        sha256=sha256,
        blob=blob,
        labels=tuple(texts["labels"]),
        words=tuple(texts["words"]),
        frequencies=load("frequencies"),
        splits={
            name: PackedSplit(load(f"{name}-tokens", np.int32), load(f"{name}-offsets"), load(f"{name}-labels"))
            for name in SPLITS
        },
    )


def _save_index(task: IndexedTask, folder: Path) -> None:
    texts = json.dumps({"labels": task.labels, "words": task.words}).encode()
    files: dict[str, NDArray[Any]] = {"words.json": np.frombuffer(texts, np.uint8), "frequencies": task.frequencies}
    for name, split in task.splits.items():
        files |= {f"{name}-tokens": split.tokens, f"{name}-offsets": split.offsets, f"{name}-labels": split.labels}
    with new_folder(folder) as temporary:
        for name, numbers in files.items():
            numbers.tofile(temporary / name)
        checksums = {name: zlib.crc32(np.ascontiguousarray(numbers).data) for name, numbers in files.items()}
        (temporary / "checksums.json").write_text(json.dumps(checksums), encoding="utf-8")
