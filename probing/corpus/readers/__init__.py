"""Readers of parsed text: Penn-style brackets and CoNLL-U."""

from probing.corpus.readers.parsed_text import (
    BadTreeError,
    Format,
    Kind,
    NumberedLines,
    ParsedSentence,
    Tree,
    divide,
    find_kind,
    parse_lines,
    read_lines,
    read_sentences,
    tokenise,
)
