"""The ten tasks as one table, and a task file as checked splits, as an index of numbers and as packed batches."""

from probing.tasks.batches import UNKNOWN, Batch, Integers, Packed, PackedSplit, pack
from probing.tasks.index import IndexedTask, load_task
from probing.tasks.subsets import SEED, Subset, Subsets, randomise_labels, take_splits
from probing.tasks.table import COUNTERPARTS, FAMILIES, TASKS, Family, Task, get_task, get_tasks, is_spelling, own_task
from probing.tasks.task_file import (
    MAX_TOKENS,
    SPLITS,
    iterate_instances,
    iterate_lines,
    parse_line,
    read_task_file,
)
