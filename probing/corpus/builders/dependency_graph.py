"""The dependency tree of one sentence, with the questions that the annotations ask of it."""

from __future__ import annotations

from typing import cast

from probing.corpus.readers import ParsedSentence


class DependencyGraph:
    """A sentence's dependency tree, with relations without subtypes and positions from 0."""

    def __init__(self, sentence: ParsedSentence) -> None:
        self.tokens = sentence.tokens
        self.tags = sentence.tags
        self.heads = cast(tuple[int, ...], sentence.heads)
        self.full_relations = cast(tuple[str, ...], sentence.relations)
        """Relations with their subtypes, as in `aux:pass`."""
        self.relations = [relation.partition(":")[0] for relation in self.full_relations]
        self.features = sentence.features or ({},) * len(sentence.tokens)
        self.children: list[list[int]] = [[] for _ in sentence.tokens]
        for place, head in enumerate(self.heads):
            if head:
                self.children[head - 1].append(place)
        roots = [place for place, head in enumerate(self.heads) if head == 0]
        self.root = roots[0] if len(roots) == 1 else None

    def dependents(self, place: int, relations: frozenset[str]) -> list[int]:
        """Return the positions of a word's dependents with one of the relations."""
        return [child for child in self.children[place] if self.relations[child] in relations]
