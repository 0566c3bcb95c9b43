"""Frozen vectors: computed once, kept as safetensors, read by mapping the files into memory.

An entry of the cache is a folder, called after a hash of everything that can change the vectors. While it is being
filled its name ends in `.partial`, and `progress.json` says how many rows are there, so that an interrupted embedding
goes on where it stopped. The rows of a split are a tensor `tr`, `va` or `te`.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray
from torch import Tensor

from probing.cache import cache_folder
from probing.dataset import SPLITS, IndexedTask, iterate_lines
from probing.encoders.encoder import Recipe, as_matrix
from probing.errors import ProbingError
from probing.results import write_atomically
from probing.tasks import Task

FORMAT = 1
"""Rises when entries change their form."""
BATCH = 256
"""Sentences that an encoder is given at a time."""
SECONDS_BETWEEN_SAVES = 2.0
DTYPES = {"float32": "F32", "float16": "F16"}
"""How vectors can be kept: numpy's name -> safetensors' name."""


@dataclass(frozen=True, slots=True)
class Entry:
    """The vectors of one encoder for one task file."""

    folder: Path
    about: Mapping[str, Any]

    @classmethod
    def build(cls, recipe: Recipe, data: IndexedTask, dtype: str) -> Entry:
        """Return where the vectors belong; they may not be there yet."""
        if dtype not in DTYPES:
            raise ProbingError(f"unknown dtype {dtype!r}. Known: {', '.join(DTYPES)}")
        about = {
            "format": FORMAT,
            "encoder": recipe.name,
            "version": recipe.version,
            "settings": dict(recipe.settings),
            "layers": recipe.layers and list(recipe.layers),
            "weights_seed": recipe.weights_seed,
            "dtype": dtype,
            "data": data.sha256,
        }
        key = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()
        return cls(cache_folder("vectors") / key[:32], about)

    @property
    def partial(self) -> Path:
        return self.folder.with_name(f"{self.folder.name}.partial")

    @property
    def is_complete(self) -> bool:
        return (self.folder / "about.json").is_file()

    def open(self, layer: int | None) -> dict[str, Tensor]:
        """Map the splits' vectors (S, dim) into memory."""
        from safetensors import SafetensorError, safe_open

        path = self.folder / _file_name(layer)
        try:
            with safe_open(path, framework="pt") as tensors:
                return {split: tensors.get_tensor(split) for split in SPLITS}
        except (OSError, SafetensorError) as error:
            raise ProbingError(
                f"{path}: the cached vectors cannot be read ({error}). `probe cache clear` and start the run again"
            ) from None


def embed(
    entry: Entry,
    encoder: Any,
    task: Task,
    data: IndexedTask,
    on_progress: Callable[[int], None] = lambda rows: None,
) -> None:
    """Fill the entry with the vectors of all sentences of a task, going on where an earlier attempt stopped."""
    entry.folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{entry.partial}.lock"):  # another process may be at the same vectors
        if entry.is_complete:
            return
        produce = _make_producer(entry, encoder, task, data)
        total = sum(len(split) for split in data.splits.values())
        with _Writer.open(entry, data) as writer:
            while writer.rows < total:
                stop = min(writer.rows + BATCH, total)
                writer.append(produce(writer.rows, stop), stop - writer.rows)
                on_progress(writer.rows)
        about = {**entry.about, "task": task.name, "rows": total, "dim": writer.dim}
        write_atomically(entry.partial / "about.json", json.dumps(about, indent=1) + "\n")
        (entry.partial / "progress.json").unlink(missing_ok=True)
        entry.partial.rename(entry.folder)
    Path(f"{entry.partial}.lock").unlink(missing_ok=True)


