"""Readers of parsed text: Penn-style brackets and CoNLL-U become Sentences, one at a time.

A file of any size is read in constant memory: only the tree at hand is held. Both readers give the tokens that
SentEval's files have, so that vectors and vocabularies fit either: words as written, split at clitics, `didn 't` for
Penn's `did n't`, `"` for Penn's two kinds of quotes, brackets unescaped.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from probing.errors import ProbingError

Tree = tuple[str, "tuple[Tree, ...] | str"]
"""A constituency tree: (label, children), or (tag, word) at the leaves."""

Format = Literal["penn", "conllu"]
NumberedLines = Iterable[tuple[int, str]]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A parsed sentence: a constituency tree, or heads, relations and features, is there."""

    tokens: tuple[str, ...]
    tags: tuple[str, ...]
    """Penn tags beside a constituency tree, universal tags beside heads and relations."""
    tree: Tree | None = None
    heads: tuple[int, ...] | None = None
    """The place (from 1) of each token's head; 0 for the root."""
    relations: tuple[str, ...] | None = None
    features: tuple[Mapping[str, str], ...] | None = None


class BadTreeError(Exception):
    """A tree that cannot be read; the text is the reason."""


def read_sentences(
    path: Path,
    format: Format,
    *,
    skipped: Counter[str] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Iterator[Sentence]:
    """Yield the sentences of a file; a bad tree is counted in `skipped` by reason, or is an error without it.

    `progress` is told, now and then, how many bytes of the file have been read.
    """
    from probing.corpus.dependencies import read_blocks

    lines = read_lines(path, progress)
    for number, parse in read_brackets(lines) if format == "penn" else read_blocks(lines):
        try:
            sentence = parse()
        except BadTreeError as error:
            if skipped is None:
                raise ProbingError(
                    f"{path}:{number}: {error}. Correct the tree, or leave bad trees out with --skip-bad"
                ) from None
            skipped[str(error)] += 1
        else:
            yield sentence


def read_lines(path: Path, progress: Callable[[int], None] | None = None) -> Iterator[tuple[int, str]]:
    """Yield each line of a text file, gzipped or not, with its number."""
    try:
        with path.open("rb") as raw:
            packed = raw.peek(2)[:2] == b"\x1f\x8b"
            file = gzip.GzipFile(fileobj=raw) if packed else raw
            for number, line in enumerate(file, 1):
                if progress is not None and number % 1000 == 0:
                    progress(raw.tell())
                yield number, _decode(path, number, line)
            if progress is not None:
                progress(raw.tell())
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ProbingError(f"{path}: the gzip file is damaged ({error}). Get or make it again") from None
    except OSError as error:
        raise ProbingError(f"{path}: cannot be read ({error.strerror or error})") from None


def _decode(path: Path, number: int, line: bytes) -> str:
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise ProbingError(
            f"{path}:{number}: not UTF-8 (byte 0x{line[error.start]:02x} at column {error.start + 1}). "
            "Save the file as UTF-8"
        ) from None


# --- Penn brackets -----------------------------------------------------------------------------------------------

MAX_DEPTH = 250
"""Brackets nested deeper than this are taken for a fault: real trees have some 60 levels at most."""
MAX_CHARACTERS = 1_000_000
"""A tree still open after so many characters has lost a bracket."""

OUTER_LABELS = frozenset(["", "ROOT", "TOP", "S1", "VROOT"])
_OUTER = re.compile(r"\(\s*(ROOT|TOP|S1|VROOT|\()[\s(]")
_BRACKET = re.compile(r"[()]")
_ESCAPES = {
    "-LRB-": "(",
    "-RRB-": ")",
    "-LCB-": "{",
    "-RCB-": "}",
    "-LSB-": "[",
    "-RSB-": "]",
    "``": '"',
    "''": '"',
}

Parse = Callable[[], Sentence]
"""Gives a sentence, or raises BadTreeError."""


def read_brackets(lines: NumberedLines) -> Iterator[tuple[int, Parse]]:
    """Yield the line at which each balanced bracket starts, and what parses it.

    A line whose last tab-separated field is a tree (`origin <TAB> sentence <TAB> (ROOT …)`) gives that tree.
    """
    queue = _Queue(lines)
    tabular: bool | None = None
    opened = _Open()
    for number, line in queue:
        if tabular is None and line.strip():
            tabular = not line.lstrip().startswith("(") and line.rpartition("\t")[2].lstrip().startswith("(")
        if tabular:
            line = line.rpartition("\t")[2]
        elif line.startswith("*x*"):  # the copyright header of the Penn Treebank's Brown files
            continue
        if opened.depth and (tabular or _OUTER.match(line)):
            yield opened.start, _refuse("brackets are not balanced: one is never closed")
            opened = _Open()
        yield from opened.add(number, line)
        if opened.size > MAX_CHARACTERS or (opened.depth and not queue.more()):
            yield opened.start, _refuse("brackets are not balanced: one is never closed")
            queue.put_back(opened.resume())
            opened = _Open()


class _Queue:
    """Numbered lines, some of which can be put back."""

    def __init__(self, lines: NumberedLines) -> None:
        self._lines = iter(lines)
        self._waiting: deque[tuple[int, str]] = deque()

    def __iter__(self) -> Iterator[tuple[int, str]]:
        while self.more():
            yield self._waiting.popleft()

    def more(self) -> bool:
        """Return whether there is another line."""
        if not self._waiting:
            self._waiting.extend([line for line in [next(self._lines, None)] if line is not None])
        return bool(self._waiting)

    def put_back(self, lines: list[tuple[int, str]]) -> None:
        self._waiting.extendleft(reversed(lines))


class _Open:
    """The tree that is open while lines are read."""

    def __init__(self) -> None:
        self.depth = self.deepest = self.size = self.start = 0
        self.lines: list[tuple[int, str]] = []

    def add(self, number: int, line: str) -> Iterator[tuple[int, Parse]]:
        """Take one more line and yield the trees that it completes, and what is wrong with it."""
        begin = end = 0
        for match in _BRACKET.finditer(line):
            if match[0] == "(":
                if not self.depth:
                    if line[end : match.start()].strip():
                        yield number, _refuse(f"text outside of a tree: {line[end : match.start()].strip()[:30]!r}")
                    self.start, begin = number, match.start()
                self.depth += 1
                self.deepest = max(self.deepest, self.depth)
            elif self.depth:
                self.depth -= 1
                if not self.depth:
                    end = match.end()
                    yield self.start, self._complete(line[begin:end])
            else:
                end = match.end()
                yield number, _refuse("brackets are not balanced: one is closed that was never opened")
        if self.depth:
            self.lines.append((number, line[begin:]))
            self.size += len(line)
        elif line[end:].strip():
            yield number, _refuse(f"text outside of a tree: {line[end:].strip()[:30]!r}")

    def _complete(self, last_line: str) -> Parse:
        text = "".join(line for _, line in self.lines) + last_line
        depth = self.deepest
        self.deepest = self.size = 0
        self.lines = []
        return lambda: parse_tree(text, depth)

    def resume(self) -> list[tuple[int, str]]:
        """Return the lines from the next one that may begin a tree: those before it belong to the broken tree."""
        for place, (_, line) in enumerate(self.lines[1:], 1):
            if line.startswith("("):
                return self.lines[place:]
        return []


def _refuse(reason: str) -> Parse:
    def parse() -> Sentence:
        raise BadTreeError(reason)

    return parse


def parse_tree(text: str, depth: int = 0) -> Sentence:
    """Return the sentence of one balanced bracket; `depth` is how deep its brackets are nested."""
    from nltk.tree import Tree as NltkTree

    if depth > MAX_DEPTH:
        raise BadTreeError(f"brackets are nested deeper than {MAX_DEPTH}")
    try:
        bracket = NltkTree.fromstring(text)
    except ValueError as error:
        raise BadTreeError(f"not a tree ({str(error).splitlines()[0]})") from None
    leaves: list[tuple[str, str]] = []
    _collect_leaves(bracket, leaves)
    if not leaves:
        raise BadTreeError("a tree without words")
    tags = tuple(tag for tag, _ in leaves)
    tokens = tokenise([_ESCAPES.get(word, word.replace("\\/", "/").replace("\\*", "*")) for _, word in leaves])
    tree = _rebuild(bracket, iter(tokens))
    assert tree is not None, "there are leaves"
    label, children = tree
    if label not in OUTER_LABELS or isinstance(children, str):
        children = (tree,)
    return Sentence(tokens, tags, ("ROOT", children))


def _collect_leaves(node: Any, leaves: list[tuple[str, str]]) -> None:
    words = [child for child in node if isinstance(child, str)]
    if not len(node):
        raise BadTreeError(f"an empty bracket ({node.label()})")
    if not words:
        for child in node:
            _collect_leaves(child, leaves)
    elif len(node) > 1 or node.label() == "":
        raise BadTreeError(f"the word {words[0]!r} has no tag of its own")
    elif node.label() != "-NONE-":
        leaves.append((strip_label(node.label()), words[0]))


def _rebuild(node: Any, tokens: Iterator[str]) -> Tree | None:
    """Return the tree with plain labels and without empty elements, or nothing if only those are in it."""
    if isinstance(node[0], str):
        return None if node.label() == "-NONE-" else (strip_label(node.label()), next(tokens))
    children = tuple(child for child in (_rebuild(child, tokens) for child in node) if child is not None)
    return (strip_label(node.label()), children) if children else None


def strip_label(label: str) -> str:
    """Return a label without its functions and indices: NP-SBJ-1 and NP=2 are NP, -LRB- and PRP$ are themselves."""
    if label.startswith("-"):
        return label
    return re.split(r"[-=]", label, maxsplit=1)[0] if "-" in label or "=" in label else label


def tokenise(words: Sequence[str]) -> tuple[str, ...]:
    """Return words in the tokenisation of SentEval's files, in which Penn's `did n't` is `didn 't`."""
    tokens: list[str] = []
    for word in words:
        if len(word) == 3 and tokens and word.lower() in ("n't", "n’t"):
            tokens[-1] += word[0]
            word = word[1:]
        tokens.append("_".join(word.split()) if " " in word or "\u00a0" in word else word)
    return tuple(tokens)
