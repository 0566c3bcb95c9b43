"""A task file as an index of numbers, which is kept in the cache."""

from __future__ import annotations

import contextlib
import json
import zlib
from array import array
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from probing.errors import ProbingError
from probing.storage import cache_folder, hash_file, new_folder, parse_json, remove_folder
from probing.tasks.batches import Integers, PackedSplit, SmallIntegers
from probing.tasks.task_file import SPLITS, OnShare, iterate_instances

INDEX_VERSION = 2
"""Version of the form of cached indices."""


@dataclass(frozen=True, slots=True)
class IndexedTask:
    """A task file as numbers. Word i + 1 is words[i]: the training split's by falling frequency, then the others."""

    path: Path
    sha256: str
    blob: str
    """Git's SHA-1 of the file, by which SentEval's own files are recognised."""
    labels: tuple[str, ...]
    """Labels in sorted order: a label's place is its class."""
    words: tuple[str, ...]
    frequencies: Integers
    """Frequencies of the training split's words, in falling order."""
    splits: Mapping[str, PackedSplit]

    def vocabulary_size(self, *, min_frequency: int, max_vocabulary: int) -> int:
        """Return the number of words that a model knows, including the unknown word."""
        return 1 + min(int((self.frequencies >= min_frequency).sum()), max_vocabulary)

    def limit(self, split: str, vocabulary_size: int) -> PackedSplit:
        """Return a split in which every word beyond the vocabulary is the unknown one."""
        return replace(self.splits[split], vocabulary_size=vocabulary_size)

    def restrict(self, rows: Integers) -> IndexedTask:
        """Return the task with the words and frequencies of some training sentences; the splits stay whole."""
        train = self.splits["tr"].batch(rows).tokens
        counts = np.bincount(train, minlength=len(self.words) + 1)[1:]
        order = np.argsort(-counts, kind="stable")  # among equals the more frequent in the whole split
        numbers = np.zeros(len(order) + 1, np.int32)
        numbers[order + 1] = np.arange(1, len(order) + 1)
        return replace(
            self,
            words=tuple(self.words[place] for place in order.tolist()),
            frequencies=np.sort(counts[counts > 0])[::-1],
            splits={name: replace(split, tokens=numbers[split.tokens]) for name, split in self.splits.items()},
        )

    def sentences(self, split: str, rows: range) -> Iterator[list[str]]:
        """Yield the tokens of some sentences of a split."""
        packed = self.splits[split]
        for row in rows:
            tokens = packed.tokens[packed.offsets[row] : packed.offsets[row + 1]]
            yield [self.words[token - 1] for token in tokens.tolist()]


@dataclass(frozen=True, slots=True)
class _Columns:
    """A split while its file is read: four bytes for each token, and no object for a sentence."""

    tokens: array[int] = field(default_factory=lambda: array("i"))
    lengths: array[int] = field(default_factory=lambda: array("i"))
    labels: array[int] = field(default_factory=lambda: array("i"))

    def pack(self, word_ids: SmallIntegers, label_ids: SmallIntegers) -> PackedSplit:
        """Return the split with the final numbers of words and labels; the memory of the tokens is reused."""
        tokens = np.frombuffer(self.tokens, np.int32)
        for part in _cut(tokens):
            part[:] = word_ids[part]
        offsets = np.zeros(len(self.lengths) + 1, np.int64)
        np.cumsum(self.lengths, out=offsets[1:])
        return PackedSplit(tokens, offsets, label_ids[np.frombuffer(self.labels, np.int32)].astype(np.int64))


def _cut(numbers: SmallIntegers) -> Iterator[SmallIntegers]:
    """Yield views of a long array, so that computing with it takes little memory at a time."""
    for start in range(0, len(numbers), 1 << 20):
        yield numbers[start : start + (1 << 20)]


def index_file(path: Path, on_share: OnShare = lambda share: None) -> IndexedTask:
    """Read and check a task file, and number its words and labels."""
    words: defaultdict[str, int] = defaultdict(lambda: len(words))  # numbers in the order in which words come
    labels: defaultdict[str, int] = defaultdict(lambda: len(labels))
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

    While the file is read, `on_share` receives the share that has been read so far.
    """
    task = _load_or_index(path, on_share)
    if len(task.labels) == 1:
        raise ProbingError(f"{path}: all lines have the label {task.labels[0]!r}. A task needs two labels or more")
    return task


def _load_or_index(path: Path, on_share: OnShare) -> IndexedTask:
    sha256, blob = hash_file(path)
    folder = cache_folder("tasks") / f"{sha256}-{INDEX_VERSION}"
    try:
        return _load_index(folder, path, sha256, blob)
    except (OSError, ValueError, KeyError, TypeError):  # not cached yet, or damaged
        remove_folder(folder)
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
