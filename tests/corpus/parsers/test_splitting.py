"""Sentences and tokens without a parser."""

from __future__ import annotations

from pathlib import Path

import pytest

from probing.corpus.parsers.splitting import Splitter, learn_abbreviations, split_tokens
from probing.corpus.parsers.texts import TextPiece


@pytest.mark.parametrize(
    ("sentence", "tokens"),
    [
        ("The dog's bone, he said.", "The dog 's bone , he said ."),
        ("They didn't know; we'll see.", "They did n't know ; we 'll see ."),
        ("They didn’t know: it’s fine.", "They did n’t know : it ’s fine ."),
        ("L'homme qu'il connaît aujourd'hui", "L' homme qu' il connaît aujourd'hui"),
        ("Dell'arte dell'alba", "Dell' arte dell' alba"),
        ("The dogs' bones cost 3,500.75 dollars.", "The dogs ' bones cost 3,500.75 dollars ."),
        ("A well-known man -- old—ran at 10:30...", "A well-known man -- old — ran at 10:30 ..."),
        ("»Was?« fragte sie (leise).", "» Was ? « fragte sie ( leise ) ."),
        ("The U.S. army", "The U.S. army"),
        ("O'Neill came.", "O' Neill came ."),
        ("Они не знали.", "Они не знали ."),
    ],
)
def test_tokens(sentence: str, tokens: str) -> None:
    assert list(split_tokens(sentence)) == tokens.split()


def test_a_full_stop_belongs_to_an_abbreviation() -> None:
    tokens = list(split_tokens("Mr. J. Smith met Mr. Jones etc.", {"mr", "etc"}))
    assert " ".join(tokens) == "Mr. J. Smith met Mr. Jones etc ."


def test_abbreviations_are_learned_from_the_text() -> None:
    text = "Then Mr. Smith came in. Later Mr. Brown left. I saw Mr. Green. He was old. You know Mr. White. " * 20
    splitter = Splitter(learn_abbreviations([text]))
    piece = TextPiece(Path("x"), ('Here Mr. Black ran. "Stop!" he said. Who didn\'t?',))
    found = [" ".join(sentence.tokens) for sentence in splitter.split(piece)]
    assert found == ["Here Mr. Black ran .", '" Stop ! " he said .', "Who didn 't ?"]
    assert all(sentence.heads is None and sentence.tree is None for sentence in splitter.split(piece))
