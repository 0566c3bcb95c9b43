"""The one pass over a corpus: count what the builders decide by, and keep every sentence's facts on disk.

A corpus does not fit into memory, and most decisions (which words are frequent, which sequences are the nineteen most
frequent) are only possible at its end. So the sentences' facts go to a temporary file, in a compact binary form, and
memory holds counts alone. Tables of counts are bounded: of one that grows past MAX_COUNTS entries, the rarest are
forgotten.
"""

from __future__ import annotations

import marshal
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from sys import intern
from typing import Any

from probing.corpus.builders import constituency, dependency
from probing.corpus.builders.facts import Facts, Target
from probing.corpus.trees import Sentence
from probing.errors import ProbingError

MIN_LENGTH, MAX_LENGTH = 5, 28
"""Sentences of other lengths are counted, but are in no task."""
MAX_COUNTS = 2_000_000
CHUNK = 1 << 20
RECORD = 1 << 10
"""Bytes read at a time, of many sentences and of a single one; most records are smaller."""
IN_MEMORY = 64_000_000
"""Up to so many bytes of facts stay in memory instead of a temporary file."""

Progress = Callable[[str, int, int | None], None]
"""Told of a stage's name, how many sentences it has done, and of how many (if known)."""


@dataclass(slots=True)
class Survey:
    """What is known of a corpus after one pass."""

    spool: Any
    dependencies: bool = False
    """Whether the sentences come with dependencies instead of constituents."""
    sentences: int = 0
    """All sentences read."""
    kept: int = 0
    """Those of 5 to 28 tokens: the ones in the spool."""
    tokens: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    forms: Counter[str] = field(default_factory=Counter)
    """How often each token occurs, as written, but for the first of a sentence."""
    initials: Counter[str] = field(default_factory=Counter)
    """How often each token occurs as a sentence's first."""
    folded: Counter[str] = field(default_factory=Counter)
    """How often each token occurs, lower-cased; known at the end of the pass."""
    words: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often each noun or verb (as written, with its class) occurs in the sentences kept."""
    shapes: Counter[tuple[int, int]] = field(default_factory=Counter)
    """How many sentences have a depth and a length."""
    tops: Counter[str] = field(default_factory=Counter)
    targets: dict[str, Counter[Target]] = field(
        default_factory=lambda: {"tense": Counter(), "subject": Counter(), "object": Counter()}
    )
    reasons: dict[str, Counter[str]] = field(
        default_factory=lambda: {"tense": Counter(), "subject": Counter(), "object": Counter(), "clauses": Counter()}
    )

    def add(self, priority: int, facts: Facts) -> None:
        """Put a sentence's facts at the end of the spool."""
        record = marshal.dumps((priority, "\n".join(facts.tokens), *facts[1:]))
        self.spool.write(len(record).to_bytes(4, "little") + record)
        self.kept += 1

    def records(self) -> Iterator[tuple[int, int, Facts]]:
        """Yield the place in the spool, the priority and the facts of every sentence kept."""
        place = 0
        self.spool.seek(0)
        chunk = self.spool.read(CHUNK)
        start = 0
        for _ in range(self.kept):
            if len(chunk) < start + 4 or len(chunk) < start + 4 + int.from_bytes(chunk[start : start + 4], "little"):
                chunk = chunk[start:] + self.spool.read(CHUNK)
                start = 0
            end = start + 4 + int.from_bytes(chunk[start : start + 4], "little")
            priority, facts = _load(chunk[start + 4 : end])
            yield place, priority, facts
            place += end - start
            start = end

    def fetch(self, place: int) -> Facts:
        """Return the facts at a place in the spool."""
        self.spool.seek(place)
        record = self.spool.read(RECORD)
        size = int.from_bytes(record[:4], "little")
        if size + 4 > len(record):
            record += self.spool.read(size + 4 - len(record))
        return _load(record[4:])[1]

    def close(self) -> None:
        self.spool.close()


def take_survey(sentences: Iterable[Sentence], *, seed: int, progress: Progress | None = None) -> Survey:
    """Read all sentences once."""
    survey = Survey(tempfile.SpooledTemporaryFile(max_size=IN_MEMORY, prefix="probing-"))  # noqa: SIM115 - closed by build
    key = blake2b(b"%d" % seed, digest_size=16).digest()
    try:
        for sentence in sentences:
            _add(survey, sentence, key)
            if survey.sentences % 1000 == 0:
                _bound(survey)
                if progress is not None:
                    progress("reading", survey.sentences, None)
    except BaseException:
        survey.close()
        raise
    for table in (survey.forms, survey.initials):
        for form, count in table.items():
            survey.folded[form.lower()] += count
    return survey


def _add(survey: Survey, sentence: Sentence, key: bytes) -> None:
    if not survey.sentences:
        survey.dependencies = sentence.tree is None
    elif survey.dependencies != (sentence.tree is None):
        raise ProbingError("constituency trees and dependencies in one corpus. Build from one kind at a time")
    tokens = sentence.tokens
    survey.sentences += 1
    survey.tokens += len(tokens)
    survey.initials[tokens[0]] += 1
    survey.forms.update(tokens[1:])
    if not MIN_LENGTH <= len(tokens) <= MAX_LENGTH:
        side = f"shorter than {MIN_LENGTH}" if len(tokens) < MIN_LENGTH else f"longer than {MAX_LENGTH}"
        survey.dropped[f"{side} tokens"] += 1
        return
    facts = dependency.extract(sentence) if survey.dependencies else constituency.extract(sentence)
    survey.shapes[facts.depth, len(tokens)] += 1
    survey.tops[facts.top] += 1
    survey.words.update([pair for pair in zip(tokens, facts.kinds.split(" "), strict=True) if pair[1] != "-"])
    for name, found in (("tense", facts.tense), ("subject", facts.subject), ("object", facts.object)):
        if isinstance(found, str):
            survey.reasons[name][found] += 1
        else:
            survey.targets[name][found] += 1
    if isinstance(facts.clauses, str):
        survey.reasons["clauses"][facts.clauses] += 1
    digest = blake2b("\t".join(tokens).encode(), digest_size=8, key=key).digest()
    survey.add(int.from_bytes(digest, "little"), facts)


def _load(record: bytes) -> tuple[int, Facts]:
    priority, text, *facts = marshal.loads(record)
    # One copy of each word: thousands of sentences are held at a time.
    return priority, Facts(tuple(map(intern, text.split("\n"))), *facts)


def _bound(survey: Survey) -> None:
    tables: list[Counter[Any]] = [survey.forms, survey.initials, survey.words, survey.tops, *survey.targets.values()]
    for counts in tables:
        _forget_rarest(counts)


def _forget_rarest(counts: Counter[Any]) -> None:
    least = 1
    while len(counts) > MAX_COUNTS:
        for entry in [entry for entry, count in counts.items() if count <= least]:
            del counts[entry]
        least *= 2
