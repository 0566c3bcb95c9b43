"""Reader of CoNLL-U: words as written, with universal tags, heads, relations and features.

A multiword token that is spelled like its words together (`didn't` = `did` + `n't`, `darle` = `dar` + `le`) is split
into them, as SentEval's files split at clitics. Any other (`du` = `de` + `le`) stays one token, as written, with the
tag, head and relation of that one of its words which is nearest to the root (the first of several, but an auxiliary
before others: Finnish `miksei` = `miksi` + `ei` is a negation verb). If another of them is its auxiliary, the token has
no tense.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import groupby

from probing.corpus.readers.parsed_text import BadTreeError, NumberedLines, Parse, ParsedSentence, straighten, tokenise

MAX_CHARACTERS = 1 << 22
"""Longest block: a sentence of ten thousand words is shorter, and parsing takes fifty times the memory."""
FIELDS, LEAST_FIELDS = 10, 8
"""Number of fields of a line, and the number up to the relation, of which files without the last two make do."""
MAX_FEATURES = 4096
"""Number of sets of features that are remembered."""
MAX_DIGITS = 9
"""Largest number of digits of a head: no sentence is that long."""
_SPACES = re.compile(r"\t| {2,}")
"""Separator of fields in files whose tabs have become spaces."""
_RANGE = re.compile(r"(\d{1,9})-(\d{1,9})")
_EMPTY_NODE = re.compile(r"\d+\.\d+")


def read_blocks(lines: NumberedLines) -> Iterator[tuple[int, Parse]]:
    """Yield, for each block of a CoNLL-U file, the number of its first line and a function that parses it."""
    for filled, block in groupby(lines, key=lambda numbered: bool(numbered[1].strip())):
        if filled:
            number, text = next(block)
            texts, size = [text], len(text)
            for _, text in block:
                size += len(text)
                if size <= MAX_CHARACTERS:  # what is beyond is read, but not kept
                    texts.append(text)
            yield number, partial(parse_block, "".join(texts)) if size <= MAX_CHARACTERS else _refuse_length


def begins_block(line: str, late: bool) -> bool:
    """Return whether a stretch of lines may end before this line: it is blank, or the end is late."""
    return late or not line.strip()


def _refuse_length() -> ParsedSentence:
    raise BadTreeError(f"a block of more than {MAX_CHARACTERS >> 20} MiB")


@dataclass(slots=True)
class _Word:
    """A word of a block."""

    form: str
    tag: str
    head: int
    relation: str
    features: Mapping[str, str]


Range = tuple[int, int, str]
"""A multiword token: its first and last word, and its form."""


def parse_block(block: str) -> ParsedSentence:
    """Return the sentence of one CoNLL-U block."""
    words, ranges = _read_rows(block)
    if not words:
        raise BadTreeError("a block without words")
    depths = _measure_depths([word.head for word in words])
    if ranges:
        words = _join(words, depths, ranges)
        _measure_depths([word.head for word in words])
    return ParsedSentence(
        tokens=tokenise([word.form for word in words]),
        tags=tuple([word.tag for word in words]),
        heads=tuple([word.head for word in words]),
        relations=tuple([word.relation for word in words]),
        features=tuple([word.features for word in words]),
    )


def _read_rows(block: str) -> tuple[list[_Word], list[Range]]:
    """Return the words and the multiword tokens of a block; comments and empty nodes are passed over."""
    words: list[_Word] = []
    ranges: list[Range] = []
    for line in block.split("\n"):
        if line.startswith("#") or not line.strip():
            continue
        fields = line.split("\t")
        if len(fields) < FIELDS:
            fields = _SPACES.split(line.strip())
        if len(fields) < LEAST_FIELDS:
            raise BadTreeError(f"not CoNLL-U (a line with {len(fields)} fields, expected {FIELDS})")
        number, form, _, tag, _, features, head, relation = fields[:LEAST_FIELDS]
        if number.isdecimal():
            if number != str(len(words) + 1):
                raise BadTreeError("the words are not numbered 1, 2, 3, …")
            if not head.isdecimal() or relation in ("", "_"):
                raise BadTreeError(f"word {number} has no head or no relation")
            if len(head) > MAX_DIGITS:
                raise BadTreeError(f"a head ({head[:MAX_DIGITS]}…) outside of the sentence")
            tag = "X" if tag in ("", "_") else tag
            words.append(_Word(form, tag, int(head), relation, _read_features(features)))
        elif (match := _RANGE.fullmatch(number)) is not None:
            ranges.append((int(match[1]), int(match[2]), form))
        elif _EMPTY_NODE.fullmatch(number) is None:
            raise BadTreeError(f"not CoNLL-U ({number!r} is not the number of a word)")
    return words, ranges


@lru_cache(MAX_FEATURES)
def _read_features(text: str) -> Mapping[str, str]:
    pairs = (pair.partition("=") for pair in text.split("|")) if text not in ("", "_") else ()
    return {name: value for name, _, value in pairs if value}


def _measure_depths(heads: list[int]) -> list[int]:
    """Return the number of steps from each word to the root; heads that make no tree are an error."""
    for head in heads:
        if not 0 <= head <= len(heads):
            raise BadTreeError(f"a head ({head}) outside of the sentence")
    depths: dict[int, int] = {0: -1}
    for place in range(1, len(heads) + 1):
        path: dict[int, None] = {}
        above = place
        while above not in depths:
            if above in path:
                raise BadTreeError(f"word {place} hangs on itself")
            path[above] = None
            above = heads[above - 1]
        depths |= {word: depths[above] + steps for steps, word in enumerate(reversed(path), 1)}
    if 0 not in heads:
        raise BadTreeError("no word is the root")
    return [depths[place] for place in range(1, len(heads) + 1)]


def _join(words: list[_Word], depths: list[int], ranges: list[Range]) -> list[_Word]:
    """Return the words, those of each multiword token that is spelled differently replaced by that token."""
    place_of = list(range(len(words) + 1))
    joined = dict(enumerate(words, 1))
    taken: set[int] = set()
    for first, last, form in ranges:
        if not 1 <= first < last <= len(words):
            raise BadTreeError(f"a multiword token {first}-{last} outside of the sentence")
        inside = range(first, last + 1)
        if not taken.isdisjoint(inside):
            raise BadTreeError(f"a multiword token {first}-{last} that overlaps with another one")
        taken.update(inside)
        spelled = "".join(words[place - 1].form for place in inside)
        if straighten(spelled).lower() == straighten(form).lower():
            continue
        auxiliaries = [place for place in inside if words[place - 1].relation.partition(":")[0] in ("aux", "cop")]
        top = min([*auxiliaries, *inside], key=lambda place: depths[place - 1])
        features = words[top - 1].features
        if any(place != top for place in auxiliaries):
            features = {name: value for name, value in features.items() if name != "Tense"}
        joined[first] = replace(words[top - 1], form=form, features=features)
        for place in inside:
            place_of[place] = first
            if place > first:
                del joined[place]
    new_place = {old: new for new, old in enumerate(sorted({0, *joined}))}
    return [replace(joined[place], head=new_place[place_of[joined[place].head]]) for place in sorted(joined)]
