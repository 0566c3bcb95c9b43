"""The embedded grammar: English sentences with gold Penn-style trees.

A probabilistic grammar written for this project: plain functions that draw words from weighted lists. It is
deterministic: all chance comes from `random.Random(seed).random()`, which is the same everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from random import Random

from probing.corpus.grammar.lexicon import Choice, weigh
from probing.corpus.grammar.phrases import CHAIN, DEEP, FLAT, LISTS, MIXED, Writer
from probing.corpus.grammar.sentences import SENTENCES
from probing.corpus.trees import Sentence, Tree

GRAMMAR_VERSION = 1
"""Changes whenever the same seed gives other sentences: cached data sets depend on it."""

MIN_LENGTH, MAX_LENGTH = 5, 28

_LENGTHS: Choice[int] = Choice(range(MIN_LENGTH, MAX_LENGTH + 2), [4.0] * 4 + [4.5] * 12 + [3.2] * 4 + [3.5] * 5)
_SHORT = weigh({LISTS: 5.0, FLAT: 20.0, MIXED: 25.0, DEEP: 25.0, CHAIN: 25.0})
_MIDDLE = weigh({LISTS: 15.0, FLAT: 20.0, MIXED: 25.0, DEEP: 30.0, CHAIN: 10.0})
_LONG = weigh({LISTS: 30.0, FLAT: 25.0, MIXED: 22.0, DEEP: 22.0, CHAIN: 1.0})
_STYLES = [_SHORT if length < 10 else _MIDDLE if length < 16 else _LONG for length in range(MAX_LENGTH + 2)]
"""Long sentences are more often flat and short ones deep, so that depth does not follow from length."""

_PLURALITIES = [1.0 if length < 12 else 0.85 if length < 15 else 0.62 for length in range(MAX_LENGTH + 2)]


def generate(seed: int, count: int | None = None) -> Iterator[Sentence]:
    """Yield sentences of 5 to 28 tokens with their trees: `count` of them, or without end."""
    sentences = _generate(Random(seed).random)
    return sentences if count is None else islice(sentences, count)


def _generate(random: Callable[[], float]) -> Iterator[Sentence]:
    writer = Writer(random)
    while True:
        length = _LENGTHS(random)
        writer.style = _STYLES[length](random)
        writer.past = random() < 0.42
        writer.plain = writer.timed = False
        writer.plurality = _PLURALITIES[length]
        tree = _capitalize(SENTENCES(random)(writer, length))
        tags: list[str] = []
        tokens: list[str] = []
        _collect(tree, tags, tokens)
        if MIN_LENGTH <= len(tokens) <= MAX_LENGTH:
            yield Sentence(tuple(tokens), tuple(tags), ("ROOT", (tree,)))


def _capitalize(tree: Tree) -> Tree:
    label, children = tree
    if isinstance(children, str):
        return (label, children[0].upper() + children[1:])
    return (label, (_capitalize(children[0]), *children[1:]))


def _collect(tree: Tree, tags: list[str], tokens: list[str]) -> None:
    children: tuple[Tree, ...] = tree[1]  # type: ignore[assignment]
    for child in children:
        label, content = child
        if isinstance(content, str):
            tags.append(label)
            tokens.append(content)
        else:
            _collect(child, tags, tokens)


def format_tree(tree: Tree) -> str:
    """Return a tree as Penn-style brackets on one line, which `probe data build --trees` reads."""
    label, children = tree
    if isinstance(children, str):
        return f"({label} {children})"
    return f"({label} {' '.join(map(format_tree, children))})"
