"""The ten tasks as one table, and a task file as checked splits, as an index of numbers and as packed batches."""

import importlib
from typing import TYPE_CHECKING, Any

from probing.tasks.table import COUNTERPARTS, FAMILIES, TASKS, Family, Task, get_task, get_tasks, is_spelling, own_task
from probing.tasks.task_file import (
    MAX_TOKENS,
    SPLITS,
    iterate_instances,
    iterate_lines,
    parse_line,
    read_task_file,
)

if TYPE_CHECKING:
    from probing.tasks.batches import UNKNOWN, Batch, Integers, Packed, PackedSplit, pack
    from probing.tasks.index import IndexedTask, load_task
    from probing.tasks.subsets import SEED, Subset, Subsets, draw_sentences, label_words, randomise_labels, take_splits

NEEDING_NUMPY = {
    "batches": ("UNKNOWN", "Batch", "Integers", "Packed", "PackedSplit", "pack"),
    "index": ("IndexedTask", "load_task"),
    "subsets": ("SEED", "Subset", "Subsets", "draw_sentences", "label_words", "randomise_labels", "take_splits"),
}
"""Names that each module with arrays offers here."""


def __getattr__(name: str) -> Any:
    """Import what needs numpy only when it is used: `probe tasks` takes half the time without it."""
    for module, names in NEEDING_NUMPY.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
