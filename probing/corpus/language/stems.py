"""Stems of Halvic words: each is derived from an English word by a fixed hash, so that it is the same everywhere."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

_ONSETS = "b d f g h j k l m n p r s t v z bl br dr fl gl gr kl kr pl pr sk sl sn sp st tr"
_MIDDLES = "b d f g k l m n p r s t v z"
_CODAS = "b d f g k l m n p r t v z ld lk lm lt mp nd nk nt rd rk rm rn rt sk st"
_VOWELS = "a e i o u"


def draw(key: str, sides: int) -> int:
    """Return a number from 0 to `sides` - 1 that depends on the key only."""
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "big") % sides


def _pick(key: str, part: str, sounds: str) -> str:
    choices = sounds.split()
    return choices[draw(f"{key} {part}", len(choices))]


def spell_stem(key: str, *, syllables: int = 2, initial: str = "") -> str:
    """Return a pronounceable stem that ends in a consonant; `initial` is its first letter if that is given."""
    onset = initial or _pick(key, "onset", _ONSETS)
    stem = onset if onset in _VOWELS.split() else onset + _pick(key, "vowel", _VOWELS)
    for number in range(1, syllables):
        stem += _pick(key, f"middle {number}", _MIDDLES) + _pick(key, f"vowel {number}", _VOWELS)
    return stem + _pick(key, "coda", _CODAS)


class Mint:
    """Coins stems of which no form, with any ending, is a form of another word."""

    def __init__(self, endings: Iterable[str], taken: Iterable[str]) -> None:
        self._endings = tuple(endings)
        self._taken = {text.lower() for text in taken}

    def coin(self, key: str, *, syllables: int = 2, initial: str = "", particles: tuple[str, ...] = ()) -> str:
        """Return the first free stem for a key; `particles` may be joined to it."""
        attempt = 0
        while True:
            stem = spell_stem(f"{key} {attempt}" if attempt else key, syllables=syllables, initial=initial)
            forms = {before + stem + ending for before in ("", *particles) for ending in self._endings}
            if self._taken.isdisjoint(forms):
                self._taken |= forms
                return stem
            attempt += 1
