"""The data set `mini`: ten task files that the embedded grammar gives, made once and then kept.

It needs no network and no other data, so the first command works anywhere. The same code gives the same files on any
machine; other code (of the grammar or of the builders) or other sizes make a new folder beside the old one.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from random import Random

from probing.cache import cache_folder, new_folder
from probing.corpus import builders
from probing.corpus.grammar import GRAMMAR_VERSION, generate
from probing.dataset import read_task_file
from probing.errors import ProbingError
from probing.tasks import TASKS, get_task

TRAIN, DEV, TEST = 3000, 500, 1000
"""Instances of a task's splits."""
SENTENCES = 22_000
"""How many sentences are generated: enough for every task to reach its sizes."""
SEED = 0


def ensure_mini() -> Path:
    """Return the folder of the ten task files, which are generated (in seconds) unless they are there already."""
    folder = cache_folder("mini") / _name_version()
    if os.path.isdir(folder):  # never an error, as where the cache cannot be looked into
        return folder
    with _show_status(), new_folder(folder) as temporary:
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
            raise RuntimeError(f"the embedded grammar does not give {', '.join(failed)}")
    return folder


def sample_task(name: str, count: int, *, seed: int = 0) -> list[tuple[str, list[str]]]:
    """Return labels and tokens of some training instances of one of the tasks."""
    task = get_task(name)
    if task not in TASKS:
        raise ProbingError(f"the embedded data has no {task.name}. It has {', '.join(task.name for task in TASKS)}")
    split = read_task_file(ensure_mini() / f"{task.file}.txt").splits["tr"]
    places = Random(seed).sample(range(len(split.labels)), min(count, len(split.labels)))
    return [(split.labels[place], split.sentences[place]) for place in places]


def _show_status() -> AbstractContextManager[object]:
    """Say on stderr, if it is a terminal, why it takes a moment."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        return nullcontext()
    return console.status("making the embedded data (this once)")


def _name_version() -> str:
    """Return a name that changes with all that the files depend on."""
    digest = hashlib.sha256(f"{GRAMMAR_VERSION} {TRAIN} {DEV} {TEST} {SENTENCES} {SEED}".encode())
    here = Path(__file__).parent
    for path in sorted([*here.glob("*.py"), *here.glob("builders/*.py"), *here.glob("grammar/*.py")]):
        digest.update(path.read_bytes())
    return f"{GRAMMAR_VERSION}-{digest.hexdigest()[:16]}"
