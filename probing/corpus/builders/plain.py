"""Annotations of a sentence that was not parsed: its words alone, enough for SeLen, WC and BShif."""

from __future__ import annotations

from probing.corpus.builders.annotations import Annotations
from probing.corpus.readers import ParsedSentence

REASON = "the sentence was not parsed"


def extract(sentence: ParsedSentence) -> Annotations:
    """Return the annotations of a sentence without a parse."""
    return Annotations(
        tokens=sentence.tokens,
        depth=0,
        top="",
        tense=REASON,
        subject=REASON,
        object=REASON,
        clauses=REASON,
        kinds=" ".join("-" * len(sentence.tokens)),
        proper=False,
    )
