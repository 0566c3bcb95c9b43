"""Readers of parsed text: Penn-style brackets and CoNLL-U."""

from probing.corpus.readers.parsed_text import BadTreeError, Format, ParsedSentence, Tree, read_lines, read_sentences
