"""Existing task files that a build uses as they are, or extends with training instances from the trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from probing.corpus.builders.annotations import bag_of_words
from probing.corpus.instances import Instance, Splits, format_splits
from probing.errors import ProbingError
from probing.tasks import SPLITS, Task, get_task, iterate_instances


@dataclass(frozen=True, slots=True)
class Given:
    """An existing task file."""

    path: Path
    splits: Splits
    extended: bool
    """Whether instances from the trees are added to its training split."""

    def extend(self, built: Splits) -> Splits:
        """Return the file's instances and, for training, all built instances whose sentences are not in the file."""
        own = {bag_of_words(instance.tokens) for split in SPLITS for instance in self.splits[split]}
        fresh = [i for split in SPLITS for i in built[split] if bag_of_words(i.tokens) not in own]
        return {**self.splits, "tr": [*self.splits["tr"], *(Instance(i.label, i.tokens) for i in fresh)]}

    def write(self, path: Path, splits: Splits) -> None:
        """Write the task file; one that is not extended is copied byte by byte."""
        path.write_bytes(format_splits(splits).encode() if self.extended else self.path.read_bytes())

    def describe(self, splits: Splits, failure: str | None) -> dict[str, Any]:
        """Return the datasheet's settings: the origin of the lines, and the reason if the trees added none."""
        added = len(splits["tr"]) - len(self.splits["tr"])
        more: dict[str, Any] = {"training_instances_added_from_the_trees": added} if self.extended else {}
        return {"lines_taken_from": self.path.name, **more, **({"none_added_because": failure} if failure else {})}


def read_given(given: Sequence[Path], extended: Sequence[Path], tasks: Sequence[Task]) -> dict[str, Given]:
    """Return task -> file; a file's name determines its task, which must be one of those to be built."""
    found: dict[str, Given] = {}
    for path, is_extended in [*((path, False) for path in given), *((path, True) for path in extended)]:
        name = _find_task(path, tasks)
        if name in found:
            raise ProbingError(f"{path}: there is another file for task {name}, {found[name].path}. Name one of them")
        splits: Splits = {split: [] for split in SPLITS}
        for split, label, tokens in iterate_instances(path):
            splits[split].append(Instance(label, tokens))
        labels = {instance.label for instance in splits["tr"]}
        if len(labels) == 1 and not is_extended:  # the trees may add another label
            raise ProbingError(f"{path}: all lines have the label {labels.pop()!r}. A task needs two labels or more")
        found[name] = Given(path, splits, is_extended)
    return found


def _find_task(path: Path, tasks: Sequence[Task]) -> str:
    try:
        name = get_task(path.stem).name
    except ProbingError as error:
        raise ProbingError(
            f"{path}: the file's name must be that of its task, as in past_present.txt: {error}"
        ) from None
    if name not in [task.name for task in tasks]:
        raise ProbingError(f"{path}: task {name} is not among those to be built. Add --task {name}, or leave it out")
    return name
