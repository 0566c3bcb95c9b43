"""Frozen vectors: computed once, kept as safetensors, read by mapping the files into memory.

An entry of the cache is a folder, called after a hash of everything that can change the vectors. While it is being
filled its name ends in `.partial`, so that an interrupted embedding goes on where it stopped.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray
from torch import Tensor

from probing.encoders import vector_files
from probing.encoders.array_files import StoredArray
from probing.encoders.encoder import Recipe, as_matrix
from probing.encoders.precomputed import PrecomputedVectors
from probing.encoders.senteval import BatcherEncoder
from probing.encoders.vector_files import PROGRESS, VectorFiles
from probing.errors import ProbingError
from probing.storage import cache_folder, hash_json, refuse_links, remove_folder, write_atomically, writing
from probing.tasks import SPLITS, IndexedTask, Task, iterate_lines

FORMAT = 3
"""Version of an entry's form."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class VectorEntry:
    """The vectors of one encoder for one task file."""

    folder: Path
    about: Mapping[str, Any]

    @classmethod
    def build(cls, recipe: Recipe, data: IndexedTask, dtype: str) -> VectorEntry:
        """Return the entry of a recipe and a task file; its vectors may not be there yet.

        If all layers of an encoder are there, they serve for any of them.
        """
        about = {
            "format": FORMAT,
            "encoder": recipe.name,
            "version": recipe.version,
            "settings": dict(recipe.settings),
            "weights_seed": recipe.weights_seed,
            "dtype": dtype,
            "data": data.sha256,
        }
        everything = cls._of_layers(about, recipe.all_layers)
        return everything if everything.is_complete else cls._of_layers(about, recipe.layers)

    @classmethod
    def _of_layers(cls, about: Mapping[str, Any], layers: tuple[int, ...] | None) -> VectorEntry:
        about = {**about, "layers": layers and list(layers)}
        return cls(cache_folder("vectors") / hash_json(about)[:32], about)

    @property
    def partial(self) -> Path:
        return self.folder.with_name(f"{self.folder.name}.partial")

    @property
    def is_complete(self) -> bool:
        return os.path.isfile(self.folder / "about.json")  # never an error, even if the cache cannot be read

    def find_damaged(self, data: IndexedTask) -> list[int]:
        """Return the numbers of the blocks of a complete entry that are not what was written."""
        return VectorFiles.check(self.folder, *self._describe_files(data))

    def _describe_files(self, data: IndexedTask) -> tuple[list[str], dict[str, int], str]:
        """Return the names of the files, the numbers of sentences by split, and the type of the vectors."""
        names = [_file_name(layer) for layer in self.about["layers"] or [None]]
        return names, {split: len(data.splits[split]) for split in SPLITS}, self.about["dtype"]

    def file(self, layer: int | None) -> Path:
        """Return the file of a layer's vectors."""
        return self.folder / _file_name(layer)

    def open(self, layer: int | None) -> dict[str, Tensor]:
        """Map the splits' vectors (S, dim) into memory."""
        from safetensors import SafetensorError, safe_open

        path = self.file(layer)
        try:
            with safe_open(path, framework="pt") as tensors:
                return {split: tensors.get_tensor(split) for split in SPLITS}
        except (OSError, SafetensorError) as error:
            raise ProbingError(
                f"{path}: the cached vectors cannot be read ({error}). `probe cache clear` and start the run again"
            ) from None


