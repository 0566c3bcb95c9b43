"""A parallel corpus as numbers: its text is segmented once into the cache, and mapped from there.

The cache is required: neither the text nor the numbers of a large corpus are held in memory.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from filelock import FileLock
from numpy.typing import NDArray

from probing.errors import ProbingError
from probing.results import PairCounts
from probing.storage import PARALLEL, cache_folder, hash_json, new_folder, parse_json, remove_folder, writing
from probing.translation.pair_batches import ParallelSplit
from probing.translation.parallel_files import ParallelFiles, inspect_pairs
from probing.translation.parallel_text import OnShare, part_of
from probing.translation.segmentation import SIDES, choose_dtype, name_split, write_corpus
from probing.translation.settings import SubwordConfig
from probing.translation.subwords import Subwords

CORPUS_VERSION = 1
"""Version of the form of cached corpora."""
INSPECTED = 0.1
"""Share of the work that is done when all files have been read once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelCorpus:
    """A parallel corpus as numbers, which are mapped from the cache."""

    files: ParallelFiles
    source_subwords: Subwords
    target_subwords: Subwords
    """The same object as the source's if the subwords are joint."""
    train: ParallelSplit
    dev: ParallelSplit
    tests: Mapping[str, ParallelSplit]
    counts: PairCounts

    def text(self, name: str) -> tuple[list[str], list[str]]:
        """Return the lines of the source and of the target of `dev` or of a test set."""
        return self.files.pairs()[name].read()


def prepare_corpus(
    files: ParallelFiles, config: SubwordConfig, on_share: OnShare = lambda share: None
) -> ParallelCorpus:
    """Train subwords and segment a corpus, or take it from the cache; `on_share` receives the share that is done."""
    import sentencepiece

    sha256, facts = inspect_pairs(files.pairs(), part_of(on_share, 0, INSPECTED))
    if sha256 != files.sha256:
        raise ProbingError(f"{files.train.source.parent}: a file changed while the run went on. Start the run again")
    version = [CORPUS_VERSION, sentencepiece.__version__]
    folder = cache_folder(PARALLEL) / hash_json([sha256, list(files.tests), asdict(config), version])
    if (cached := _find(folder, files, joint=config.joint)) is not None:
        return cached
    with writing(folder.parent):
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(f"{folder}.lock").acquire()
    with lock:  # one process makes it, the others wait
        if (cached := _find(folder, files, joint=config.joint)) is not None:
            return cached
        remove_folder(folder)
        with new_folder(folder) as temporary:
            lines = {name: source.lines for name, (source, _) in facts.items()}
            write_corpus(temporary, files, config, lines, part_of(on_share, INSPECTED, 1))
        return _load(folder, files, joint=config.joint)


def _find(folder: Path, files: ParallelFiles, *, joint: bool) -> ParallelCorpus | None:
    """Return a corpus from the cache; None if it is not there or is damaged."""
    try:
        return _load(folder, files, joint=joint)
    except (OSError, ValueError, LookupError, TypeError, ProbingError):
        return None


def _load(folder: Path, files: ParallelFiles, *, joint: bool) -> ParallelCorpus:
    """Map a corpus from the cache; one that is not there or is damaged is an error of one kind or another."""
    checksums = parse_json((folder / "checksums.json").read_text(encoding="utf-8"))

    def load(name: str, dtype: Any = np.uint8) -> NDArray[Any]:
        numbers = np.asarray(np.memmap(folder / name, dtype, mode="r"))
        if zlib.crc32(numbers.data) != checksums[name]:
            raise ValueError(f"{name} is damaged")
        return numbers

    subwords = [Subwords(load(f"{side}.model").tobytes()) for side in SIDES[: 1 if joint else 2]]
    dtypes = {"tokens": choose_dtype(subwords), "offsets": np.int64}

    def load_split(name: str) -> ParallelSplit:
        start = name_split(files, name)
        return ParallelSplit(
            *(load(f"{start}-{side}-{what}", dtype) for side in SIDES for what, dtype in dtypes.items())
        )

    return ParallelCorpus(
        files=files,
        source_subwords=subwords[0],
        target_subwords=subwords[-1],
        train=load_split("train"),
        dev=load_split("dev"),
        tests={name: load_split(name) for name in files.tests},
        counts=msgspec.json.decode(load("counts.json").tobytes(), type=PairCounts),
    )
