"""Readers of parsed text: Penn-style brackets and CoNLL-U become Sentences, one at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Tree = tuple[str, "tuple[Tree, ...] | str"]
"""A constituency tree: (label, children), or (tag, word) at the leaves."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A parsed sentence: a constituency tree, or heads, relations and features, is there."""

    tokens: tuple[str, ...]
    tags: tuple[str, ...]
    """Penn tags, or universal tags where the source has no others."""
    tree: Tree | None = None
    heads: tuple[int, ...] | None = None
    """The place (from 1) of each token's head; 0 for the root."""
    relations: tuple[str, ...] | None = None
    features: tuple[Mapping[str, str], ...] | None = None
