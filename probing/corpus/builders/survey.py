"""The first pass over a corpus: it counts words, lengths and labels, and keeps every sentence's annotations on disk.

A corpus does not fit into memory, and most decisions (which words are frequent, which are the nineteen most frequent
sequences) can only be made at its end. So the annotations go to a temporary file, in a compact binary form, and memory
holds counts only. A table of counts that grows beyond MAX_COUNTS entries loses its rarest ones.
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
from probing.corpus.builders.annotations import Annotations, Target, has_words
from probing.corpus.lengths import MAX_LENGTH, MIN_LENGTH
from probing.corpus.readers import ParsedSentence
from probing.errors import ProbingError

MAX_COUNTS = 2_000_000
"""Largest number of entries in a table of counts."""
IN_MEMORY = 64_000_000
"""Largest number of bytes of annotations that stay in memory instead of a temporary file."""

OnProgress = Callable[[str, int, int | None], None]
"""Function called with the name of a stage, the number of sentences or tasks done, and their total, if known."""


@dataclass(slots=True)
class Survey:
    """The counts of a corpus and the temporary files of its sentences."""

    spool: Any
    """Temporary file of the annotations."""
    others: Any
    """Temporary file of the sentences that are too short or too long for a task, but whose words count."""
    dependencies: bool = False
    """Whether the sentences have dependencies instead of constituents."""
    missing: set[str] = field(default_factory=lambda: {"Tense", "Number"})
    """Features that the labels need and no word has so far, of sentences with dependencies."""
    sentences: int = 0
    """Number of sentences read."""
    kept: int = 0
    """Number of sentences in the temporary file, those of 5 to 28 tokens."""
    tokens: int = 0
    """Number of tokens of all sentences with words."""
    forgotten: int = 0
    """Number of entries that tables of counts lost because they were full."""
    dropped: Counter[str] = field(default_factory=Counter)
    """Reason -> sentences that are in no task."""
    forms: Counter[str] = field(default_factory=Counter)
    """Token as written -> occurrences that do not begin a sentence."""
    initials: Counter[str] = field(default_factory=Counter)
    """Token as written -> occurrences that begin a sentence."""
    folded: Counter[str] = field(default_factory=Counter)
    """Lower-cased token -> occurrences; filled at the end of the pass."""
    words: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Noun or verb as written, and its class -> occurrences in the kept sentences."""
    shapes: Counter[tuple[int, int]] = field(default_factory=Counter)
    """Depth and length -> kept sentences."""
    tops: Counter[str] = field(default_factory=Counter)
    """Sequence below the sentence node -> kept sentences."""
    targets: dict[str, Counter[Target]] = field(
        default_factory=lambda: {"tense": Counter(), "subject": Counter(), "object": Counter()}
    )
    """Annotation -> label and word form -> kept sentences."""

    def add(self, priority: int, annotations: Annotations) -> None:
        """Write a sentence's annotations to the end of the temporary file."""
        record = marshal.dumps((priority, "\n".join(annotations.tokens), *annotations[1:]))
        self.spool.write(len(record).to_bytes(4, "little") + record)
        self.kept += 1

    def records(self) -> Iterator[tuple[int, int, Annotations]]:
        """Yield the place in the temporary file, the priority and the annotations of every kept sentence."""
        self.spool.seek(0)
        for _ in range(self.kept):
            place = self.spool.tell()
            yield place, *self._read_record()

    def fetch(self, place: int) -> Annotations:
        """Return the annotations at a place in the temporary file."""
        self.spool.seek(place)
        return self._read_record()[1]

    def other_sentences(self) -> Iterator[tuple[str, ...]]:
        """Yield the tokens of every sentence that is too short or too long."""
        self.others.seek(0)
        for line in self.others:
            yield tuple(line.decode().split())

    def _read_record(self) -> tuple[int, Annotations]:
        """Return the priority and the annotations of the sentence at the current place in the temporary file."""
        size = int.from_bytes(self.spool.read(4), "little")
        priority, text, *annotations = marshal.loads(self.spool.read(size))
        # One copy of each word: thousands of sentences are held at a time.
        return priority, Annotations(tuple(map(intern, text.split("\n"))), *annotations)

    def close(self) -> None:
        """Delete the temporary files."""
        self.spool.close()
        self.others.close()


def take_survey(sentences: Iterable[ParsedSentence], *, seed: int, progress: OnProgress = lambda *_: None) -> Survey:
    """Return the survey of the sentences, each read once."""
    survey = Survey(_open_temporary(), _open_temporary())
    key = blake2b(b"%d" % seed, digest_size=16).digest()
    try:
        for sentence in sentences:
            _add(survey, sentence, key)
            if survey.sentences % 1000 == 0:
                _forget_rarest(survey)
                progress("reading", survey.sentences, None)
    except BaseException:
        survey.close()
        raise
    for table in (survey.forms, survey.initials):
        for form, count in table.items():
            survey.folded[form.lower()] += count
    return survey


def _open_temporary() -> Any:
    return tempfile.SpooledTemporaryFile(max_size=IN_MEMORY, prefix="probing-")


def _add(survey: Survey, sentence: ParsedSentence, key: bytes) -> None:
    if not survey.sentences:
        survey.dependencies = sentence.tree is None
    elif survey.dependencies != (sentence.tree is None):
        raise ProbingError("constituency trees and dependencies in one corpus. Build from one kind at a time")
    if survey.missing and sentence.features:
        survey.missing.difference_update(*sentence.features)
    tokens = sentence.tokens
    survey.sentences += 1
    if not has_words(tokens):
        survey.dropped["without words: masked text, numbers or signs"] += 1
        return
    survey.tokens += len(tokens)
    survey.initials[tokens[0]] += 1
    survey.forms.update(tokens[1:])
    if not MIN_LENGTH <= len(tokens) <= MAX_LENGTH:
        side = f"shorter than {MIN_LENGTH}" if len(tokens) < MIN_LENGTH else f"longer than {MAX_LENGTH}"
        survey.dropped[f"{side} tokens"] += 1
        survey.others.write(f"{' '.join(tokens)}\n".encode())
        return
    annotations = dependency.extract(sentence) if survey.dependencies else constituency.extract(sentence)
    survey.shapes[annotations.depth, len(tokens)] += 1
    survey.tops[annotations.top] += 1
    survey.words.update([pair for pair in zip(tokens, annotations.kinds.split(" "), strict=True) if pair[1] != "-"])
    for name, counts in survey.targets.items():
        found = getattr(annotations, name)
        if not isinstance(found, str):
            counts[found] += 1
    digest = blake2b("\t".join(tokens).encode(), digest_size=8, key=key).digest()
    survey.add(int.from_bytes(digest, "little"), annotations)


def _forget_rarest(survey: Survey) -> None:
    tables: list[Counter[Any]] = [survey.forms, survey.initials, survey.words, survey.tops, *survey.targets.values()]
    for counts in tables:
        least = 1
        while len(counts) > MAX_COUNTS:
            for entry in [entry for entry, count in counts.items() if count <= least]:
                del counts[entry]
                survey.forgotten += 1
            least *= 2
