"""Frozen vectors: computed once, kept as safetensors, read by mapping the files into memory.

An entry of the cache is a folder, called after a hash of everything that is known to change the vectors before the
encoder is loaded. The files that the encoder was seen to read are noted in the entry: if one of them has changed, the
vectors are stale. While an entry is being filled its name ends in `.partial`, so that an interrupted embedding goes on
where it stopped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from torch import Tensor

from probing.encoders.blocks import Blocks
from probing.encoders.encoder import Recipe
from probing.encoders.known_reads import find_changed
from probing.encoders.vector_files import VectorFiles
from probing.errors import ProbingError
from probing.storage import cache_folder, hash_json, refuse_links, remove_folder, writing
from probing.tasks import SPLITS, IndexedTask

FORMAT = 4
"""Version of an entry's form."""


@dataclass(frozen=True, slots=True)
class VectorEntry:
    """The vectors of one encoder for one task file."""

    folder: Path
    about: Mapping[str, Any]
    places: Mapping[str, Path] = field(default_factory=dict)
    """Files of the vectors, by name, that lie elsewhere, on another machine."""

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

    def find_damaged(self, blocks: Blocks) -> list[int]:
        """Return the numbers of the blocks of a complete entry that are not what was written."""
        return VectorFiles.check(self.folder, self.names, blocks, self.about["dtype"])

    def find_changed(self) -> list[str]:
        """Return the files that were read for the entry's vectors, whole or not, and have changed since."""
        for folder in (self.folder, self.partial):
            with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
                reads = json.loads((folder / "about.json").read_text("utf-8"))["reads"]
                return find_changed({str(path): str(sha256) for path, sha256 in reads.items()})
        return []

    def is_older_than(self, moment: float) -> bool:
        """Return whether the vectors, whole or not, were made before a moment in seconds since the epoch."""
        files = [folder / "about.json" for folder in (self.folder, self.partial)]
        return not any(file.is_file() and file.stat().st_mtime >= moment for file in files)

    def discard(self) -> None:
        """Delete the vectors, whole or not, unless another process is just computing them."""
        refuse_links(self.folder.parent, self.folder, self.partial)
        if not self.folder.exists() and not self.partial.exists():
            return
        with writing(self.folder, "vectors"), suppress(Timeout), FileLock(f"{self.partial}.lock", timeout=0):
            # First of all this file: without it the entry does not count as complete.
            (self.folder / "about.json").unlink(missing_ok=True)
            for folder in (self.folder, self.partial):
                remove_folder(folder)

    @property
    def names(self) -> list[str]:
        """Names of the files, one for each layer."""
        return [_file_name(layer) for layer in self.about["layers"] or [None]]

    def file(self, layer: int | None) -> Path:
        """Return the file of a layer's vectors."""
        name = _file_name(layer)
        return self.places.get(name, self.folder / name)

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


def _file_name(layer: int | None) -> str:
    return "vectors.safetensors" if layer is None else f"layer-{layer}.safetensors"
