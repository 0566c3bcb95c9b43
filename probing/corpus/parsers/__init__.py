"""Raw text becomes parsed sentences: by a parser that is installed, or without one as plain words."""

from probing.corpus.parsers.parses import read_parse
from probing.corpus.parsers.specification import identify_parser
from probing.corpus.parsers.splitting import Splitter, learn_abbreviations
from probing.corpus.parsers.texts import TextPiece, ends_like_a_sentence, read_pieces
