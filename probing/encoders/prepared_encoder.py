"""An encoder that is prepared for one task, and encodes the task's sentences by their rows.

Rows are the numbers of sentences in train, dev and test one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from probing.encoders.array_files import StoredArray
from probing.encoders.blocks import Rows
from probing.encoders.encoder import as_matrix
from probing.encoders.known_reads import KnownReads
from probing.encoders.precomputed import PrecomputedVectors
from probing.encoders.senteval import BatcherEncoder
from probing.errors import ProbingError
from probing.tasks import SPLITS, IndexedTask, Task, iterate_lines


@dataclass(slots=True, kw_only=True)
class PreparedEncoder:
    """An encoder and the task that it is prepared for."""

    name: str
    task: Task
    encoder: Any
    data: IndexedTask
    layers: int | None
    """Number of layers that `encode` returns; None for an encoder that returns (n, dim)."""
    dtype: str
    reads: KnownReads | None = None
    """Files that it was seen to read; None if its version covers them."""
    look_up: Callable[[Rows], Any] | None = None
    """Function that gives vectors that exist already."""

    def prepare(self) -> None:
        """Let the encoder prepare itself with all sentences of the task."""
        if isinstance(self.encoder, PrecomputedVectors):
            self.look_up = _make_lookup(self.name, self.encoder.find(self.task), self.data.path)
            return
        if isinstance(self.encoder, BatcherEncoder):
            self.encoder.begin(self.task)
        if hasattr(self.encoder, "prepare"):
            with _blaming(f"encoder {self.name!r}, {self.task.name}: prepare"), self._watching():
                self.encoder.prepare(self._take(np.arange(sum(map(len, self.data.splits.values())))))

    def encode(self, rows: Rows, batch: str = "some sentences") -> NDArray[Any]:
        """Return the vectors (n, layers, dim) of some rows; the error of a wrong one names the batch."""
        return next(self.encode_blocks([rows], [batch]))

    def encode_blocks(
        self, blocks: Sequence[Rows], names: Sequence[str], dim: int | None = None
    ) -> Iterator[NDArray[Any]]:
        """Yield the vectors (n, layers, dim) of blocks of rows, all of one dimension."""
        vectors = self._stream(blocks)
        for rows, batch in zip(blocks, names, strict=True):
            what = f"{batch} of {self.task.name}"
            with _blaming(f"encoder {self.name!r}, {what}: encode"), self._watching():
                block = next(vectors)
            matrix = as_matrix(self.name, what, len(rows), block, layers=self.layers, dim=dim, dtype=self.dtype)
            dim = matrix.shape[2]
            yield matrix

    def _stream(self, blocks: Iterable[Rows]) -> Iterator[Any]:
        """Yield what the encoder gives for blocks of rows; one that offers it gets all of them, to work ahead."""
        if self.look_up is not None:
            return map(self.look_up, blocks)
        sentences = map(self._take, blocks)
        stream = getattr(self.encoder, "encode_stream", None)
        return stream(sentences) if stream is not None else map(self.encoder.encode, sentences)

    def _take(self, rows: Rows) -> list[list[str]]:
        """Return the sentences in some rows."""
        ends = np.cumsum([len(self.data.splits[split]) for split in SPLITS])
        splits = list(SPLITS)
        found: list[list[str]] = []
        for row in rows.tolist():
            place = int(np.searchsorted(ends, row, side="right"))
            first = row - (int(ends[place - 1]) if place else 0)
            found += self.data.sentences(splits[place], range(first, first + 1))
        return found

    def _watching(self) -> AbstractContextManager[None]:
        return nullcontext() if self.reads is None else self.reads.watching()


@contextmanager
def _blaming(what: str) -> Iterator[None]:
    """Turn any error in a user's encoder into one line."""
    try:
        yield
    except ProbingError:
        raise
    except StopIteration:
        raise ProbingError(f"{what} failed: there are fewer batches of vectors than of sentences") from None
    except Exception as error:
        raise ProbingError(f"{what} failed: {type(error).__name__}: {error}") from error


def _make_lookup(name: str, stored: StoredArray, path: Path) -> Callable[[Rows], Any]:
    """Return a function that looks up rows, where vector i belongs to line i of the task file."""
    places = np.array([list(SPLITS).index(line.partition("\t")[0]) for _, line in iterate_lines(path)])
    order = np.argsort(places, kind="stable")
    if stored.shape[0] != len(order):
        raise ProbingError(
            f"encoder {name!r}: {path} has {len(order)} lines, but there are vectors for {stored.shape[0]}"
        )
    matrix = stored.load()

    def look_up(rows: Rows) -> NDArray[Any]:
        block = matrix[order[rows]]
        if len(wrong := np.flatnonzero(~np.isfinite(block).all(1))):
            line = order[rows[wrong[0]]] + 1
            raise ProbingError(
                f"encoder {name!r}: the vector of {path}:{line} is not finite (it holds NaN or infinity)"
            )
        return block

    return look_up
