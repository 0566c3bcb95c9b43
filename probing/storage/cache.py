"""The cache folder: it holds what can be made again, such as the embedded data, task indices and compiled kernels."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from probing.errors import ProbingError
from probing.storage.folders import refuse_links
from probing.storage.temporary import make_temporary_folder

KINDS = ("vectors", "files", "explained", "shipped", "kernels", "parses", "parallel", "temporary", "checkpoints")
"""Kinds of files that commands keep: vectors of encoders, what is known of the files that encoders read, models of
explanations, files of runs on a cluster, compiled kernels, parses of raw text, segmented parallel text, what killed
processes were writing, and checkpoints of cells that were stopped. All but the checkpoints can be made again."""
VECTORS, FILES, EXPLAINED, SHIPPED, KERNELS, PARSES, PARALLEL, TEMPORARY, CHECKPOINTS = KINDS


class CacheError(ProbingError, OSError):
    """The cache cannot be written: an error where the cache is required, a warning where it is optional."""


def cache_folder(name: str) -> Path:
    """Return the folder of one kind of cached data (below XDG_CACHE_HOME on Linux); it may not exist yet."""
    from platformdirs import user_cache_path

    return user_cache_path("probing") / name


@contextmanager
def writing(folder: Path, what: str = "files") -> Iterator[None]:
    """Turn a system error while something is written to a folder of the cache into one line."""
    try:
        yield
    except CacheError:
        raise
    except OSError as error:
        raise CacheError(
            f"{folder}: {what} cannot be written ({error.strerror or error}). "
            "Make room or set XDG_CACHE_HOME to another folder, then start the same command again"
        ) from None


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Provide a temporary folder to fill, which becomes `target` at the end, whole or not at all.

    If another process was quicker, its folder stays.
    """
    try:
        refuse_links(target.parent, target)
    except ProbingError as error:
        raise CacheError(str(error)) from None
    with writing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = make_temporary_folder(target)
        try:
            yield temporary
            temporary.chmod(0o755)
            try:
                os.rename(temporary, target)
            except OSError:
                if not target.is_dir():
                    raise
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
