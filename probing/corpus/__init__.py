"""Parsed text becomes task files: readers, the embedded grammar, the builders, SentEval's own files."""
