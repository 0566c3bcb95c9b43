"""Task files: fetched from SentEval, built from parsed text or from the embedded grammar, described and checked."""
