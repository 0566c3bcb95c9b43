"""Sentences and tokens of raw text without a parser, in any language that writes spaces between words.

Sentences are split by nltk's Punkt (Kiss and Strunk 2006), which learns the abbreviations from the text itself. Tokens
are words, numbers and single punctuation marks. English clitics (`did n't`, `he 's`) and the elided articles and
pronouns of French and Italian (`l' homme`) are tokens of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Any

from probing.corpus.parsers.texts import TextPiece
from probing.corpus.readers import ParsedSentence, tokenise

LEARNED_FROM = 2_000_000
"""Number of characters from which the abbreviations are learned."""
APOSTROPHES = "'’ʼ"
_CLITICS = frozenset(["s", "m", "d", "re", "ve", "ll"])
_LONG_ELIDED = "jusqu lorsqu puisqu quelqu dell nell sull dall quell bell sant tutt"
_ELIDED = frozenset(_LONG_ELIDED.split())
"""Words of more than two letters that lose their last vowel before another word, as in French and Italian."""
_LAST_WORD = re.compile(r"\w+$")
_TOKEN = re.compile(
    rf"(?:[A-Z]\.){{2,}}"  # U.S.
    rf"|\d+(?:[.,:]\d+)*"
    rf"|\w+(?:[-{APOSTROPHES}]\w+)*[{APOSTROPHES}]?"
    rf"|\.\.\.|…|--+|—"
    rf"|\S"
)


def learn_abbreviations(texts: Iterable[str]) -> Any:
    """Return what Punkt learns from the first texts: abbreviations, and words that often begin a sentence."""
    from nltk.tokenize.punkt import PunktTrainer

    trainer = PunktTrainer()
    size = 0
    for text in texts:
        trainer.train(text, finalize=False)
        size += len(text)
        if size >= LEARNED_FROM:
            break
    trainer.finalize_training()
    return trainer.get_params()


class Splitter:
    """Splits paragraphs into sentences of tokens."""

    def __init__(self, parameters: Any) -> None:
        """Use the parameters that `learn_abbreviations` returned."""
        from nltk.tokenize.punkt import PunktSentenceTokenizer

        self._punkt = PunktSentenceTokenizer(parameters)
        self._abbreviations = frozenset(parameters.abbrev_types)

    def split(self, piece: TextPiece) -> Iterator[ParsedSentence]:
        """Yield the sentences of a piece of text, without a parse."""
        for paragraph in piece.paragraphs:
            for sentence in _join_speech(self._punkt.tokenize(paragraph)):
                tokens = tokenise([*split_tokens(sentence, self._abbreviations)])
                yield ParsedSentence(tokens, ("X",) * len(tokens))


def _join_speech(sentences: Sequence[str]) -> list[str]:
    """Join what Punkt splits at `"Stop!" he said.`: a sentence does not begin with a small letter."""
    joined: list[str] = []
    for sentence in sentences:
        if joined and sentence[:1].islower():
            joined[-1] += f" {sentence}"
        else:
            joined.append(sentence)
    return joined


def split_tokens(sentence: str, abbreviations: Set[str] = frozenset()) -> Iterator[str]:
    """Yield the tokens of a sentence; a full stop after an abbreviation belongs to it, except at the end."""
    found = list(_TOKEN.finditer(sentence))
    for match, following in zip(found, [*found[1:], None], strict=True):
        token = match[0]
        if token == "." and following is not None and _is_abbreviated(sentence[: match.start()], abbreviations):
            continue
        if len(token) > 1 and token[0].isalpha() and any(mark in token for mark in APOSTROPHES):
            yield from _split_word(token)
        elif (
            sentence[match.end() : match.end() + 1] == "."
            and following is not found[-1]
            and (_is_abbreviated(sentence[: match.end()], abbreviations))
        ):
            yield f"{token}."
        else:
            yield token


def _is_abbreviated(before: str, abbreviations: Set[str]) -> bool:
    word = _LAST_WORD.search(before)
    return word is not None and (word[0].lower() in abbreviations or (len(word[0]) == 1 and word[0].isupper()))


def _split_word(word: str) -> Iterator[str]:
    """Yield the parts of a word with an apostrophe."""
    lowered = word.lower()
    place = max(map(word.rfind, APOSTROPHES))
    before, after = word[:place], word[place + 1 :]
    if not after:  # the end of a quotation, or a plural's genitive
        yield from (before, word[place:])
    elif re.search(rf"n[{APOSTROPHES}]t$", lowered) and len(word) > 3:
        yield from (word[:-3], word[-3:])
    elif lowered[place + 1 :] in _CLITICS:
        yield from (before, word[place:])
    elif len(before) <= 2 or lowered[:place] in _ELIDED:
        yield from (word[: place + 1], after)
    else:
        yield word
