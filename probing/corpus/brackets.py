"""Penn-style brackets become Sentences: one balanced bracket at a time, through nltk's tree reader.

Empty elements go, and what they leave empty; functions and indices of labels go, but noun phrases that are adverbials
(NP-TMP, NP-EXT) become NP-ADV; an outer bracket (empty, ROOT, TOP, S1) becomes ROOT, and a tree without one gets it.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from probing.corpus.trees import BadTreeError, NumberedLines, Parse, Sentence, Tree, tokenise

MAX_DEPTH = 250
"""Brackets nested deeper than this are taken for a fault: real trees have some 60 levels at most."""
MAX_CHARACTERS = 1_000_000
"""A tree still open after so many characters has lost a bracket."""

OUTER_LABELS = frozenset(["", "ROOT", "TOP", "S1", "VROOT"])
ADVERBIAL = "NP-ADV"
"""The label of a noun phrase that is neither subject nor object, by its function; in all else it is an NP."""
_ADVERBIAL_FUNCTIONS = frozenset(["TMP", "EXT", "ADV", "LOC", "MNR", "DIR", "VOC"])
_OUTER = re.compile(r"\(\s*(\(|(ROOT|TOP|S1|VROOT)[\s(])")
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


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of an open tree: how many brackets are open before it, and at the least after it closed one."""

    number: int
    text: str
    before: int
    lowest: float


class _Open:
    """The tree that is open while lines are read."""

    def __init__(self) -> None:
        self.depth = self.deepest = self.size = self.start = 0
        self.lines: list[_Line] = []

    def add(self, number: int, line: str) -> Iterator[tuple[int, Parse]]:
        """Take one more line and yield the trees that it completes, and what is wrong with it."""
        begin = end = 0
        before, lowest = self.depth, math.inf
        for match in _BRACKET.finditer(line):
            if match[0] == "(":
                if not self.depth:
                    yield from _refuse_text(number, line[end : match.start()])
                    self.start, begin, before, lowest = number, match.start(), 0, math.inf
                self.depth += 1
                self.deepest = max(self.deepest, self.depth)
            elif self.depth:
                self.depth -= 1
                lowest = min(lowest, self.depth)
                if not self.depth:
                    end = match.end()
                    yield self.start, self._complete(line[begin:end])
            else:
                end = match.end()
                yield number, _refuse("brackets are not balanced: one is closed that was never opened")
        if self.depth:
            self.lines.append(_Line(number, line[begin:], before, lowest))
            self.size += len(line)
        else:
            yield from _refuse_text(number, line[end:])

    def _complete(self, last_line: str) -> Parse:
        text = "".join(line.text for line in self.lines) + last_line
        depth = self.deepest
        self.deepest = self.size = 0
        self.lines = []
        return lambda: parse_tree(text, depth)

    def resume(self) -> list[tuple[int, str]]:
        """Return the lines from the first one on that begins a bracket which is closed: the others are lost."""
        lowest, place = math.inf, len(self.lines)
        for number in range(len(self.lines) - 1, 0, -1):
            line = self.lines[number]
            lowest = min(lowest, line.lowest)
            if line.text.startswith("(") and lowest <= line.before:
                place = number
        return [(line.number, line.text) for line in self.lines[place:]]


def _refuse_text(number: int, text: str) -> Iterator[tuple[int, Parse]]:
    if text.strip():
        yield number, _refuse("text outside of a tree")


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
    tree = _clean(bracket, leaves)
    if tree is None:
        raise BadTreeError("a tree without words")
    words = tuple([word for _, word in leaves])
    tokens = tokenise(words)
    if tokens != words:
        tree = _replace_words(tree, iter(tokens))
    label, children = tree
    if label not in OUTER_LABELS or isinstance(children, str):
        children = (tree,)
    return Sentence(tokens, tuple([tag for tag, _ in leaves]), ("ROOT", children))


def _clean(node: Any, leaves: list[tuple[str, str]]) -> Tree | None:
    """Return nltk's tree with plain labels and words and without empty elements, and collect its leaves."""
    label = node.label()
    children: list[Tree] = []
    for child in node:
        if isinstance(child, str):
            if len(node) > 1 or not label:
                raise BadTreeError("a word has no tag of its own")
            if label == "-NONE-":
                return None
            leaf = (strip_label(label), _ESCAPES.get(child) or child.replace("\\/", "/").replace("\\*", "*"))
            leaves.append(leaf)
            return leaf
        cleaned = _clean(child, leaves)
        if cleaned is not None:
            children.append(cleaned)
    if not len(node):
        raise BadTreeError("an empty bracket")
    return (_name_phrase(label), tuple(children)) if children else None


def _replace_words(node: Tree, tokens: Iterator[str]) -> Tree:
    label, children = node
    if isinstance(children, str):
        return label, next(tokens)
    return label, tuple([_replace_words(child, tokens) for child in children])


def _name_phrase(label: str) -> str:
    """Return a phrase's label without functions and indices, or the one of all adverbial noun phrases."""
    if label.startswith("NP-"):
        functions = re.split("[-=]", label)[1:]
        if "SBJ" not in functions and not _ADVERBIAL_FUNCTIONS.isdisjoint(functions):
            return ADVERBIAL
    return strip_label(label)


def strip_label(label: str) -> str:
    """Return a label without its functions and indices: NP-SBJ-1 and NP=2 are NP, -LRB- and PRP$ are themselves."""
    if label.startswith("-"):
        return label
    return label.partition("-")[0].partition("=")[0] if "-" in label or "=" in label else label
