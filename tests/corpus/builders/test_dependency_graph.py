"""The dependency tree of a sentence: its root, relations without subtypes, and the dependents of a word."""

from __future__ import annotations

from probing.corpus.builders.dependency_graph import DependencyGraph
from probing.corpus.readers import ParsedSentence


def make(heads: tuple[int, ...], relations: tuple[str, ...]) -> DependencyGraph:
    words = tuple("abcdef"[: len(heads)])
    return DependencyGraph(ParsedSentence(words, ("X",) * len(words), None, heads, relations))


def test_relations_lose_their_subtypes_and_dependents_are_found_by_them() -> None:
    graph = make((3, 3, 0, 3), ("nsubj:pass", "aux:pass", "root", "obj"))
    assert graph.root == 2
    assert graph.full_relations[1] == "aux:pass"
    assert graph.dependents(2, frozenset(["nsubj", "aux"])) == [0, 1]
    assert graph.dependents(0, frozenset(["nsubj"])) == []
    assert graph.features == ({}, {}, {}, {})


def test_of_several_roots_none_is_the_root() -> None:
    assert make((0, 0), ("root", "root")).root is None
