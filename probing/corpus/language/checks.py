"""Checks of a translation: whether each phenomenon came out right, told from the tokens of a system's output alone.

Words are recognised by their stem, so a wrong ending does not disturb a check of the order, nor a wrong place one of
an ending. A check is made only of words that occur once in the translation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from probing.corpus.language.draft import Note
from probing.corpus.language.forms import FORMS, Form
from probing.corpus.language.particles import NEGATION


class Check(NamedTuple):
    """A check: what an output must show to have one phenomenon right."""

    phenomenon: str
    words: tuple[str, ...]
    """Words of the language, and what is asked of them; the meaning depends on the phenomenon."""


class _Output:
    """The tokens of an output, each as the form that it is, and the places of each word."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self.tokens = tokens
        self.forms = [FORMS.get(token) for token in tokens]
        self.places: dict[str, list[int]] = {}
        for place, form in enumerate(self.forms):
            self.places.setdefault(tokens[place], []).append(place)
            if form is not None:
                self.places.setdefault(form.word, []).append(place)

    def list_forms(self, word: str) -> list[Form]:
        return [form for form in self.forms if form is not None and form.word == word]

    def find(self, word: str) -> list[int]:
        return self.places.get(word, [])


def _has_stem(output: _Output, word: str, stem: str) -> bool:
    return any(form.stem == stem for form in output.list_forms(word))


def _has_features(output: _Output, word: str, features: str) -> bool:
    return any(form.features == features for form in output.list_forms(word))


def _find_adposition(output: _Output, noun: str) -> int | None:
    """Return the place of the nearest adposition before a noun."""
    for place in output.find(noun):
        for before in range(place - 1, -1, -1):
            form = output.forms[before]
            if form is not None and form.features in ("ADN", "ADV"):
                return before
    return None


def _is_attached(output: _Output, noun: str, features: str) -> bool:
    """Return whether the adposition before a noun has the form of a noun phrase or of a clause."""
    place = _find_adposition(output, noun)
    return place is not None and output.forms[place].features == features  # type: ignore[union-attr]


def _precedes(output: _Output, first: str, second: str) -> bool:
    return any(one < other for one in output.find(first) for other in output.find(second))


def _is_inverted(output: _Output, front: str, verb: str, subject: str) -> bool:
    """Return whether the verb stands after the front and before the subject: directly before it if it is a pronoun."""
    fronts, subjects, is_pronoun = output.find(front), output.find(subject), "." not in subject
    return any(
        min(fronts, default=place) < place
        and (place + 1 in subjects if is_pronoun else max(subjects, default=place) > place)
        for place in output.find(verb)
    )


_AUXILIARIES = frozenset(["be.v", "passive.v", "perfect.v", "will.v", "can.v", "must.v", "should.v", "may.v"])


def _is_final(output: _Output, last: str, verb: str) -> bool:
    """Return whether the finite verb follows the last object, or directly the last other verb if it is an auxiliary."""
    if verb in _AUXILIARIES and last.endswith(".v"):
        return any(one + 1 == other for one in output.find(last) for other in output.find(verb))
    return _precedes(output, last, verb)


def _is_separable_right(output: _Output, verb: str, particle: str, place: str) -> bool:
    joined = particle if place == "joined" else ""
    places = [spot for spot in output.find(verb) if (form := output.forms[spot]) and form.particle == joined]
    if place == "joined":
        return bool(places)
    return any(particle in output.tokens[spot + 1 :] for spot in places)


def _is_support_dropped(output: _Output, before: str, after: str | None = None) -> bool:
    """Return whether there is no `do`, and a negation after one word and, if that comes later, before another.

    Without the other word, no negation is expected.
    """
    if output.find("do.v"):
        return False
    if after is None:
        return bool(output.find(before))
    for start in output.find(before):
        ends = [end for end in output.find(after) if end > start]
        if any(start < place < min(ends, default=place + 1) for place in output.find(NEGATION.word)):
            return True
    return False


