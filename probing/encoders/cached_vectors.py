"""The entries of the cache of vectors, listed and deleted."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from probing.encoders.vector_files import PROGRESS
from probing.errors import ProbingError
from probing.storage import cache_folder, refuse_links


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
    folders = [folder for folder in cache_folder("vectors").glob("*") if folder.is_dir()]
    entries = [Cached.read(folder) for folder in folders if any(folder.iterdir())]  # an empty one is nothing
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