def _make_producer(entry: Entry, encoder: Any, task: Task, data: IndexedTask) -> Callable[[int, int], NDArray[Any]]:
    """Return a function that gives the checked vectors (n, layers, dim) of a range of sentences."""
    name, layers = entry.about["encoder"], entry.about["layers"]
    if hasattr(encoder, "rows"):
        matrix, order = encoder.rows(task, data.path), _line_order(data.path)
        if len(matrix) != len(order):
            raise ProbingError(
                f"encoder {name!r}: {data.path} has {len(order)} lines, but there are vectors for {len(matrix)}"
            )
        return lambda start, stop: as_matrix(
            name, _describe_batch(task, start, stop), stop - start, matrix[order[start:stop]], layers=None
        )
    sentences = list(_sentences(data))
    if hasattr(encoder, "prepare"):
        encoder.prepare(sentences)

    def produce(start: int, stop: int) -> NDArray[Any]:
        batch = _describe_batch(task, start, stop)
        try:
            vectors = encoder.encode(sentences[start:stop])
        except ProbingError:
            raise
        except Exception as error:
            raise ProbingError(f"encoder {name!r}, {batch}: encode failed: {type(error).__name__}: {error}") from error
        return as_matrix(name, batch, stop - start, vectors, layers=layers and len(layers))

    return produce


def _describe_batch(task: Task, start: int, stop: int) -> str:
    return f"batch {start // BATCH + 1} of {task.name} (sentences {start + 1} to {stop})"


def _sentences(data: IndexedTask) -> Iterator[list[str]]:
    """Yield the sentences of train, dev and test."""
    for split in SPLITS:
        packed = data.splits[split]
        for start, stop in zip(packed.offsets[:-1].tolist(), packed.offsets[1:].tolist(), strict=True):
            yield [data.words[word - 1] for word in packed.tokens[start:stop].tolist()]


def _line_order(path: Path) -> NDArray[np.int64]:
    """Return the line (from 0) of each sentence of train, dev and test."""
    places = np.array([list(SPLITS).index(line.partition("\t")[0]) for _, line in iterate_lines(path)])
    return np.argsort(places, kind="stable")


def _file_name(layer: int | None) -> str:
    return "vectors.safetensors" if layer is None else f"layer-{layer}.safetensors"


class _Writer:
    """Files with room for all rows, filled from the first row on."""

    def __init__(self, entry: Entry, data: IndexedTask, rows: int, dim: int) -> None:
        self.entry, self.data, self.rows, self.dim = entry, data, rows, dim
        self.layers: list[int | None] = entry.about["layers"] or [None]
        self.saved = time.monotonic()
        self.matrices = [self._map(layer, "r+") for layer in self.layers] if dim else []

    @classmethod
    @contextmanager
    def open(cls, entry: Entry, data: IndexedTask) -> Iterator[_Writer]:
        """Give a writer that goes on where the last one stopped, and leaves its place when it is interrupted."""
        try:
            progress = json.loads((entry.partial / "progress.json").read_text(encoding="utf-8"))
            writer = cls(entry, data, int(progress["rows"]), int(progress["dim"]))
        except (OSError, ValueError, KeyError, TypeError):  # nothing there yet, or damaged
            shutil.rmtree(entry.partial, ignore_errors=True)
            entry.partial.mkdir(parents=True)
            writer = cls(entry, data, 0, 0)
        try:
            yield writer
        finally:
            writer.save()

    def append(self, vectors: NDArray[Any], count: int) -> None:
        """Write the vectors (n, layers, dim) of the next rows."""
        name, dim = self.entry.about["encoder"], vectors.shape[2]
        batch = f"batch {self.rows // BATCH + 1} (sentences {self.rows + 1} to {self.rows + count})"
        if not self.matrices:
            self.dim = dim
            for layer in self.layers:
                self._create(layer)
            self.matrices = [self._map(layer, "r+") for layer in self.layers]
        if dim != self.dim:
            raise ProbingError(f"encoder {name!r}, {batch}: vectors of dimension {dim}, but {self.dim} before")
        for place, matrix in enumerate(self.matrices):
            with np.errstate(over="ignore"):
                matrix[self.rows : self.rows + count] = vectors[:, place]
            if not np.isfinite(matrix[self.rows : self.rows + count]).all():
                kept = self.entry.about["dtype"]
                raise ProbingError(f"encoder {name!r}, {batch}: a vector holds a number too large for {kept}")
        self.rows += count
        if time.monotonic() - self.saved > SECONDS_BETWEEN_SAVES:
            self.save()

    def save(self) -> None:
        """Bring the rows to disk, then the note of how many there are."""
        if not self.matrices:
            return
        for matrix in self.matrices:
            matrix.flush()
        write_atomically(self.entry.partial / "progress.json", json.dumps({"rows": self.rows, "dim": self.dim}))
        self.saved = time.monotonic()

    def _header(self) -> bytes:
        width = self.dim * np.dtype(self.entry.about["dtype"]).itemsize
        tensors, start = {}, 0
        for split in SPLITS:
            rows = len(self.data.splits[split])
            tensors[split] = {
                "dtype": DTYPES[self.entry.about["dtype"]],
                "shape": [rows, self.dim],
                "data_offsets": [start, start + rows * width],
            }
            start += rows * width
        text = json.dumps(tensors).encode()
        text += b" " * (-len(text) % 8)
        return len(text).to_bytes(8, "little") + text

    def _create(self, layer: int | None) -> None:
        header = self._header()
        path = self.entry.partial / _file_name(layer)
        total = sum(len(split) for split in self.data.splits.values())
        width = self.dim * np.dtype(self.entry.about["dtype"]).itemsize
        with path.open("wb") as file:
            file.write(header)
            file.truncate(len(header) + total * width)

    def _map(self, layer: int | None, mode: Any) -> np.memmap[Any, Any]:
        total = sum(len(split) for split in self.data.splits.values())
        path = self.entry.partial / _file_name(layer)
        return np.memmap(path, self.entry.about["dtype"], mode, offset=len(self._header()), shape=(total, self.dim))


