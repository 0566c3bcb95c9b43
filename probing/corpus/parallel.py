"""The embedded parallel corpus: sentences of the grammar with their translations into Halvic, kept in the cache.

All sets come from one stream of sentences. Training has short sentences only, and certain words never stand in certain
constructions there; `test` is like training, `test-long` has longer sentences, and `test-new` has such words in such
constructions. Of rare phenomena, the test sets have more than the stream.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from probing.corpus.grammar import GRAMMAR_VERSION, generate
from probing.corpus.language import LANGUAGE_CODE, LANGUAGE_VERSION, PHENOMENA, Check
from probing.corpus.language.checks import make_checks, parse_check
from probing.corpus.language.draft import Note
from probing.corpus.language.forms import Form
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

_MAX_SIZE = 1000
"""Largest number of sentences of the development set and of each test set."""
_POOL = 24
"""Number of sentences among which one for each of these sets is found."""
_RARE = 12
"""A phenomenon is in at least one of so many sentences of a test set, if the pool has as many."""
_HELD_OUT = 12
"""One of so many combinations of a word and a construction is held out of training."""


class _StreamedPair(NamedTuple):
    """A sentence and its translation."""

    source: str
    words: list[Form]
    notes: list[Note]
    kind: str
    """Test set to which it may belong."""

    @property
    def target(self) -> str:
        return " ".join([form.text for form in self.words])

    def make_checks(self) -> tuple[Check, ...]:
        return make_checks(self.notes, self.words)


@cache
def is_held_out(word: str, construction: str) -> bool:
    """Return whether a word never stands in a construction in training."""
    return draw(f"held out {word} {construction}", _HELD_OUT) == 0


def prepare_parallel(pairs: int = PAIRS, *, on_share: Callable[[float], None] = lambda share: None) -> Path:
    """Return the folder of the corpus with so many training pairs, and make it (in seconds) if it does not exist yet.

    The files are `train.en`, `train.qhv` and so on, one sentence a line, and `NAME.checks.jsonl` for each test set.
    From 20,000 pairs on, the other sets are the same for all sizes. on_share: called with the share that is done.
    """
    if pairs < 1:
        raise ProbingError(f"the number of training pairs must be at least 1. Got {pairs}")
    folder = cache_folder("halvic") / f"{GRAMMAR_VERSION}-{LANGUAGE_VERSION}-{pairs}"
    if os.path.isdir(folder):  # Path.is_dir would raise an error if the cache may not be read
        return folder
    with new_folder(folder) as temporary:
        _write_corpus(temporary, pairs, on_share)
    return folder


def _write_corpus(folder: Path, pairs: int, on_share: Callable[[float], None]) -> None:
    size = min(_MAX_SIZE, max(pairs // 20, 20))
    stream = _stream()
    pool = list(islice(stream, size * _POOL))
    on_share(0.0)
    taken: set[str] = set()
    for name in TEST_SETS:
        chosen = _choose([line for line in pool if line.kind == name], size)
        taken |= {line.source for line in chosen}
        _write_set(folder, name, chosen)
        text = "".join(_format_checks(line.make_checks()) for line in chosen)
        (folder / f"{name}.checks.jsonl").write_text(text, encoding="utf-8", newline="\n")
    rest = [line for line in pool if line.kind == "test" and line.source not in taken]
    _write_set(folder, "dev", rest[:size])
    training = chain(rest[size:], (line for line in stream if line.kind == "test"))
    _write_set(folder, "train", _count(islice(training, pairs), pairs, on_share))


def _stream() -> Iterator[_StreamedPair]:
    """Yield the grammar's sentences with their translations, each sentence once."""
    seen: set[str] = set()
    for sentence in generate(SEED):
        source = " ".join(sentence.tokens)
        if source in seen:
            continue
        seen.add(source)
        words, draft = transfer(sentence)
        new = any(is_held_out(*combination) for combination in draft.combinations)
        if len(sentence.tokens) <= MAX_LENGTH:
            yield _StreamedPair(source, words, draft.notes, "test-new" if new else "test")
        elif not new:
            yield _StreamedPair(source, words, draft.notes, "test-long")


def _choose(lines: Sequence[_StreamedPair], size: int) -> list[_StreamedPair]:
    """Return so many of the sentences, in their order, among them enough with each phenomenon."""
    found = [{name for name, *_ in line.notes} for line in lines]
    having = {name: [place for place, names in enumerate(found) if name in names] for name in PHENOMENA}
    chosen: set[int] = set()
    for name in sorted(PHENOMENA, key=lambda name: len(having[name])):
        missing = max(size // _RARE - sum(name in found[place] for place in chosen), 0)
        chosen |= set(islice((place for place in having[name] if place not in chosen), missing))
    others = (place for place in range(len(lines)) if place not in chosen)
    chosen |= set(islice(others, size - len(chosen)))
    return [lines[place] for place in sorted(chosen)]


def _write_set(folder: Path, name: str, lines: Iterable[_StreamedPair]) -> None:
    with (
        open(folder / f"{name}.en", "w", encoding="utf-8", newline="\n") as source,
        open(folder / f"{name}.{LANGUAGE_CODE}", "w", encoding="utf-8", newline="\n") as target,
    ):
        for line in lines:
            source.write(f"{line.source}\n")
            target.write(f"{line.target}\n")


def _count(lines: Iterable[_StreamedPair], total: int, on_share: Callable[[float], None]) -> Iterator[_StreamedPair]:
    for number, line in enumerate(lines, 1):
        yield line
        if number % 1000 == 0 or number == total:
            on_share(number / total)


def _format_checks(checks: Sequence[Check]) -> str:
    lists = [[check.phenomenon, *check.words] for check in checks]
    return json.dumps(lists, ensure_ascii=False, separators=(",", ":")) + "\n"


def read_checks(path: Path) -> list[tuple[Check, ...]]:
    """Return the checks of each sentence of a test set."""
    found: list[tuple[Check, ...]] = []
    with open_file(path) as file:
        for number, line in iterate_bytes(file, path):
            try:
                checks = parse_json(decode_line(path, number, line))
                if not isinstance(checks, list):
                    raise ValueError("expected a list of checks")
                found.append(tuple(parse_check(check) for check in checks))
            except ValueError as error:
                raise ProbingError(f"{path}:{number}: not the checks of a sentence ({error})") from None
    return found
