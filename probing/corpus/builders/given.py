"""Task files that are there already: they are taken as they are, or extended by what the trees give."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from probing.corpus.builders.facts import bag_of_words
from probing.corpus.builders.sampling import SPLITS, Instance, Splits
from probing.dataset import iterate_instances
from probing.errors import ProbingError
from probing.tasks import get_task


@dataclass(frozen=True, slots=True)
class Given:
    """A task file of SentEval's format."""

    path: Path
    splits: Splits
    extended: bool
    """Whether its training split is to get what the trees give besides."""

    def extend(self, built: Splits) -> Splits:
        """Return the lines of the file and, for training, all instances built from sentences that it does not have."""
        own = {bag_of_words(instance.tokens) for split in SPLITS for instance in self.splits[split]}
        fresh = [i for split in SPLITS for i in built[split] if bag_of_words(i.tokens) not in own]
        return {**self.splits, "tr": [*self.splits["tr"], *(Instance(i.label, i.tokens) for i in fresh)]}

    def describe(self, splits: Splits) -> dict[str, Any]:
        """Return what a datasheet says of where the lines come from."""
        added = len(splits["tr"]) - len(self.splits["tr"])
        more = {"training_instances_added_from_the_trees": added} if self.extended else {}
        return {"lines_taken_from": self.path.name, **more}


def read_given(given: Iterable[Path], extended: Sequence[Path]) -> dict[str, Given]:
    """Return the files by their tasks, which are known by the files' names."""
    found: dict[str, Given] = {}
    for path in [*given, *extended]:
        name = get_task(path.stem).name
        if name in found:
            raise ProbingError(f"{path}: there is another file for task {name}, {found[name].path}. Name one of them")
        splits: Splits = {split: [] for split in SPLITS}
        for split, label, tokens in iterate_instances(path):
            splits[split].append(Instance(label, tokens))
        found[name] = Given(path, splits, path in extended)
    return found
