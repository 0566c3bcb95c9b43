"""Embedding: the vectors of a task are computed and kept, or those in the cache are checked against their encoder."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from filelock import FileLock, Timeout
from numpy.typing import NDArray
from torch import Tensor

from probing.encoders.blocks import Blocks, Rows
from probing.encoders.encoder import Recipe
from probing.encoders.precomputed import PrecomputedVectors
from probing.encoders.prepared_encoder import PreparedEncoder
from probing.encoders.vector_cache import VectorEntry
from probing.encoders.vector_check import Agreement, check_rows, choose_rows, find_tolerance
from probing.encoders.vector_files import VectorFiles
from probing.errors import ProbingError
from probing.storage import refuse_links, remove_folder, write_atomically, writing
from probing.tasks import SPLITS, IndexedTask, Task

logger = logging.getLogger(__name__)


def embed(
    entry: VectorEntry,
    recipe: Recipe,
    encoder: Any,
    task: Task,
    data: IndexedTask,
    on_progress: Callable[[int], None] = lambda rows: None,
) -> None:
    """Fill the entry with the vectors of all sentences of a task, going on where an earlier attempt stopped.

    What an earlier attempt left is checked first; if the encoder has changed since, it is not used.
    """
    refuse_links(entry.folder.parent, entry.folder, entry.partial)
    with _lock(entry.partial, f"{task.name} {recipe.name}"):
        blocks = Blocks.cut(data, getattr(encoder, "batch_size", None) or 1)
        if entry.is_complete and not entry.find_damaged(blocks):  # another process was quicker
            return
        if entry.is_complete:
            entry.folder.rename(entry.partial)
        if entry.partial.exists() and entry.find_changed():
            remove_folder(entry.partial)
        prepared = _prepare(entry, recipe, encoder, task, data)
        reads = recipe.reads.hash_files() if recipe.reads is not None else {}
        try:
            if not _fill(entry, prepared, blocks, reads, on_progress):
                remove_folder(entry.partial)
                _fill(entry, prepared, blocks, reads, on_progress)
        finally:
            if recipe.reads is not None:
                recipe.reads.save()
            if not (entry.partial / "progress.json").exists():  # not a single block
                remove_folder(entry.partial)
        if recipe.reads is not None:
            _describe(entry, prepared, blocks, {**recipe.reads.hash_files(), **reads})
        remove_folder(entry.folder)  # the rest of an entry that was being deleted
        with writing(entry.folder, "vectors"):
            entry.partial.rename(entry.folder)


def check(entry: VectorEntry, recipe: Recipe, encoder: Any, task: Task, data: IndexedTask) -> int:
    """Compare the vectors of a complete entry with those that the encoder gives now; return of how many sentences."""
    if isinstance(encoder, PrecomputedVectors):  # the file's hash says enough
        return 0
    prepared = _prepare(entry, recipe, encoder, task, data)
    blocks = Blocks.cut(data, getattr(encoder, "batch_size", None) or 1)
    rows = np.sort(choose_rows(blocks.order))
    before = np.stack([_read(entry.open(layer), rows) for layer in recipe.layers or [None]], 1)
    finding = check_rows(rows, before, prepared.encode, blocks, find_tolerance(entry.about))
    if recipe.reads is not None:
        recipe.reads.save()
    if finding is Agreement.OTHER:
        raise ProbingError(
            f"encoder {recipe.name!r} gives {finding.value}: the cached vectors of {task.name} are not those of "
            f"{len(rows)} sentences that were encoded again. Something changed that its version does not tell, such as "
            "weights that compiled code reads. Compute them anew with --force, and give the encoder a version attribute"
        )
    warn(recipe.name, task, finding)
    return len(rows)


def _prepare(entry: VectorEntry, recipe: Recipe, encoder: Any, task: Task, data: IndexedTask) -> PreparedEncoder:
    prepared = PreparedEncoder(
        name=recipe.name,
        task=task,
        encoder=encoder,
        data=data,
        layers=None if recipe.layers is None else len(recipe.layers),
        dtype=entry.about["dtype"],
        reads=recipe.reads,
    )
    prepared.prepare()
    return prepared


def _read(tensors: Mapping[str, Tensor], rows: Rows) -> NDArray[Any]:
    """Return the vectors (n, dim) of rows in rising order, from the tensors of the splits."""
    found, first = [], 0
    for split in SPLITS:
        here = rows[(rows >= first) & (rows < first + len(tensors[split]))] - first
        found.append(tensors[split][torch.from_numpy(here)].float().numpy())
        first += len(tensors[split])
    return np.concatenate(found)


def _fill(
    entry: VectorEntry,
    prepared: PreparedEncoder,
    blocks: Blocks,
    reads: Mapping[str, str],
    on_progress: Callable[[int], None],
) -> bool:
    """Compute the blocks that are missing; return whether those that were there are still the encoder's."""
    tolerance = find_tolerance(entry.about)
    with VectorFiles.open(entry.partial, entry.names, blocks, entry.about["dtype"]) as files:
        cut = list(files.blocks)
        names = [f"batch {number} of {len(cut)}" for number in range(1, len(cut) + 1)]
        damaged = files.find_damaged()
        safe = [rows for number, rows in enumerate(cut[: files.done]) if number not in damaged]
        if safe:
            rows = np.sort(choose_rows(np.concatenate(safe)))
            finding = check_rows(rows, files.read(rows), prepared.encode, files.blocks, tolerance)
            if finding is Agreement.OTHER:
                logger.info("%s %s: the encoder has changed; its sentences are embedded anew", *_names(prepared))
                return False
        _describe(entry, prepared, files.blocks, reads)
        for number in damaged:
            files.rewrite(number, cut[number], prepared.encode(cut[number], names[number]))
        on_progress(files.rows)
        first, start = not safe, files.done
        for rows, vectors in zip(
            cut[start:], prepared.encode_blocks(cut[start:], names[start:], files.dim or None), strict=True
        ):
            files.append(rows, vectors)
            on_progress(files.rows)
            if first:
                some = choose_rows(np.arange(len(rows)))
                finding = check_rows(rows[some], vectors[some], prepared.encode, files.blocks, tolerance)
                warn(prepared.name, prepared.task, finding)
                first = False
    return True


def _names(prepared: PreparedEncoder) -> tuple[str, str]:
    return prepared.task.name, prepared.name


def _describe(entry: VectorEntry, prepared: PreparedEncoder, blocks: Blocks, reads: Mapping[str, str]) -> None:
    """Write what the entry is, and what was read for it."""
    about = {**entry.about, "task": prepared.task.name, "sentences": blocks.total, "reads": dict(reads)}
    with writing(entry.partial, "vectors"):
        write_atomically(entry.partial / "about.json", json.dumps(about, indent=1) + "\n")


def warn(name: str, task: Task, finding: Agreement) -> None:
    """Name an encoder whose vectors are not a function of the sentence alone."""
    if finding is Agreement.NEVER_SAME:
        logger.warning(
            "warning: encoder %r gives %s for the same sentences of %s. Results hold for these vectors only. "
            "Is dropout on (call eval()), or a seed missing?",
            name,
            finding.value,
            task.name,
        )
    if finding is Agreement.BATCH:
        logger.warning("warning: encoder %r gives %s, in %s. Is padding masked?", name, finding.value, task.name)


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
