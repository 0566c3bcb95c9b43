"""Where things are kept that can be made again: the embedded data, indexed task files, compiled kernels."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def cache_folder(name: str) -> Path:
    """Return the folder of one kind of cached thing (below XDG_CACHE_HOME on Linux); it may not exist yet."""
    from platformdirs import user_cache_path

    return user_cache_path("probing") / name


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Give a temporary folder to fill, which becomes `target` at the end, whole or not at all.

    Where another process was quicker, its folder stays.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
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
