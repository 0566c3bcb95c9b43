"""Pairs for people to read: each Halvic word above its gloss, the tree, and the phenomena with what carries them."""

from __future__ import annotations

from collections.abc import Iterator

from probing.corpus.grammar import format_tree
from probing.corpus.language.checks import list_carriers
from probing.corpus.language.phenomena import PHENOMENA
from probing.corpus.language.transfer import LANGUAGE_NAME, Pair

_WIDTH = 110
_LABEL = 18


def format_pair(pair: Pair) -> str:
    """Return a pair as lines of text."""
    lines = [f"{'English':<{_LABEL}} {' '.join(pair.source)}"]
    label = LANGUAGE_NAME
    for words, glosses in _wrap(pair):
        lines += (f"{label:<{_LABEL}} {words}", f"{'':<{_LABEL}} {glosses}")
        label = ""
    lines.append(f"{'tree':<{_LABEL}} {format_tree(pair.tree)}")
    for name in PHENOMENA:
        carriers = [" ".join(list_carriers(check, pair.target)) for check in pair.checks if check.phenomenon == name]
        if carriers:
            lines.append(f"{name:<{_LABEL}} {' | '.join(carriers)}")
    return "\n".join(lines)


def _wrap(pair: Pair) -> Iterator[tuple[str, str]]:
    """Yield lines of words and of glosses, with each gloss below its word."""
    words = glosses = ""
    for word, gloss in zip(pair.target, pair.gloss, strict=True):
        width = max(len(word), len(gloss))
        if words and len(words) + width > _WIDTH:
            yield words.rstrip(), glosses.rstrip()
            words = glosses = ""
        words += f"{word:<{width}} "
        glosses += f"{gloss:<{width}} "
    yield words.rstrip(), glosses.rstrip()
