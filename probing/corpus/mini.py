"""The embedded data sets `mini` and `midi`: ten task files each, built from the embedded grammar and kept in the cache.

They need no network and no other data, so the first command works anywhere. The same code makes the same files on any
machine; changed code or sizes make a new folder beside the old one.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from random import Random
from typing import NamedTuple

from probing.corpus import builders
from probing.corpus.grammar import GRAMMAR_VERSION, generate
from probing.errors import ProbingError
from probing.storage import cache_folder, new_folder
from probing.tasks import TASKS, get_task, read_task_file


class EmbeddedSet(NamedTuple):
    """The sizes of an embedded data set."""

    train: int
    dev: int
    test: int
    sentences: int
    """Number of sentences to generate: enough for every task to reach its sizes."""


SETS = {"mini": EmbeddedSet(3000, 500, 1000, 50_000), "midi": EmbeddedSet(20_000, 2000, 4000, 296_000)}
"""Name -> sizes: `mini` for a first run in a minute, `midi` to train on."""
SEED = 0
"""Seed of the grammar and of the builders."""


def ensure_embedded(name: str = "mini") -> Path:
    """Return the folder of an embedded set's ten task files, and make it (in seconds) if it does not exist yet."""
    sizes = SETS[name]
    folder = cache_folder(name) / _name_version(sizes)
    if os.path.isdir(folder):  # Path.is_dir would raise an error if the cache may not be read
        return folder
    from rich.console import Console

    # Shown only if stderr is a terminal.
    status = Console(stderr=True).status(f"making the embedded data set {name} (this once)")
    with status, new_folder(folder) as temporary:
        sheet = builders.build(
            generate(SEED, sizes.sentences),
            temporary,
            train=sizes.train,
            dev=sizes.dev,
            test=sizes.test,
            seed=SEED,
            source={"grammar": GRAMMAR_VERSION, "seed": SEED, "sentences": sizes.sentences},
        )
        failed = [f"{task.task} ({task.reason})" for task in sheet.tasks if task.reason is not None]
        if failed:
            raise RuntimeError(f"the embedded grammar cannot build {', '.join(failed)}")
    return folder


def sample_task(name: str, count: int, *, seed: int = 0) -> list[tuple[str, list[str]]]:
    """Return the labels and tokens of some random training instances of a task of `mini`."""
    task = get_task(name)
    if task not in TASKS:
        raise ProbingError(f"the embedded data has no {task.name}. It has {', '.join(task.name for task in TASKS)}")
    split = read_task_file(ensure_embedded() / task.file_name).splits["tr"]
    places = Random(seed).sample(range(len(split.labels)), min(count, len(split.labels)))
    return [(split.labels[place], split.sentences[place]) for place in places]


def _name_version(sizes: EmbeddedSet) -> str:
    """Return the name of the data's folder, which changes with the code and the settings that the files depend on."""
    digest = hashlib.sha256(f"{GRAMMAR_VERSION} {' '.join(map(str, sizes))} {SEED}".encode())
    for path in _list_code():
        digest.update(path.read_bytes())
    return f"{GRAMMAR_VERSION}-{digest.hexdigest()[:16]}"


def _list_code() -> list[Path]:
    """Return the source files that decide what is in the task files."""
    here = Path(__file__).parent
    return [*sorted(here.rglob("*.py")), here.parent / "statistics" / "correlation.py"]
