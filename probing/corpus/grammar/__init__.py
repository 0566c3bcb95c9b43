"""The embedded grammar, which generates English sentences with gold Penn-style trees."""

from probing.corpus.grammar.generating import GRAMMAR_VERSION, format_tree, generate
