"""A toy language pair: words reversed in order, each with an ending that depends on the word after it."""

from __future__ import annotations

from pathlib import Path
from random import Random

FIRST, SECOND = ("ba", "de", "fi", "go", "lu", "mi", "no", "ra"), ("ka", "ne", "po", "ru", "si", "ta", "ve", "zo")
WORDS = tuple(first + second for first in FIRST for second in SECOND)
"""The 64 words of `en`."""
ENDINGS = {"b": "an", "d": "an", "f": "el", "g": "el", "l": "is", "m": "is", "n": "ot", "r": "ot"}
"""Ending of a word of `xx` before a word that begins so."""
LONGEST = 7


def translate(sentence: str) -> str:
    """Return the `xx` of a sentence of `en`: the words in reverse order, each inflected by its next word."""
    words = sentence.rstrip(".").split()
    inflected = [word + ENDINGS[after[0]] for word, after in zip(words, [*words[1:], words[0]], strict=True)]
    return " ".join(reversed(inflected)).capitalize() + "."


def write_toy_corpus(folder: Path, *, train: int = 200, dev: int = 20, test: int = 20, seed: int = 0) -> Path:
    """Write files of the languages `en` and `xx` to a folder and return it; no two pairs are the same."""
    random, seen = Random(seed), set[str]()
    folder.mkdir(parents=True, exist_ok=True)
    for split, size in (("train", train), ("dev", dev), ("test", test)):
        sources = list[str]()
        while len(sources) < size:
            sentence = " ".join(random.choices(WORDS, k=random.randint(2, LONGEST))).capitalize() + "."
            if sentence not in seen:
                seen.add(sentence)
                sources.append(sentence)
        for language, lines in (("en", sources), ("xx", map(translate, map(str.lower, sources)))):
            (folder / f"{split}.{language}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder
