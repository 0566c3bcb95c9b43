"""A parallel corpus segmented into subwords, portion by portion, and written to a folder as numbers.

The folder has the models of the subwords, for each side of each split the tokens end to end (each sentence with END)
and the offsets of the sentences, the numbers of pairs, and the checksums of all these files.
"""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain, compress
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np
from numpy.typing import NDArray

from probing.errors import ProbingError
from probing.results import PairCounts
from probing.translation.parallel_files import FilePair, ParallelFiles
from probing.translation.parallel_text import OnShare, iterate_text, part_of, read_lines
from probing.translation.settings import SubwordConfig
from probing.translation.subwords import END, MAX_SENTENCES, Subwords, sample_evenly, train_subwords

PORTION = 10_000
"""Largest number of pairs that are segmented at a time."""
PORTION_CHARACTERS = 1 << 22
"""Number of characters after which a portion ends before it has so many pairs."""
SIDES = ("source", "target")
TRAINED = 0.1
"""Share of the work that is done when there are subwords."""
Mask = NDArray[np.bool_]


def name_split(files: ParallelFiles, name: str) -> str:
    """Return the beginning of the names of a split's files: `train`, `dev`, or `test` and a number."""
    return f"test{list(files.tests).index(name)}" if name in files.tests else name


def choose_dtype(subwords: Iterable[Subwords]) -> np.dtype[Any]:
    """Return the type of the tokens: two bytes if all ids fit into them, else four."""
    return np.dtype(np.uint16 if max(each.size for each in subwords) <= 1 << 16 else np.int32)


def write_corpus(
    folder: Path, files: ParallelFiles, config: SubwordConfig, lines: Mapping[str, int], on_share: OnShare
) -> None:
    """Train subwords on the training split and write the whole corpus; `lines` has the length of each split."""
    models = _train_models(files.train, config, lines["train"])
    subwords = [Subwords(model) for model in models]
    writer = _SplitWriter(folder, (subwords[0], subwords[-1]), choose_dtype(subwords))
    for side, model in zip(SIDES, models, strict=False):
        writer.write_file(f"{side}.model", model)
    on_share(TRAINED)
    sources = {name: read_lines(pair.source) for name, pair in files.tests.items()}
    wanted, found = set(chain.from_iterable(sources.values())), set[str]()
    train = writer.write(
        "train",
        files.train,
        max_length=config.max_length,
        on_share=part_of(on_share, TRAINED, 1),
        on_sources=lambda kept: found.update(wanted.intersection(kept)),
    )
    if train.kept == 0:
        raise ProbingError(
            f"{files.train.source}: no training pair is left: {train.empty:,} have an empty side, {train.long:,} more "
            f"than subwords.max_length={config.max_length} subwords"
        )
    _check_length(files.train, train, lines["train"])
    for name, pair in {"dev": files.dev, **files.tests}.items():
        _check_length(pair, writer.write(name_split(files, name), pair), lines[name])
    counts = PairCounts(
        train=train.kept,
        empty=train.empty,
        long=train.long,
        dev=lines["dev"],
        tests={name: lines[name] for name in files.tests},
        seen={name: sum(source in found for source in texts) for name, texts in sources.items()},
    )
    writer.write_file("counts.json", msgspec.json.encode(counts))
    writer.write_file("checksums.json", msgspec.json.encode(writer.checksums))


def _check_length(pair: FilePair, tally: _Tally, lines: int) -> None:
    if tally.total != lines:
        raise ProbingError(f"{pair.source}: the file changed while it was read. Start the run again")


def _train_models(train: FilePair, config: SubwordConfig, lines: int) -> list[bytes]:
    """Return one model for both sides, or one for each."""
    limit = MAX_SENTENCES // 2 if config.joint else MAX_SENTENCES
    sides = [sample_evenly(iterate_text(path), lines, limit) for path in (train.source, train.target)]
    return [
        train_subwords(sentences, vocabulary_size=config.vocabulary_size, character_coverage=config.character_coverage)
        for sentences in ([chain(*sides)] if config.joint else sides)
    ]


@dataclass(slots=True)
class _Tally:
    """Numbers of pairs of a split: all, those without text on a side, those that are too long, those that were kept."""

    total: int = 0
    empty: int = 0
    long: int = 0
    kept: int = 0


@dataclass(frozen=True, slots=True)
class _SplitWriter:
    """Writes splits to a folder and collects the checksums of their files."""

    folder: Path
    subwords: tuple[Subwords, Subwords]
    dtype: np.dtype[Any]
    checksums: dict[str, int] = field(default_factory=dict)

    def write_file(self, name: str, content: bytes | memoryview) -> None:
        """Write a file that is there as a whole."""
        (self.folder / name).write_bytes(content)
        self.checksums[name] = zlib.crc32(content)

    def write(
        self,
        name: str,
        pair: FilePair,
        *,
        max_length: int | None = None,
        on_share: OnShare = lambda share: None,
        on_sources: Callable[[Sequence[str]], None] = lambda sources: None,
    ) -> _Tally:
        """Segment a split; with a largest length, pairs that are empty or longer are dropped."""
        tally = _Tally()
        with ExitStack() as files:
            opened = [files.enter_context((self.folder / f"{name}-{side}-tokens").open("wb")) for side in SIDES]
            written = [_TokenFile(file, self.dtype) for file in opened]
            for sides in _iterate_portions(pair, on_share):
                segmented = [model.encode(lines) for model, lines in zip(self.subwords, sides, strict=True)]
                keep = np.ones(len(sides[0]), np.bool_)
                if max_length is not None:
                    keep = _choose(sides, segmented, max_length, tally)
                for file, ids in zip(written, segmented, strict=True):
                    file.append(ids, keep)
                on_sources(list(compress(sides[0], keep)))
                tally.total += len(keep)
                tally.kept += int(keep.sum())
        for side, file in zip(SIDES, written, strict=True):
            self.checksums[f"{name}-{side}-tokens"] = file.checksum
            self.write_file(f"{name}-{side}-offsets", file.offsets().data)
        return tally


def _iterate_portions(pair: FilePair, on_share: OnShare) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the lines of both files, some at a time."""
    sources, targets, size = list[str](), list[str](), 0
    for source, target in zip(iterate_text(pair.source, on_share), iterate_text(pair.target), strict=False):
        sources.append(source)
        targets.append(target)
        size += len(source) + len(target)
        if len(sources) == PORTION or size > PORTION_CHARACTERS:
            yield sources, targets
            sources, targets, size = [], [], 0
    if sources:
        yield sources, targets


def _choose(sides: Sequence[list[str]], segmented: Sequence[list[list[int]]], max_length: int, tally: _Tally) -> Mask:
    """Return which pairs have text on both sides and are not too long, and count the others."""
    has_text = np.ones(len(sides[0]), np.bool_)
    short = np.ones(len(sides[0]), np.bool_)
    for lines, ids in zip(sides, segmented, strict=True):
        has_text &= np.fromiter((line != "" and not line.isspace() for line in lines), np.bool_, len(lines))
        short &= np.fromiter(map(len, ids), np.int64, len(ids)) <= max_length
    tally.empty += int((~has_text).sum())
    tally.long += int((has_text & ~short).sum())
    return has_text & short


@dataclass(slots=True)
class _TokenFile:
    """The tokens of one side of a split, written as they come."""

    file: BinaryIO
    dtype: np.dtype[Any]
    lengths: array[int] = field(default_factory=lambda: array("i"))
    checksum: int = 0

    def append(self, segmented: list[list[int]], keep: Mask) -> None:
        """Write the sentences that are kept, each with END."""
        kept = list(compress(segmented, keep))
        for ids in kept:
            ids.append(END)
        self.lengths.extend(map(len, kept))
        tokens = np.fromiter(chain.from_iterable(kept), self.dtype)
        self.checksum = zlib.crc32(tokens.data, self.checksum)
        tokens.tofile(self.file)

    def offsets(self) -> NDArray[np.int64]:
        """Return where each sentence begins, and where the last one ends."""
        offsets = np.zeros(len(self.lengths) + 1, np.int64)
        np.cumsum(self.lengths, out=offsets[1:])
        return offsets
