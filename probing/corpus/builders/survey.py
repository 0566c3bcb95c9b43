"""The first pass over a corpus: it counts words, lengths and labels, and keeps every sentence's annotations on disk.

A corpus does not fit into memory, and most decisions (which words are frequent, which are the nineteen most frequent
sequences) can only be made at its end. So the annotations go to a temporary file (spool.py), and memory holds counts
only. A table of counts that grows beyond MAX_COUNTS entries loses its rarest ones. Parts of a corpus are counted
independently, by several processes if asked for, and added up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, cast

from probing.corpus.builders import constituency, dependency, plain
from probing.corpus.builders.annotations import Annotations, Target, has_words
from probing.corpus.builders.spool import Spool, pack
from probing.corpus.lengths import MAX_LENGTH, MIN_LENGTH
from probing.corpus.readers import Kind, ParsedSentence, find_kind
from probing.errors import ProbingError

MAX_COUNTS = 2_000_000
"""Largest number of entries in a table of counts."""

OnProgress = Callable[[str, int, int | None], None]
"""Function called with the name of a stage, the number of sentences or tasks done, and their total, if known."""

_EXTRACT: Mapping[Kind, Callable[[ParsedSentence], Annotations]] = {
    "constituents": constituency.extract,
    "dependencies": dependency.extract,
    "words": plain.extract,
}
"""Kind of trees -> function that returns the annotations of a sentence."""


def _no_targets() -> dict[str, Counter[Target]]:
    return {"tense": Counter(), "subject": Counter(), "object": Counter()}


@dataclass(slots=True)
class CorpusCounts:
    """The counts of a corpus or of a part of it."""

    kind: Kind | None = None
    """Kind of trees that the sentences have; None without a sentence."""
    missing: set[str] = field(default_factory=lambda: {"Tense", "Number", "Mood"})
    """Features that the labels need and no word has so far, of sentences with dependencies."""
    personal: bool = False
    """Whether a past tense has a person, as in languages whose verbs have moods; found only while Mood is missing."""
    sentences: int = 0
    """Number of sentences read."""
    kept: int = 0
    """Number of sentences whose annotations are kept, those of 5 to 28 tokens."""
    tokens: int = 0
    """Number of tokens of all sentences with words."""
    forgotten: int = 0
    """Number of entries that tables of counts lost because they were full."""
    dropped: Counter[str] = field(default_factory=Counter)
    """Reason -> sentences that are in no task."""
    skipped: Counter[str] = field(default_factory=Counter)
    """Reason -> trees that could not be read."""
    forms: Counter[str] = field(default_factory=Counter)
    """Token as written -> occurrences that do not begin a sentence."""
    initials: Counter[str] = field(default_factory=Counter)
    """Token as written -> occurrences that begin a sentence."""
    words: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Noun or verb as written, and its class -> occurrences in the kept sentences."""
    shapes: Counter[tuple[int, int]] = field(default_factory=Counter)
    """Depth and length -> kept sentences."""
    tops: Counter[str] = field(default_factory=Counter)
    """Sequence below the sentence node -> kept sentences."""
    targets: dict[str, Counter[Target]] = field(default_factory=_no_targets)
    """Annotation -> label and word form -> kept sentences."""

    def count(self, sentence: ParsedSentence) -> Annotations | None:
        """Count a sentence, and return its annotations if it is kept."""
        self._set_kind(find_kind(sentence))
        if self.missing and sentence.features:
            self.missing.difference_update(*sentence.features)
            if "Mood" in self.missing and not self.personal:
                self.personal = any(word.get("Tense") == "Past" and "Person" in word for word in sentence.features)
        tokens = sentence.tokens
        self.sentences += 1
        if not has_words(tokens):
            self.dropped["without words: masked text, numbers or signs"] += 1
            return None
        self.tokens += len(tokens)
        self.initials[tokens[0]] += 1
        self.forms.update(tokens[1:])
        if not MIN_LENGTH <= len(tokens) <= MAX_LENGTH:
            side = f"shorter than {MIN_LENGTH}" if len(tokens) < MIN_LENGTH else f"longer than {MAX_LENGTH}"
            self.dropped[f"{side} tokens"] += 1
            return None
        annotations = _EXTRACT[cast(Kind, self.kind)](sentence)
        self.shapes[annotations.depth, len(tokens)] += 1
        self.tops[annotations.top] += 1
        self.words.update([pair for pair in zip(tokens, annotations.kinds.split(" "), strict=True) if pair[1] != "-"])
        for name, counts in self.targets.items():
            found = getattr(annotations, name)
            if not isinstance(found, str):
                counts[found] += 1
        self.kept += 1
        return annotations

    def add(self, other: CorpusCounts) -> None:
        """Add the counts of another part of the corpus, and forget the rarest entries of tables that grow too large."""
        self._set_kind(other.kind)
        self.missing &= other.missing
        self.personal |= other.personal
        self.sentences += other.sentences
        self.kept += other.kept
        self.tokens += other.tokens
        for own, others in zip(self._tables(), other._tables(), strict=True):
            own.update(others)
            self.forgotten += _forget_rarest(own)

    @property
    def dependencies(self) -> bool:
        """Whether the sentences have dependencies."""
        return self.kind == "dependencies"

    def _set_kind(self, kind: Kind | None) -> None:
        if kind != self.kind and None not in (kind, self.kind):
            raise ProbingError(f"{self.kind} and {kind} in one corpus. Build from one kind at a time")
        self.kind = kind or self.kind

    def _tables(self) -> list[Counter[Any]]:
        few: list[Counter[Any]] = [self.dropped, self.skipped, self.shapes]
        return [*few, self.forms, self.initials, self.words, self.tops, *self.targets.values()]


