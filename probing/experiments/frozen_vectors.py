"""The frozen vectors of a run's cells: computed where missing or stale, else checked."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from msgspec import structs

from probing.display import Display, format_seconds
from probing.encoders import Blocks, Recipe, VectorEntry, check, embed
from probing.experiments.cells import Cell
from probing.experiments.fitting import Probed
from probing.tasks import load_task


@dataclass(slots=True, kw_only=True)
class FrozenVectors:
    """The vectors that cells need, by the folders of their entries in the cache."""

    recipes: dict[Path, Recipe]
    device: torch.device
    display: Display
    force: bool = False
    """Whether vectors that are in the cache are computed anew."""
    started: float = field(default_factory=time.time)
    _ready: set[Path] = field(default_factory=set)

    def meet(self, cells: Sequence[Cell]) -> None:
        """Make the vectors of encoders that were never used here: only then it is known which files they read."""
        self.provide(cell for cell in cells if self._is_new(cell))

    def _is_new(self, cell: Cell) -> bool:
        if not isinstance(cell.method, Probed):
            return False
        reads = self.recipes[cell.method.vectors.folder].reads
        return reads is not None and not reads.is_known

    def identify(self, cells: Iterable[Cell]) -> list[Cell]:
        """Return the cells with versions that cover the files that their encoders read."""
        versions = {id(recipe): recipe.full_version for recipe in self.recipes.values()}

        def identify(cell: Cell) -> Cell:
            if not isinstance(cell.method, Probed):
                return cell
            version = versions[id(self.recipes[cell.method.vectors.folder])]
            model = structs.replace(cell.identity.model, version=version)
            return dataclasses.replace(cell, identity=structs.replace(cell.identity, model=model))

        return [identify(cell) for cell in cells]

    def provide(self, cells: Iterable[Cell]) -> None:
        """Compute the vectors that cells need, and check those that are there; each encoder is loaded once."""
        groups: dict[int, dict[Path, tuple[Recipe, Cell, VectorEntry]]] = {}
        for cell in cells:
            if isinstance(cell.method, Probed) and cell.method.vectors.folder not in self._ready:
                entry = cell.method.vectors
                recipe = self.recipes[entry.folder]
                groups.setdefault(id(recipe), {}).setdefault(entry.folder, (recipe, cell, entry))
        for group in groups.values():
            self._provide_group(list(group.values()))
            self._ready |= group.keys()

    def recheck(self, cells: Iterable[Cell]) -> None:
        """Check vectors of finished cells: those of one task for each of the user's encoders that tells no version."""
        chosen: dict[int, Cell] = {}
        ready = {id(self.recipes[folder]) for folder in self._ready}
        for cell in cells:
            if isinstance(cell.method, Probed) and cell.method.vectors.is_complete:
                recipe = self.recipes[cell.method.vectors.folder]
                if recipe.reads is not None and not recipe.tells_version and id(recipe) not in ready:
                    chosen.setdefault(id(recipe), cell)
        self.provide(chosen.values())

    def _provide_group(self, group: Sequence[tuple[Recipe, Cell, VectorEntry]]) -> None:
        """Make the vectors of one encoder ready, task by task."""
        recipe = group[0][0]
        needed = [(cell, entry, self._is_needed(recipe, cell, entry)) for recipe, cell, entry in group]
        encoder, checked = recipe.load(self.device), []
        for cell, entry, is_needed in needed:
            if is_needed:
                self._embed(recipe, encoder, cell, entry)
            else:
                checked.append(check(entry, recipe, encoder, cell.task, load_task(cell.path)))
        if any(checked):
            tasks = "" if len(checked) == 1 else f" of each of {len(checked)} tasks"
            self.display.say(f"vectors of {recipe.label} from the cache, checked on {max(checked)} sentences{tasks}")

    def _is_needed(self, recipe: Recipe, cell: Cell, entry: VectorEntry) -> bool:
        """Return whether vectors have to be computed, and say why if they were there."""
        name = f"{cell.task.name} {recipe.label}"
        if self.force and entry.is_older_than(self.started):  # not what another process has just made anew
            entry.discard()
        if not entry.is_complete:
            return True
        if changed := entry.find_changed():
            self.display.say(f"{name}: {changed[0]} has changed; the vectors are computed again")
            entry.discard()
            return True
        damaged = entry.find_damaged(Blocks.cut(load_task(cell.path)))
        if damaged:
            blocks = "1 block" if len(damaged) == 1 else f"{len(damaged)} blocks"
            self.display.warn(f"{name}: {blocks} of cached vectors are damaged and computed again")
        return bool(damaged)

    def _embed(self, recipe: Recipe, encoder: Any, cell: Cell, entry: VectorEntry) -> None:
        task = load_task(cell.path)
        total, started = sum(len(split) for split in task.splits.values()), time.monotonic()
        try:
            with self.display.counting(f"{cell.task.name} {recipe.label}: embedding", total) as on_progress:
                embed(entry, recipe, encoder, cell.task, task, on_progress)
        except KeyboardInterrupt:
            self.display.warn(f"stopped while {cell.task.name} was embedded. The same command goes on where it stopped")
            raise
        took = format_seconds(time.monotonic() - started)
        self.display.say(f"{cell.task.name} {recipe.label}: {total:,} sentences embedded, {took}")
