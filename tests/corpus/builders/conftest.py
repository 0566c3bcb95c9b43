"""A toy corpus: sentences with trees, long and short, past and present, one clause or two."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from probing.corpus.builders.survey import Survey, count_part, take_survey
from probing.corpus.readers import ParsedSentence
from probing.corpus.readers.brackets import parse_tree

ONSETS = ("bl", "cr", "dr", "fl", "gr", "kn", "pl", "sk", "sn", "st", "tr", "v")
NOUNS = [f"{onset}{rest}" for onset in ONSETS for rest in ("ack", "ent", "isp", "olm", "urd", "ain", "eek", "oot")]
VERBS = [f"{onset}{rest}" for onset in ONSETS for rest in ("amp", "ick", "ozz", "ulk", "eft", "ing")]
"""Verbs, whose endings no noun has."""


def draw(random: Random, words: list[str]) -> str:
    """Draw a word, the first ones more often."""
    return words[int(len(words) * random.random() ** 2)]


def noun_phrase(random: Random, depth: int) -> str:
    noun, plural = draw(random, NOUNS), random.random() < 0.5
    head = f"(NP (DT the) ({'NNS' if plural else 'NN'} {noun}{'s' if plural else ''}))"
    if depth and random.random() < 0.6:
        return f"(NP {head} (PP (IN {random.choice(['of', 'in', 'near'])}) {noun_phrase(random, depth - 1)}))"
    return head


def clause(random: Random, depth: int) -> str:
    tag, ending = random.choice([("VBD", "ed"), ("VBZ", "s"), ("VBP", "")])
    verb = f"({tag} {draw(random, VERBS)}{ending})"
    adverb = " (ADVP (RB slowly))" if random.random() < 0.3 else ""
    return f"(S {noun_phrase(random, depth)}{adverb} (VP {verb} {noun_phrase(random, depth)}))"


def sentence(random: Random) -> ParsedSentence:
    if random.random() < 0.4:
        first, second = clause(random, random.randint(0, 2)), clause(random, random.randint(0, 2))
        text = f"(ROOT (S {first} {'(, ,) ' if random.random() < 0.5 else ''}(CC and) {second} (. .)))"
    else:
        text = f"(ROOT {clause(random, random.randint(0, 4))[:-1]} (. .)))"
    words = parse_tree(text)
    return ParsedSentence((words.tokens[0].capitalize(), *words.tokens[1:]), words.tags, words.tree)


@pytest.fixture(scope="session")
def make_corpus() -> Callable[[int, int], list[ParsedSentence]]:
    """Return a function that makes a corpus from a seed and a size."""

    def make(seed: int, size: int) -> list[ParsedSentence]:
        random = Random(seed)
        return [sentence(random) for _ in range(size)]

    return make


@pytest.fixture
def take(tmp_path: Path) -> Iterator[Callable[..., Survey]]:
    """Return a function that takes a survey of parts of 500 sentences, which is closed after the test."""
    with contextlib.ExitStack() as stack:

        def take_and_close_later(sentences: list[ParsedSentence], *, seed: int = 0, **options: Any) -> Survey:
            parts = [count_part(sentences[i : i + 500], seed=seed) for i in range(0, len(sentences), 500)]
            found = take_survey(parts, tmp_path, **options)
            return stack.enter_context(contextlib.closing(found))

        yield take_and_close_later