def embed(
    entry: VectorEntry,
    encoder: Any,
    task: Task,
    data: IndexedTask,
    on_progress: Callable[[int], None] = lambda rows: None,
) -> None:
    """Fill the entry with the vectors of all sentences of a task, going on where an earlier attempt stopped."""
    name, layers, dtype = (entry.about[key] for key in ("encoder", "layers", "dtype"))
    refuse_links(entry.folder.parent, entry.folder, entry.partial)
    with _lock(entry.partial, f"{task.name} {name}"):
        if entry.is_complete and not entry.find_damaged(data):  # another process was quicker
            return
        if entry.is_complete:
            entry.folder.rename(entry.partial)
        total, block = sum(len(data.splits[split]) for split in SPLITS), vector_files.BLOCK
        with VectorFiles.open(entry.partial, *entry._describe_files(data)) as files:
            about = {**entry.about, "task": task.name, "sentences": total}
            with writing(entry.partial, "vectors"):
                write_atomically(entry.partial / "about.json", json.dumps(about, indent=1) + "\n")
            encode = _make_encode(name, encoder, task, data)

            def compute(number: int) -> NDArray[Any]:
                start, stop = number * block, min((number + 1) * block, total)
                batch = f"batch {number + 1} of {task.name} (sentences {start + 1} to {stop})"
                with _blaming(f"encoder {name!r}, {batch}: encode"):
                    vectors = encode(start, stop)
                shape: dict[str, Any] = {"layers": layers and len(layers), "dim": files.dim or None, "dtype": dtype}
                return as_matrix(name, batch, stop - start, vectors, **shape)

            for number in files.find_damaged():
                files.rewrite(number, compute(number))
            on_progress(files.rows)
            for number in range(-(-files.rows // block), -(-total // block)):
                files.append(compute(number))
                on_progress(files.rows)
        remove_folder(entry.folder)  # the rest of an entry that was being deleted
        with writing(entry.folder, "vectors"):
            entry.partial.rename(entry.folder)


@contextmanager
def _lock(partial: Path, what: str) -> Iterator[None]:
    """Keep other processes from the same vectors; wait if another one is computing them."""
    lock = FileLock(f"{partial}.lock")
    with writing(partial.parent, "vectors"):
        partial.parent.mkdir(parents=True, exist_ok=True)
        try:
            held = lock.acquire(timeout=0)
        except Timeout:
            logger.info("%s: another process is embedding the same sentences; waiting for it", what)
            held = lock.acquire()
    with held:
        yield
        Path(lock.lock_file).unlink(missing_ok=True)  # after a failure it stays: another process may be waiting for it


@contextmanager
def _blaming(what: str) -> Iterator[None]:
    """Turn any error in a user's encoder into one line."""
    try:
        yield
    except ProbingError:
        raise
    except Exception as error:
        raise ProbingError(f"{what} failed: {type(error).__name__}: {error}") from error


def _make_encode(name: str, encoder: Any, task: Task, data: IndexedTask) -> Callable[[int, int], Any]:
    """Return a function that encodes a range of sentences."""
    if isinstance(encoder, PrecomputedVectors):
        return _make_lookup(name, encoder.find(task), data.path)
    if isinstance(encoder, BatcherEncoder):
        encoder.begin(task)
    if hasattr(encoder, "prepare"):
        with _blaming(f"encoder {name!r}, {task.name}: prepare"):
            encoder.prepare(list(_sentences(data, 0, sum(map(len, data.splits.values())))))
    return lambda start, stop: encoder.encode(list(_sentences(data, start, stop)))


def _make_lookup(name: str, stored: StoredArray, path: Path) -> Callable[[int, int], Any]:
    """Return a function that looks up a range of sentences, where row i belongs to line i of the task file."""
    places = np.array([list(SPLITS).index(line.partition("\t")[0]) for _, line in iterate_lines(path)])
    order = np.argsort(places, kind="stable")
    if stored.shape[0] != len(order):
        raise ProbingError(
            f"encoder {name!r}: {path} has {len(order)} lines, but there are vectors for {stored.shape[0]}"
        )
    matrix = stored.load()

    def look_up(start: int, stop: int) -> NDArray[Any]:
        block = matrix[order[start:stop]]
        if len(wrong := np.flatnonzero(~np.isfinite(block).all(1))):
            line = order[start + wrong[0]] + 1
            raise ProbingError(
                f"encoder {name!r}: the vector of {path}:{line} is not finite (it holds NaN or infinity)"
            )
        return block

    return look_up


def _sentences(data: IndexedTask, start: int, stop: int) -> Iterator[list[str]]:
    """Yield a range of the sentences of train, dev and test, in this order."""
    for split in SPLITS:
        size = len(data.splits[split])
        yield from data.sentences(split, range(max(start, 0), min(stop, size)))
        start, stop = start - size, stop - size


def _file_name(layer: int | None) -> str:
    return "vectors.safetensors" if layer is None else f"layer-{layer}.safetensors"


@dataclass(frozen=True, slots=True)
class Cached:
    """Facts about an entry, for `probe cache list`; of a damaged one, only its folder and size."""

    folder: Path
    size: int
    """Size in bytes."""
    encoder: str = "?"
    version: str = "?"
    task: str = "?"
    sentences: int = 0
    rows: int = 0
    """Number of sentences that are embedded."""
    dim: int = 0
    layers: int = 0
    dtype: str = "?"

    @classmethod
    def read(cls, folder: Path) -> Cached:
        """Return the facts about a folder of the cache."""
        size = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
        try:
            about = json.loads((folder / "about.json").read_text("utf-8"))
            noted = folder / PROGRESS
            progress = json.loads(noted.read_text("utf-8")) if noted.is_file() else {"rows": 0, "dim": 0}
            facts = {name: about[name] for name in ("encoder", "version", "task", "sentences", "dtype")}
            facts |= {"rows": progress["rows"], "dim": progress["dim"], "layers": len(about["layers"] or [None])}
            return cls(folder, size, **facts)
        except (OSError, ValueError, KeyError, TypeError):
            return cls(folder, size)

    @property
    def is_complete(self) -> bool:
        return 0 < self.sentences == self.rows


def list_cached() -> list[Cached]:
    """Return the entries of the cache, whole or not, the largest first."""
    entries = [Cached.read(folder) for folder in cache_folder("vectors").glob("*") if folder.is_dir()]
    return sorted(entries, key=lambda entry: (-entry.size, str(entry.folder)))


def describe_cached() -> list[tuple[str, str, str, int, int, str, float, str]]:
    """Return the entries as rows of a table."""
    return [
        (
            entry.encoder,
            entry.task,
            f"{entry.sentences}" if entry.is_complete else f"{entry.rows} of {entry.sentences}",
            entry.dim,
            entry.layers,
            entry.dtype,
            entry.size / 1e6,
            entry.folder.name[:12],
        )
        for entry in list_cached()
    ]


def clear_cached(encoder: str | None = None) -> tuple[int, int]:
    """Delete the entries of an encoder, or all; return their number and size in bytes."""
    entries = list_cached()
    chosen = [entry for entry in entries if encoder in (None, entry.encoder)]
    if encoder is not None and not chosen:
        known = sorted({entry.encoder for entry in entries} - {"?"})
        raise ProbingError(f"no cached vectors of encoder {encoder!r}. Cached: {', '.join(known) or 'nothing'}")
    for entry in chosen:
        _delete(entry)
    return len(chosen), sum(entry.size for entry in chosen)


def forget_vectors(version: str) -> None:
    """Delete the vectors of an encoder's version."""
    for entry in list_cached():
        if entry.version == version:
            _delete(entry)


def _delete(entry: Cached) -> None:
    refuse_links(entry.folder.parent, entry.folder)
    lock = FileLock(f"{entry.folder}.lock")
    try:
        with lock.acquire(timeout=0):
            # First of all this file: without it the entry does not count as complete.
            (entry.folder / "about.json").unlink(missing_ok=True)
            shutil.rmtree(entry.folder)
            Path(lock.lock_file).unlink(missing_ok=True)
    except Timeout:
        raise ProbingError(
            f"{entry.task} {entry.encoder} is being embedded by another process. Wait for it, or stop it first"
        ) from None
