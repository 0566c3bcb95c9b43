"""Parses of raw text are kept in the cache, piece by piece: a second build costs no parsing, an interruption little."""

from __future__ import annotations

import gzip
import zlib

from probing.corpus.parsers.specification import load_parser
from probing.corpus.parsers.texts import TextPiece
from probing.errors import ProbingError
from probing.storage import (
    PARSES,
    cache_folder,
    hash_json,
    make_name,
    open_file,
    refuse_links,
    write_atomically,
    writing,
)

VERSION = 1
"""Version of what becomes of a parser's output; another one makes all parses anew."""


def read_parse(piece: TextPiece, parser: str, identity: str) -> str:
    """Return the CoNLL-U of a piece of text, from the cache if it is there; `identity` is that of the parser."""
    key = hash_json([VERSION, identity, piece.paragraphs])
    path = cache_folder(PARSES) / f"{make_name(identity)}-{hash_json(identity)[:8]}" / f"{key[:32]}.conllu.gz"
    try:
        with open_file(path) as file:
            return gzip.decompress(file.read()).decode()
    except (ProbingError, OSError, EOFError, zlib.error, UnicodeDecodeError):  # not there, or damaged
        parse = load_parser(parser).parse(piece.paragraphs)
    refuse_links(path.parents[1], path.parent)
    with writing(path.parent, "parses"):
        write_atomically(path, gzip.compress(parse.encode(), compresslevel=1, mtime=0))
    return parse
