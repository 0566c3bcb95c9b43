"""The parser that a user names: `spacy:MODEL`, `stanza:LANGUAGE` or `udpipe:FILE`."""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Protocol

from probing.errors import ProbingError, unknown

PACKAGES = {"spacy": "spacy", "stanza": "stanza", "udpipe": "ufal.udpipe"}
"""Kind of parser -> package that it needs, which is an extra of the same name."""


class Parser(Protocol):
    """A parser of raw text."""

    def parse(self, paragraphs: Sequence[str]) -> str:
        """Return the sentences of some paragraphs as CoNLL-U with Universal Dependencies."""
        ...


def identify_parser(specification: str) -> str:
    """Return the versions of a parser and its model, on which parses depend; nothing is loaded.

    A parser that is named wrongly or not installed is an error.
    """
    kind, colon, name = specification.partition(":")
    if kind not in PACKAGES:
        raise unknown("parser", kind, PACKAGES)
    if not (colon and name):
        raise ProbingError(f"--parser {specification}: name its model, as in {_example(kind)}")
    try:
        version = importlib.metadata.version(PACKAGES[kind])
    except importlib.metadata.PackageNotFoundError:
        raise ProbingError(
            f"--parser {specification}: {kind} is not installed. pip install 'probing[{kind}]'"
        ) from None
    return f"{kind} {version}, {_import(kind).identify(name)}"


@lru_cache(maxsize=1)
def load_parser(specification: str) -> Parser:
    """Load a parser; each process loads it once."""
    kind, _, name = specification.partition(":")
    parser: Parser = _import(kind).load(name)
    return parser


def _import(kind: str) -> Any:
    return importlib.import_module(f"probing.corpus.parsers.{kind}")


def _example(kind: str) -> str:
    return {"spacy": "spacy:en_core_web_sm", "stanza": "stanza:en", "udpipe": "udpipe:english.udpipe"}[kind]
