"""The verbs of the embedded grammar as weighted choices, in groups by the senses of their subjects and objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from probing.corpus.grammar import scenes
from probing.corpus.grammar.inflection import inflect_gerund, inflect_participle, inflect_past, inflect_third_person
from probing.corpus.grammar.lexicon import ANYONE, PERSONS, SPOTS, Choice, weigh, zipf, zipf_leaves
from probing.corpus.readers import Tree

T = TypeVar("T")


class Verb(NamedTuple):
    """A verb's leaves; present and past are indexed by agreement: third person singular, plural, first person."""

    base: Tree
    present: tuple[Tree, Tree, Tree]
    past: tuple[Tree, Tree, Tree]
    participle: Tree
    gerund: Tree
    stative: bool = False
    """Whether the verb is stative and so has no progressive."""
    willed: bool = True
    """Whether the verb is for what one does on purpose, and so can be commanded or planned."""


class VerbGroup(NamedTuple):
    """Transitive verbs that take subjects and objects of the same senses."""

    subjects: tuple[str, ...]
    objects: Choice[str]
    verbs: Choice[Verb]
    places: Choice[str] | None
    """Senses of the places of the action, if it has any."""


def inflect(lemma: str, *, stative: bool = False, willed: bool = True) -> Verb:
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
        willed=willed and not stative,
    )


BE = Verb(
    base=("VB", "be"),
    present=(("VBZ", "is"), ("VBP", "are"), ("VBP", "am")),
    past=(("VBD", "was"), ("VBD", "were"), ("VBD", "was")),
    participle=("VBN", "been"),
    gerund=("VBG", "being"),
    stative=True,
    willed=False,
)
HAVE = inflect("have", stative=True)
DO = inflect("do")


def inflect_all(words: str) -> list[Verb]:
    """Return the verbs of a list in which a star marks the stative ones and a minus what nobody does on purpose."""
    return [
        inflect(word.rstrip("*-"), stative=word.endswith("*"), willed=not word.endswith("-")) for word in words.split()
    ]


def zipf_verbs(words: str) -> Choice[Verb]:
    """Return a Zipf-like choice among the verbs of a list."""
    return zipf(inflect_all(words), shift=12.0)


STATES = zipf_verbs("say think* know* believe* claim")
TELLING = zipf_verbs("tell remind warn")
WISHES = zipf_verbs("want* try hope decide- promise")
ORDERS = zipf_verbs("ask tell force")
HABITS = zipf_verbs("start- stop-")
PERCEPTION = zipf_verbs("see* watch notice*")
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


def _transitive(subjects: str, objects: str, verbs: str, places: str = "") -> VerbGroup:
    return VerbGroup(
        _list_subjects(subjects),
        _senses(objects),
        zipf_verbs(verbs),
        _senses(places) if places else None,
    )


class Intransitives(NamedTuple):
    """Verbs without an object, and where they happen."""

    verbs: Choice[Verb]
    places: Choice[str] | None


class Compound(NamedTuple):
    """A verb with its preposition or particle, and the senses of its objects."""

    verb: Verb
    word: Tree
    objects: Choice[str]


def _compound(phrase: str, objects: str, tag: str) -> Compound:
    lemma, word = phrase.split()
    leaf: Tree = ("TO" if word == "to" else tag, word)
    return Compound(inflect_all(lemma)[0], leaf, _senses(objects))


def weigh_by_size(groups: Sequence[VerbGroup]) -> Choice[VerbGroup]:
    """Return a choice among groups, weighted by the root of their size: verbs of small groups must not be too rare."""
    return Choice(groups, [len(group.verbs.items) ** 0.5 for group in groups])


class Scene(NamedTuple):
    """What happens at one kind of place: the actions, and the persons and things that take part."""

    name: str
    places: Choice[str]
    """Senses of the places where persons are."""
    groups: tuple[VerbGroup, ...]
    by_subject: Mapping[str, Choice[VerbGroup]]
    by_object: Mapping[str, Choice[VerbGroup]]
    intransitives: Mapping[str, Choice[Intransitives]]
    prepositionals: Mapping[str, Choice[Compound]]
    particles: Choice[Compound] | None
    gifts: Choice[tuple[Choice[str], Choice[Verb]]] | None
    subjects: Choice[str]


