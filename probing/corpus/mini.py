"""The data set `mini`: ten task files built from the embedded grammar, made once and then kept in the cache.

It needs no network and no other data, so the first command works anywhere. The same code makes the same files on any
machine; changed code or sizes make a new folder beside the old one.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from random import Random

from probing.corpus import builders
from probing.corpus.grammar import GRAMMAR_VERSION, generate
from probing.errors import ProbingError
from probing.storage import cache_folder, new_folder
from probing.tasks import TASKS, get_task, read_task_file

TRAIN, DEV, TEST = 3000, 500, 1000
"""Number of instances in each split of a task."""
SENTENCES = 22_000
"""Number of sentences to generate: enough for every task to reach its sizes."""
SEED = 0
"""Seed of the grammar and of the builders."""


def ensure_mini() -> Path:
    """Return the folder of the ten task files, and make it (in seconds) if it does not exist yet."""
    folder = cache_folder("mini") / _name_version()
    if os.path.isdir(folder):  # Path.is_dir would raise an error if the cache may not be read
        return folder
    from rich.console import Console

    # Shown only if stderr is a terminal.
    status = Console(stderr=True).status("making the embedded data (this once)")
    with status, new_folder(folder) as temporary:
        sheet = builders.build(
            generate(SEED, SENTENCES),
            temporary,
            train=TRAIN,
            dev=DEV,
            test=TEST,
            seed=SEED,
            source={"grammar": GRAMMAR_VERSION, "seed": SEED, "sentences": SENTENCES},
        )
        failed = [f"{task.task} ({task.reason})" for task in sheet.tasks if task.reason is not None]
        if failed:
            raise RuntimeError(f"the embedded grammar cannot build {', '.join(failed)}")
    return folder


def sample_task(name: str, count: int, *, seed: int = 0) -> list[tuple[str, list[str]]]:
    """Return the labels and tokens of some random training instances of a task."""
    task = get_task(name)
    if task not in TASKS:
        raise ProbingError(f"the embedded data has no {task.name}. It has {', '.join(task.name for task in TASKS)}")
    split = read_task_file(ensure_mini() / task.file_name).splits["tr"]
    places = Random(seed).sample(range(len(split.labels)), min(count, len(split.labels)))
    return [(split.labels[place], split.sentences[place]) for place in places]


def _name_version() -> str:
    """Return the name of the data's folder, which changes with the code and the settings that the files depend on."""
    digest = hashlib.sha256(f"{GRAMMAR_VERSION} {TRAIN} {DEV} {TEST} {SENTENCES} {SEED}".encode())
    for path in _list_code():
        digest.update(path.read_bytes())
    return f"{GRAMMAR_VERSION}-{digest.hexdigest()[:16]}"


def _list_code() -> list[Path]:
    """Return the source files that decide what is in the task files."""
    here = Path(__file__).parent
    return [*sorted(here.rglob("*.py")), here.parent / "statistics" / "correlation.py"]