@dataclass(frozen=True, slots=True)
class Cached:
    """What `probe cache list` shows of an entry."""

    encoder: str
    task: str
    rows: int
    dim: int
    layers: int
    dtype: str
    size: int
    """In bytes."""
    folder: Path
    complete: bool


def list_cached() -> list[Cached]:
    """Return the entries of the cache, whole or not, the largest first."""
    entries = []
    for folder in cache_folder("vectors").glob("*"):
        if not folder.is_dir():
            continue
        size = sum(path.stat().st_size for path in folder.iterdir())
        try:
            about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
            entries.append(
                Cached(
                    about["encoder"],
                    about["task"],
                    about["rows"],
                    about["dim"],
                    len(about["layers"] or [None]),
                    about["dtype"],
                    size,
                    folder,
                    True,
                )
            )
        except (OSError, ValueError, KeyError, TypeError):
            entries.append(Cached("?", "?", 0, 0, 0, "?", size, folder, False))
    return sorted(entries, key=lambda entry: (-entry.size, str(entry.folder)))


def describe_cached() -> list[tuple[str, str, int, int, int, str, float, str]]:
    """Return the entries as rows of a table."""
    return [
        (
            entry.encoder if entry.complete else "(not finished)",
            entry.task,
            entry.rows,
            entry.dim,
            entry.layers,
            entry.dtype,
            entry.size / 1e6,
            entry.folder.name[:12],
        )
        for entry in list_cached()
    ]


def clear_cached(encoder: str | None = None) -> tuple[int, int]:
    """Delete the entries of an encoder, or all; return how many there were and how many bytes they took."""
    chosen = [entry for entry in list_cached() if encoder in (None, entry.encoder)]
    if encoder is not None and not chosen:
        known = sorted({entry.encoder for entry in list_cached() if entry.complete})
        raise ProbingError(f"no cached vectors of encoder {encoder!r}. Cached: {', '.join(known) or 'nothing'}")
    for entry in chosen:
        shutil.rmtree(entry.folder)
    return len(chosen), sum(entry.size for entry in chosen)