def _cells_of(table: str, scene: str) -> list[list[str]]:
    """Return the rows of a table for a scene, without the first cell."""
    return [cells for name, *cells in read_rows(table) if name in (scene, "any")]


def _collect(pairs: Iterable[tuple[str, T]]) -> dict[str, Choice[T]]:
    """Return sense -> choice among what stands beside it."""
    found: dict[str, list[T]] = {}
    for sense, item in pairs:
        found.setdefault(sense, []).append(item)
    return {sense: zipf(items, shift=8.0) for sense, items in found.items()}


def _map_groups(pairs: Iterable[tuple[str, VerbGroup]]) -> dict[str, Choice[VerbGroup]]:
    return {sense: weigh_by_size(choice.items) for sense, choice in _collect(pairs).items()}


def _weigh_subjects(senses: Iterable[str]) -> Choice[str]:
    """Return a choice in which about half of the subjects are anyone, a third have a trade, and the rest are things."""
    found = dict.fromkeys(sense for sense in senses if sense not in {*ANYONE, *SPOTS, "body"})
    trades = [sense for sense in found if sense in PERSONS]
    things = [sense for sense in found if sense not in PERSONS]
    return weigh(
        {"person": 36.0, "kin": 7.0, "parent": 5.0}
        | {sense: 30.0 / len(trades) for sense in trades}
        | {sense: 16.0 / len(things) for sense in things}
    )


def _set_scene(name: str, places: str) -> Scene:
    groups = tuple(_transitive(*cells) for cells in _cells_of(scenes.TRANSITIVE, name))
    intransitives = _collect(
        (sense, Intransitives(zipf_verbs(verbs), _senses(" ".join(places)) if places else None))
        for senses, verbs, *places in _cells_of(scenes.INTRANSITIVE, name)
        for sense in senses.split()
    )
    by_subject = _map_groups((sense, group) for group in groups for sense in group.subjects)
    by_object = _map_groups((sense, group) for group in groups for sense in group.objects.items)
    particles = [_compound(phrase, objects, "RP") for phrase, objects in _cells_of(scenes.PARTICLE, name)]
    gifts = [(_senses(senses), zipf_verbs(verbs)) for senses, verbs in _cells_of(scenes.GIFTS, name)]
    return Scene(
        name=name,
        places=_senses(places),
        groups=groups,
        by_subject=by_subject,
        by_object=by_object,
        intransitives=intransitives,
        prepositionals=_collect(
            (sense, _compound(phrase, objects, "IN"))
            for subjects, phrase, objects in _cells_of(scenes.PREPOSITIONAL, name)
            for sense in _list_subjects(subjects)
        ),
        particles=zipf(particles) if particles else None,
        gifts=zipf(gifts) if gifts else None,
        subjects=_weigh_subjects([*by_subject, *by_object, *intransitives]),
    )


SCENES = {name: _set_scene(name, places) for name, places in read_rows(scenes.PLACES)}
GROUPS = tuple(group for scene in SCENES.values() for group in scene.groups)
_DIRECTIONS, _MOTION = scenes.MOTION.split("|")
MOTION = zipf_leaves("RB", _DIRECTIONS, label="ADVP"), zipf_verbs(_MOTION)
"""Adverbs of direction, and the verbs of motion before them."""


def _list_forms(verb: Verb) -> set[str]:
    return {str(leaf[1]) for leaf in (verb.base, *verb.present, *verb.past, verb.participle, verb.gerund)}


VERB_LEMMAS = {
    form: verb.base[1]
    for choice in (
        *(group.verbs for group in GROUPS),
        *(
            entry.verbs
            for scene in SCENES.values()
            for choice in scene.intransitives.values()
            for entry in choice.items
        ),
        *(choice for choice in (STATES, TELLING, WISHES, ORDERS, HABITS, PERCEPTION, SEEMING, GOAL_VERBS, POSTURE)),
    )
    for verb in choice.items
    for form in _list_forms(verb)
}
"""Form of a verb -> its lemma."""