def _forget_rarest(counts: Counter[Any]) -> int:
    """Delete the rarest entries of a table that is too large, and return their number."""
    before, least = len(counts), 1
    while len(counts) > MAX_COUNTS:
        for entry in [entry for entry, count in counts.items() if count <= least]:
            del counts[entry]
        least *= 2
    return before - len(counts)


@dataclass(frozen=True, slots=True)
class CorpusPart:
    """The counts of a part of a corpus, and its sentences."""

    counts: CorpusCounts
    records: bytes
    """Records of the kept sentences."""
    others: bytes
    """Lines with the tokens of the sentences that are too short or too long for a task, but whose words count."""


def count_part(
    sentences: Iterable[ParsedSentence],
    *,
    seed: int,
    skipped: Counter[str] | None = None,
    refuse: Callable[[ParsedSentence], str | None] = lambda _: None,
) -> CorpusPart:
    """Count some sentences.

    skipped: filled with the reasons of bad trees while they are read. refuse: returns the reason to leave out a
    sentence, if there is one.
    """
    counts = CorpusCounts(skipped=Counter() if skipped is None else skipped)
    key = blake2b(b"%d" % seed, digest_size=16).digest()
    records, others = [], []
    for sentence in sentences:
        if (reason := refuse(sentence)) is not None:
            counts.dropped[reason] += 1
            continue
        annotations = counts.count(sentence)
        if annotations is not None:
            digest = blake2b("\t".join(sentence.tokens).encode(), digest_size=8, key=key).digest()
            records.append(pack(int.from_bytes(digest, "little"), annotations))
        elif has_words(sentence.tokens):
            others.append(f"{' '.join(sentence.tokens)}\n")
    return CorpusPart(counts, b"".join(records), "".join(others).encode())


@dataclass(slots=True)
class Survey(CorpusCounts):
    """The counts of a whole corpus, and the temporary files of its sentences."""

    spool: Spool = field(kw_only=True)
    """File of the kept sentences' annotations."""
    others: Path = field(kw_only=True)
    """File of the sentences that are too short or too long for a task."""
    folded: Counter[str] = field(default_factory=Counter)
    """Lower-cased token -> occurrences; filled at the end."""

    def records(self) -> Iterator[tuple[int, int, Annotations]]:
        """Yield the place in the temporary file, the priority and the annotations of every kept sentence."""
        return self.spool.records()

    def fetch(self, place: int) -> Annotations:
        """Return the annotations at a place in the temporary file."""
        return self.spool.fetch(place)

    def other_sentences(self) -> Iterator[tuple[str, ...]]:
        """Yield the tokens of every sentence that is too short or too long."""
        with self.others.open("rb") as lines:
            for line in lines:
                yield tuple(line.decode().split())

    def close(self) -> None:
        """Delete the temporary files."""
        self.spool.close()
        self.others.unlink(missing_ok=True)


def take_survey(parts: Iterable[CorpusPart], folder: Path, progress: OnProgress = lambda *_: None) -> Survey:
    """Add up the parts of a corpus, and write its sentences to temporary files in a folder."""
    survey = Survey(spool=Spool(folder / "annotations"), others=folder / "others")
    try:
        with survey.others.open("wb") as others:
            for part in parts:
                survey.add(part.counts)
                survey.spool.write(part.records)
                others.write(part.others)
                progress("counting", survey.sentences, None)
        survey.spool.finish()
    except BaseException:
        survey.close()
        raise
    for table in (survey.forms, survey.initials):
        for form, count in table.items():
            survey.folded[form.lower()] += count
    return survey
