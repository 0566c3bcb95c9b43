"""Reader of Penn-style brackets: each balanced bracket is one sentence.

Trees are simplified. Empty elements and the phrases that consist of them alone are removed. Labels lose their functions
and indices, except that adverbial and predicative noun phrases (NP-TMP, NP-EXT, NP-PRD) become NP-ADV. The outer
bracket (empty, ROOT, TOP, S1) becomes ROOT, and is added to a tree without one.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial

from probing.corpus.readers.parsed_text import BadTreeError, NumberedLines, Parse, ParsedSentence, Tree, tokenise

MAX_DEPTH = 250
"""Deepest nesting of brackets that is accepted; real trees have about 60 levels at most."""
MAX_CHARACTERS = 1_000_000
"""Longest tree that is accepted; a tree still open after that has lost a bracket."""
MAX_LABELS = 4096
"""Number of labels whose plain forms are remembered."""

OUTER_LABELS = frozenset(["", "ROOT", "TOP", "S1", "VROOT"])
"""Labels of a bracket around the whole sentence."""
ADVERBIAL = "NP-ADV"
"""Label of a noun phrase whose function says that it is neither subject nor object; otherwise it counts as an NP."""
_ADVERBIAL_FUNCTIONS = frozenset(["TMP", "EXT", "ADV", "LOC", "MNR", "DIR", "VOC", "PRD"])
_OUTER = re.compile(r"\(\s*(\(|(ROOT|TOP|S1|VROOT)[\s(])")
_BRACKET = re.compile(r"[()]")
_PIECES = re.compile(r"\(\s*([^\s()]+)\s+([^\s()]+)\s*\)|\(\s*([^\s()]*)|(\))|([^\s()]+)")
"""A tag and its word, an opening bracket with its label, a closing bracket, or a word without a tag."""
_ESCAPES = {"-LRB-": "(", "-RRB-": ")", "-LCB-": "{", "-RCB-": "}", "-LSB-": "[", "-RSB-": "]", "``": '"', "''": '"'}


def read_brackets(lines: NumberedLines) -> Iterator[tuple[int, Parse]]:
    """Yield, for each balanced bracket, the number of its first line and a function that parses it.

    Of a line with tabs whose last field is a tree (`origin <TAB> sentence <TAB> (ROOT …)`), only that tree is read.
    """
    queue = _LineQueue(lines)
    tabular: bool | None = None
    opened = _OpenTree()
    for number, line in queue:
        if tabular is None and line.strip():
            tabular = not line.lstrip().startswith("(") and line.rpartition("\t")[2].lstrip().startswith("(")
        if tabular:
            line = line.rpartition("\t")[2]
        elif line.startswith("*x*"):  # the copyright header of the Penn Treebank's Brown files
            continue
        if not opened.depth and _is_whole_tree(line):
            yield number, partial(parse_tree, line)
            continue
        if opened.depth and (tabular or _OUTER.match(line)):
            yield opened.start, _refuse("brackets are not balanced: one is never closed")
            opened = _OpenTree()
        yield from opened.add(number, line)
        if opened.size > MAX_CHARACTERS or (opened.depth and not queue.more()):
            yield opened.start, _refuse("brackets are not balanced: one is never closed")
            queue.put_back(opened.resume())
            opened = _OpenTree()


def _is_whole_tree(line: str) -> bool:
    """Return whether a line is one tree, as far as can be seen quickly: (ROOT …), balanced, and no second one."""
    return line.startswith("(ROOT") and line.count("(") == line.count(")") and line.find("(ROOT", 1) < 0


class Boundaries:
    """Finds the lines before which no tree is open, by counting brackets."""

    def __init__(self) -> None:
        self._depth = 0

    def begins(self, line: str, late: bool) -> bool:
        """Return whether a tree begins here; if the end is late, a line that begins with a bracket is enough."""
        here = not self._depth or _OUTER.match(line) is not None or (late and line.startswith("("))
        if here:
            self._depth = 0
        if line.startswith("(") or "\t(" not in line:  # a line with tabs has a whole tree in its last field
            self._depth = max(0, self._depth + line.count("(") - line.count(")"))
        return here


class _LineQueue:
    """Numbered lines, read one by one, that can be put back."""

    def __init__(self, lines: NumberedLines) -> None:
        self._lines = iter(lines)
        self._waiting: deque[tuple[int, str]] = deque()

    def __iter__(self) -> Iterator[tuple[int, str]]:
        while self.more():
            yield self._waiting.popleft()

    def more(self) -> bool:
        """Return whether a line is left."""
        if not self._waiting:
            self._waiting.extend([line for line in [next(self._lines, None)] if line is not None])
        return bool(self._waiting)

    def put_back(self, lines: list[tuple[int, str]]) -> None:
        """Put lines back, so that they are read next."""
        self._waiting.extendleft(reversed(lines))


@dataclass(frozen=True, slots=True)
class _OpenLine:
    """A line of a tree that is not closed yet."""

    number: int
    text: str
    before: int
    """Brackets that are open before the line."""
    lowest: float
    """Fewest brackets that are open after any closing bracket of the line; infinite without one."""


class _OpenTree:
    """The tree that is being read: its lines so far and the number of brackets that are open."""

    def __init__(self) -> None:
        self.depth = self.size = self.start = 0
        self.lines: list[_OpenLine] = []

    def add(self, number: int, line: str) -> Iterator[tuple[int, Parse]]:
        """Add a line and yield the trees that it completes, and an error for each fault in it."""
        begin = end = 0
        before, lowest = self.depth, math.inf
        for match in _BRACKET.finditer(line):
            if match[0] == "(":
                if not self.depth:
                    yield from _refuse_text(number, line[end : match.start()])
                    self.start, begin, before, lowest = number, match.start(), 0, math.inf
                self.depth += 1
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
            self.lines.append(_OpenLine(number, line[begin:], before, lowest))
            self.size += len(line)
        else:
            yield from _refuse_text(number, line[end:])

    def _complete(self, last_line: str) -> Parse:
        text = "".join(line.text for line in self.lines) + last_line
        self.size = 0
        self.lines = []
        return partial(parse_tree, text)

    def resume(self) -> list[tuple[int, str]]:
        """Return the lines to read again after the tree is given up: from the first that begins a closed bracket."""
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
    def parse() -> ParsedSentence:
        raise BadTreeError(reason)

    return parse


def parse_tree(text: str) -> ParsedSentence:
    """Return the sentence of one balanced bracket."""
    tags: list[str] = []
    words: list[str] = []
    tree = _parse(text, tags, words)
    if tree is None:
        raise BadTreeError("a tree without words")
    tokens = tokenise(words)
    if tokens != tuple(words):
        tree = _replace_words(tree, iter(tokens))
    label, children = tree
    if label not in OUTER_LABELS or isinstance(children, str):
        children = (tree,)
    return ParsedSentence(tokens, tuple(tags), ("ROOT", children))


def _parse(text: str, tags: list[str], words: list[str]) -> Tree | None:
    """Return a tree with plain labels and without empty elements, and add its leaves to `tags` and `words`."""
    open_labels: list[str] = []
    open_children: list[list[Tree]] = []
    children: list[Tree] = []
    """Children of the bracket that is open, or at the end the tree itself."""
    emptied: set[int] = set()
    """Depths of the open brackets that have lost an empty element."""
    for tag, word, label, closed, stray in _PIECES.findall(text):
        if tag:
            if tag == "-NONE-":
                emptied.add(len(open_labels))
                continue
            tag = strip_label(tag)
            word = _ESCAPES.get(word) or (word if "\\" not in word else _unescape(word))
            tags.append(tag)
            words.append(word)
            children.append((tag, word))
        elif closed:
            if not open_labels:
                raise BadTreeError("brackets are not balanced: one is closed that was never opened")
            name = _name_phrase(open_labels.pop())
            if children:
                open_children[-1].append((name, tuple(children)))
            elif len(open_labels) + 1 in emptied:
                emptied.add(len(open_labels))
            else:
                raise BadTreeError("an empty bracket")
            emptied.discard(len(open_labels) + 1)
            children = open_children.pop()
        elif stray:
            raise BadTreeError("a word has no tag of its own")
        else:
            open_labels.append(label)
            open_children.append(children)
            children = []
            if len(open_labels) > MAX_DEPTH:
                raise BadTreeError(f"brackets are nested deeper than {MAX_DEPTH}")
    if open_labels or len(children) > 1:
        raise BadTreeError("brackets are not balanced: one is closed too early or never")
    return children[0] if children else None


def _unescape(word: str) -> str:
    return word.replace("\\/", "/").replace("\\*", "*")


def _replace_words(node: Tree, tokens: Iterator[str]) -> Tree:
    label, children = node
    if isinstance(children, str):
        return label, next(tokens)
    return label, tuple([_replace_words(child, tokens) for child in children])


@lru_cache(MAX_LABELS)
def _name_phrase(label: str) -> str:
    """Return a phrase's label without functions and indices, or ADVERBIAL for an adverbial noun phrase."""
    if label.startswith("NP-"):
        functions = re.split("[-=]", label)[1:]
        if "SBJ" not in functions and not _ADVERBIAL_FUNCTIONS.isdisjoint(functions):
            return ADVERBIAL
    return strip_label(label)


@lru_cache(MAX_LABELS)
def strip_label(label: str) -> str:
    """Return a label without its functions and indices: NP-SBJ-1 and NP=2 are NP, -LRB- and PRP$ are themselves."""
    if label.startswith("-"):
        return label
    return label.partition("-")[0].partition("=")[0] if "-" in label or "=" in label else label
