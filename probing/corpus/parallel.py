"""The embedded parallel corpus: sentences of the grammar with their translations into Halvic, kept in the cache.

All sets come from one stream of sentences. Training has short sentences only, and certain words never stand in certain
constructions there; `test` is like training, `test-long` has longer sentences, `test-new` has such words in such
constructions. Of rare phenomena, the test sets have more than the stream.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import NamedTuple, TextIO

from probing.corpus.grammar import GRAMMAR_VERSION, generate
from probing.corpus.language import LANGUAGE_CODE, LANGUAGE_VERSION, PHENOMENA, Check
from probing.corpus.language.checks import make_checks, parse_check
from probing.corpus.language.stems import draw
from probing.corpus.language.transfer import transfer
from probing.errors import ProbingError
from probing.storage import cache_folder, decode_line, iterate_bytes, new_folder, open_file, parse_json

PAIRS = 20_000
"""Number of training pairs by default."""
TEST_SETS = ("test", "test-long", "test-new")
MAX_LENGTH = 20
"""Number of tokens of the longest English sentence in training; `test-long` has longer ones."""
SEED = 1
"""Seed of the grammar; the embedded data sets have another one."""

_MAX_HELD_OUT = 1000
_POOL = 16
"""Number of sentences among which one of a development or test set is found."""
_SHARE_OF_RARE = 12
"""A phenomenon is in at least one of so many sentences of a test set, if there are as many."""
_HELD_OUT = 14
"""One of so many combinations of a word and a construction is held out of training."""


class _PairLine(NamedTuple):
    """A sentence and its translation, as lines of the files."""

    source: str
    target: str
    kind: str
    """Set to which it may belong: a test set, or `train`."""
    checks: tuple[Check, ...]


def is_held_out(word: str, construction: str) -> bool:
    """Return whether a word never stands in a construction in training."""
    key = (word, construction)
    known = _DRAWN.get(key)
    if known is None:
        known = _DRAWN[key] = draw(f"held out {word} {construction}", _HELD_OUT) == 0
    return known


_DRAWN: dict[tuple[str, str], bool] = {}


def prepare_parallel(pairs: int = PAIRS, *, on_share: Callable[[float], None] = lambda share: None) -> Path:
    """Return the folder of the parallel corpus with so many training pairs, and make it if it does not exist yet.

    on_share: called with the share that is done.
    """
    if pairs < 1:
        raise ProbingError(f"the number of training pairs must be at least 1. Got {pairs}")
    folder = cache_folder("halvic") / f"{GRAMMAR_VERSION}-{LANGUAGE_VERSION}-{pairs}"
    if os.path.isdir(folder):  # Path.is_dir would raise an error if the cache may not be read
        return folder
    with new_folder(folder) as temporary:
        _write(temporary, pairs, on_share)
    return folder


def _write(folder: Path, pairs: int, on_share: Callable[[float], None]) -> None:
    size = min(_MAX_HELD_OUT, max(pairs // 20, 20))
    stream = _stream()
    pool = [next(stream) for _ in range(size * _POOL)]
    chosen: dict[str, list[_PairLine]] = {name: _choose(pool, name, size) for name in TEST_SETS}
    taken = {line.source for lines in chosen.values() for line in lines}
    rest = [line for line in pool if line.kind == "test" and line.source not in taken]
    chosen["dev"] = rest[:size]
    taken |= {line.source for line in chosen["dev"]}
    for name, lines in chosen.items():
        with _open(folder, name) as (source, target):
            for line in lines:
                source.write(line.source)
                target.write(line.target)
    for name in TEST_SETS:
        text = "".join(_format_checks(line.checks) for line in chosen[name])
        (folder / f"{name}.checks.jsonl").write_text(text, encoding="utf-8", newline="\n")
    _write_training(folder, pairs, chain(rest[size:], stream), taken, on_share)
