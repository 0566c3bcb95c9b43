"""The verbs of the embedded grammar as weighted choices, in groups by the senses of their subjects and objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from probing.corpus.grammar import scenes
from probing.corpus.grammar.inflection import inflect_gerund, inflect_participle, inflect_past, inflect_third_person
from probing.corpus.grammar.lexicon import ANYONE, Choice, zipf, zipf_leaves
from probing.corpus.readers import Tree


class Verb(NamedTuple):
    """A verb's leaves; present and past are indexed by agreement: third person singular, plural, first person."""

    base: Tree
    present: tuple[Tree, Tree, Tree]
    past: tuple[Tree, Tree, Tree]
    participle: Tree
    gerund: Tree
    stative: bool = False
    """Whether the verb is stative and so has no progressive."""


class VerbGroup(NamedTuple):
    """Transitive verbs that take subjects and objects of the same senses."""

    subjects: tuple[str, ...]
    objects: Choice[str]
    verbs: Choice[Verb]
    places: Choice[str] | None
    """Senses of the places of the action, if it has any."""
    tool: Choice[str] | None
    """Sense of the tool of the action, if it has one."""


def inflect(lemma: str, *, stative: bool = False) -> Verb:
    """Return all forms of a verb."""
    past: Tree = ("VBD", inflect_past(lemma))
    plain: Tree = ("VBP", lemma)
    return Verb(
        base=("VB", lemma),
        present=(("VBZ", inflect_third_person(lemma)), plain, plain),
        past=(past, past, past),
        participle=("VBN", inflect_participle(lemma)),
        gerund=("VBG", inflect_gerund(lemma)),
        stative=stative,
    )


BE = Verb(
    base=("VB", "be"),
    present=(("VBZ", "is"), ("VBP", "are"), ("VBP", "am")),
    past=(("VBD", "was"), ("VBD", "were"), ("VBD", "was")),
    participle=("VBN", "been"),
    gerund=("VBG", "being"),
    stative=True,
)
HAVE = inflect("have", stative=True)
DO = inflect("do")


def inflect_all(words: str) -> list[Verb]:
    """Return the verbs of a list in which a star marks the stative ones."""
    return [inflect(word.rstrip("*"), stative=word.endswith("*")) for word in words.split()]


def zipf_verbs(words: str) -> Choice[Verb]:
    """Return a Zipf-like choice among the verbs of a list."""
    return zipf(inflect_all(words), shift=12.0)


STATES = zipf_verbs("say think know* believe* hear* claim notice learn")
TELLING = zipf_verbs("tell remind warn")
WISHES = zipf_verbs("want* try hope decide plan need* refuse promise agree")
ORDERS = zipf_verbs("ask tell force allow order")
HABITS = zipf_verbs("start stop enjoy")
PERCEPTION = zipf_verbs("see* watch hear*")
SEEMING = zipf_verbs("seem* look*")
GOAL_VERBS = zipf_verbs(scenes.GOALS)
POSTURE = zipf_verbs(scenes.POSTURE)


def read_rows(text: str) -> list[list[str]]:
    """Return the cells of a table, which are separated by `|`."""
    return [[cell.strip() for cell in line.split("|")] for line in text.strip().splitlines()]


def _senses(words: str) -> Choice[str]:
    return zipf(words.split(), shift=1.0)


def _list_subjects(words: str) -> tuple[str, ...]:
    """Return the senses of subjects, with `anyone` replaced by the senses that it means."""
    return tuple(sense for word in words.split() for sense in (ANYONE if word == "anyone" else (word,)))


def _transitive(subjects: str, objects: str, verbs: str, places: str = "", tool: str = "") -> VerbGroup:
    return VerbGroup(
        _list_subjects(subjects),
        _senses(objects),
        zipf_verbs(verbs),
        _senses(places) if places else None,
        _senses(tool) if tool else None,
    )


class Intransitives(NamedTuple):
    """Verbs without an object for the subjects of a sense, and where they happen."""

    verbs: Choice[Verb]
    places: Choice[str]


class Compound(NamedTuple):
    """A verb with its preposition or particle, and the senses of its objects."""

    verb: Verb
    word: Tree
    objects: Choice[str]


def _compound(phrase: str, objects: str, tag: str) -> Compound:
    lemma, word = phrase.split()
    leaf: Tree = ("TO" if word == "to" else tag, word)
    return Compound(inflect_all(lemma)[0], leaf, _senses(objects))


def _compounds(table: str, tag: str) -> dict[str, Choice[Compound]]:
    """Return sense of the subject -> its verbs with prepositions or particles."""
    found: dict[str, list[Compound]] = {}
    for subjects, phrase, objects in read_rows(table):
        for subject in subjects.split():
            for sense in ANYONE if subject == "person" else (subject,):
                found.setdefault(sense, []).append(_compound(phrase, objects, tag))
    return {sense: zipf(compounds, shift=8.0) for sense, compounds in found.items()}


GROUPS = tuple(_transitive(*cells) for cells in read_rows(scenes.TRANSITIVE))


def weigh_by_size(groups: Sequence[VerbGroup]) -> Choice[VerbGroup]:
    """Return a choice among groups, weighted by the root of their size: verbs of small groups must not be too rare."""
    return Choice(groups, [len(group.verbs.items) ** 0.5 for group in groups])


GROUPS_BY_SUBJECT = {
    sense: weigh_by_size([group for group in GROUPS if sense in group.subjects])
    for sense in {sense for group in GROUPS for sense in group.subjects}
}
GROUPS_BY_OBJECT = {
    sense: weigh_by_size([group for group in GROUPS if sense in group.objects.items])
    for sense in {sense for group in GROUPS for sense in group.objects.items}
}
INTRANSITIVES = {
    sense: Intransitives(zipf_verbs(verbs), _senses(places))
    for senses, verbs, places in read_rows(scenes.INTRANSITIVE)
    for sense in senses.split()
}
PREPOSITIONALS = _compounds(scenes.PREPOSITIONAL, "IN")
PARTICLES = _compounds(scenes.PARTICLE, "RP")["person"]
GIFTS = zipf([(sense, zipf_verbs(verbs)) for sense, verbs in read_rows(scenes.GIFTS)])
"""Senses of gifts, and the verbs of giving them."""
MOTION = zipf([
    (zipf_leaves("RB", adverbs, label="ADVP"), zipf_verbs(verbs)) for adverbs, verbs in read_rows(scenes.MOTION)
])  # fmt: skip
"""Adverbs of direction, and the verbs of motion before them."""


def _list_forms(verb: Verb) -> set[str]:
    return {str(leaf[1]) for leaf in (verb.base, *verb.present, *verb.past, verb.participle, verb.gerund)}


VERB_LEMMAS = {
    form: verb.base[1]
    for choice in (
        *(group.verbs for group in GROUPS),
        *(entry.verbs for entry in INTRANSITIVES.values()),
        *(choice for choice in (STATES, TELLING, WISHES, ORDERS, HABITS, PERCEPTION, SEEMING, GOAL_VERBS, POSTURE)),
    )
    for verb in choice.items
    for form in _list_forms(verb)
}
"""Form of a verb -> its lemma."""