def _agrees(output: _Output, noun: str, text: str, *endings: str) -> bool:
    """Return whether a noun has its form, and the words before it have their endings."""
    for place in output.find(noun):
        before = output.forms[max(place - len(endings), 0) : place]
        if output.tokens[place] == text and len(before) == len(endings):
            return all(
                not ending or (form is not None and form.features == ending)
                for form, ending in zip(before, endings, strict=True)
            )
    return False


def _is_related(output: _Output, noun: str, pronoun: str) -> bool:
    return any(output.tokens[place + 1 : place + 2] == [pronoun] for place in output.find(noun))


def _is_auxiliary_right(output: _Output, verb: str, stem: str) -> bool:
    return bool(output.find(verb)) and _has_stem(output, "perfect.v", stem)


_JUDGES: dict[str, Callable[..., bool]] = {
    "verb-sense": _has_stem,
    "homograph": _has_stem,
    "attachment": _is_attached,
    "agreement": _has_features,
    "inversion": _is_inverted,
    "verb-final": _is_final,
    "last-verb": _precedes,
    "separable": _is_separable_right,
    "do-support": _is_support_dropped,
    "genitive": _precedes,
    "dative-order": _precedes,
    "concord": _agrees,
    "relative-pronoun": _is_related,
    "perfect-auxiliary": _is_auxiliary_right,
    "final-agreement": _has_features,
}
"""Phenomenon -> function of the output and the words of a check."""


def judge(checks: Sequence[Check], output: Sequence[str]) -> list[bool]:
    """Return for each check whether a system's output, as tokens, is right."""
    known = _Output(list(output))
    return [_JUDGES[check.phenomenon](known, *check.words) for check in checks]


def list_carriers(check: Check, target: Sequence[str]) -> list[str]:
    """Return the tokens of a translation on which a check depends, in their order."""
    output = _Output(list(target))
    name, words = check
    places = {place for word in words for place in output.find(word)}
    if name == "concord":
        (noun,) = output.find(words[0])
        places = set(range(noun - len(words) + 2, noun + 1))
    elif name == "relative-pronoun":
        places = {place + offset for place in output.find(words[0]) for offset in (0, 1)}
    elif name == "attachment":
        adposition = _find_adposition(output, words[0])
        places |= set() if adposition is None else {adposition}
    elif name == "do-support":
        places |= set(output.find(NEGATION.word))
    elif name == "perfect-auxiliary":
        places |= set(output.find("perfect.v"))
    return [target[place] for place in sorted(places)]


def make_checks(notes: Iterable[Note], words: Sequence[Form]) -> tuple[Check, ...]:
    """Return the checks for what was noted during a translation."""
    counts = Counter(form.word for form in words)
    counts.update(form.text for form in words)
    return tuple(
        Check(name, tuple(rest))
        for name, *rest in notes
        if all(counts[word] < 2 for word in rest if not _may_repeat(name, word))
    )


def _may_repeat(phenomenon: str, word: str) -> bool:
    """Return whether a check is well defined though a word occurs twice: an auxiliary or a pronoun."""
    return phenomenon in ("inversion", "verb-final") and (word in _AUXILIARIES or "." not in word)


_SIZES = {"inversion": (3, 3), "separable": (3, 3), "do-support": (1, 2), "concord": (3, 50)}
"""Smallest and largest number of words of a check, if it is not two."""


def parse_check(value: object) -> Check:
    """Return the check that a JSON list holds: a phenomenon and its words; anything else is a ValueError."""
    if not isinstance(value, list) or not value or not all(isinstance(item, str) for item in value):
        raise ValueError("a check must be a list of strings")
    phenomenon, *words = value
    if phenomenon not in _JUDGES:
        raise ValueError(f"unknown phenomenon {phenomenon!r}")
    least, most = _SIZES.get(phenomenon, (2, 2))
    if not least <= len(words) <= most:
        raise ValueError(f"a check of {phenomenon} cannot have {len(words)} words")
    return Check(phenomenon, tuple(words))
