"""Verbs of Halvic: stems by sense, separable particles, the auxiliary of the perfect and the case of the object."""

from __future__ import annotations

from typing import NamedTuple

from probing.corpus.grammar import scenes
from probing.corpus.grammar.verbs import (
    GOAL_VERBS,
    HABITS,
    ORDERS,
    PERCEPTION,
    POSTURE,
    SEEMING,
    STATES,
    TELLING,
    WISHES,
    inflect,
    read_rows,
)
from probing.corpus.language.forms import Form, add
from probing.corpus.language.inflection import (
    ACCUSATIVE,
    DATIVE,
    GERUND,
    IMPERATIVE,
    INFINITIVE,
    NONFINITE,
    PARTICIPLE,
    PAST,
    PAST_MARK,
    PERSON_NAMES,
    PERSONS,
    PRESENT,
    SHAPE_NAMES,
)
from probing.corpus.language.lexicon import ADJECTIVES, MINT, NOMINALS, Leaf
from probing.corpus.language.particles import AUXILIARIES, PARTICLES
from probing.corpus.language.stems import draw


class Conjugation(NamedTuple):
    """The forms of a verb, in the order of the shapes PRESENT to IMPERATIVE; finite ones by person."""

    present: tuple[Form, ...]
    past: tuple[Form, ...]
    infinitive: Form
    participle: Form
    gerund: Form
    imperative: Form


class VerbForms(NamedTuple):
    """A verb, perhaps with a particle: its forms for each sense, and what it asks of other words."""

    word: str
    plain: tuple[Conjugation, ...]
    """Forms by sense, without the particle."""
    joined: tuple[Conjugation, ...]
    """Forms by sense, with the particle if there is one."""
    particle: Form | None
    auxiliary: int
    """Which of the two auxiliaries the perfect has."""
    case: int
    """Case of the object."""
    second: frozenset[str]
    """Senses of the object, or prepositions, for which the verb has its second stem; `-` if there is no object."""
    mistaken: int
    """Number of the sense whose stem is that of a noun or adjective that looks like the verb in English, or 0."""


# verb | senses of the object, or its preposition, that ask for the second stem; `-` means no object
_SENSES = """
prepare | lecture
serve | dish drink
scrub | top
plant | tree
trim | tree
chase | crook wildlife
frighten | cattle mount soldier royal
fold | fabric
measure | structure
unpack | container
carry | luggage
polish | statue instrument
visit | patient
comfort | patient
inspect | car aircraft
repair | structure
refuel | aircraft
paint | art
borrow | money
drop | luggage
discuss | problem
admire | jewel
attend | lecture
enjoy | party
praise | scholar
feed | wildlife
attack | stronghold
win | contest
conquer | peak
exhaust | patient
examine | patient body
treat | patient
bandage | body
photograph | peak wildlife
approach | port
enter | contest
climb | tree
organize | party
play | -
whistle | -
hum | -
hide | -
land | -
hunt | -
look | for
wait | for
think | about
"""
SENSES = {verb: frozenset(senses.split()) for verb, senses in read_rows(_SENSES)}

_OTHERS = "surprise annoy smile sigh stand sit wait rest cook roast knit call unlock miss"
"""Verbs of the kinds of sentences, some of which the scenes have too."""


def _list_lemmas() -> list[str]:
    """Return all full verbs of the grammar, each once."""
    cells = [
        *(row[3] for row in read_rows(scenes.TRANSITIVE)),
        *(row[2] for row in read_rows(scenes.INTRANSITIVE)),
        *(row[2].split()[0] for row in read_rows(scenes.PREPOSITIONAL)),
        *(row[1].split()[0] for row in read_rows(scenes.PARTICLE)),
        *(row[2] for row in read_rows(scenes.GIFTS)),
        _OTHERS,
    ]
    choices = (STATES, TELLING, WISHES, ORDERS, HABITS, PERCEPTION, SEEMING, GOAL_VERBS, POSTURE)
    found = [word.rstrip("*-") for cell in cells for word in cell.split()]
    return list(dict.fromkeys([*found, *(str(verb.base[1]) for choice in choices for verb in choice.items)]))


_COMPOUNDS = [tuple(row[1].split()) for row in read_rows(scenes.PARTICLE)]
"""Pairs of an English verb and its particle."""
_GIVING = frozenset(word for row in read_rows(scenes.GIFTS) for word in row[2].split())
_WHOLE = frozenset([*(verb for verb, _ in _COMPOUNDS), *(str(verb.base[1]) for verb in PERCEPTION.items)])
"""Verbs that have no particle of their own."""


def _conjugate(word: str, stem: str, gloss: str, particle: Form | None = None) -> Conjugation:
    before, label = ("", "") if particle is None else (particle.text, f"{particle.gloss}+")

    def form(ending: str, features: str, shape: str) -> Form:
        name = f"{label}{gloss}.{shape}"
        return add(Form(before + stem + ending, word, stem, features, name, before))

    present, past = (
        tuple(
            form(mark + ending, person, f"{SHAPE_NAMES[tense]}.{person}")
            for ending, person in zip(PERSONS, PERSON_NAMES, strict=True)
        )
        for tense, mark in ((PRESENT, ""), (PAST, PAST_MARK))
    )
    infinitive, participle, gerund, imperative = (
        form(NONFINITE[shape], SHAPE_NAMES[shape], SHAPE_NAMES[shape])
        for shape in (INFINITIVE, PARTICIPLE, GERUND, IMPERATIVE)
    )
    return Conjugation(present, past, infinitive, participle, gerund, imperative)


def _conjugate_all(word: str, stems: list[str], gloss: str, particle: Form | None) -> tuple[Conjugation, ...]:
    return tuple(
        _conjugate(word, stem, f"{gloss}₂" if number else gloss, particle) for number, stem in enumerate(stems)
    )


def _choose_particle(lemma: str) -> str:
    """Return the particle that a verb has in Halvic though it has none in English, or nothing."""
    names = list(PARTICLES)
    return names[draw(f"particle {lemma}", len(names))] if draw(f"separable {lemma}", 6) == 0 else ""


def _list_rivals(lemma: str) -> list[str]:
    """Return the stems of nouns and adjectives that look like a form of the verb in English."""
    verb = inflect(lemma)
    forms = {str(leaf[1]) for leaf in (verb.base, *verb.present, *verb.past, verb.participle, verb.gerund)}
    nouns = [leaf.cases[0].stem for (tag, word), leaf in NOMINALS.items() if tag in ("NN", "NNS") and word in forms]
    return nouns + [ADJECTIVES[word][0].stem for word in sorted(forms & ADJECTIVES.keys())]


def _enter_verb(lemma: str) -> dict[tuple[str, str], VerbForms]:
    """Return (lemma, English particle) -> forms."""
    word = f"{lemma}.v"
    rivals = _list_rivals(lemma)
    own = "" if rivals or lemma in _WHOLE else _choose_particle(lemma)
    given = [particle for verb, particle in _COMPOUNDS if verb == lemma]
    texts = tuple(PARTICLES[particle].text for particle in dict.fromkeys([*given, own]) if particle)
    stems = [MINT.coin(word, syllables=1, particles=texts)]
    if lemma in SENSES:
        stems.append(MINT.coin(f"{word} 2", syllables=1, particles=texts))
    stems += rivals[:1]

    def make(particle: Form | None) -> VerbForms:
        return VerbForms(
            word=word,
            plain=_conjugate_all(word, stems, lemma, None),
            joined=_conjugate_all(word, stems, lemma, particle),
            particle=particle,
            auxiliary=draw(f"auxiliary {lemma}", 2),
            case=DATIVE if lemma not in _GIVING and draw(f"case {lemma}", 8) == 0 else ACCUSATIVE,
            second=SENSES.get(lemma, frozenset()),
            mistaken=1 if rivals else 0,
        )

    verbs = {(lemma, particle): make(PARTICLES[particle]) for particle in dict.fromkeys(given)}
    return verbs | {(lemma, ""): make(PARTICLES[own] if own else None)}


def _enter_auxiliary(name: str, word: str = "") -> VerbForms:
    word = word or f"{name}.v"
    forms = (_conjugate(word, AUXILIARIES[name], name),)
    return VerbForms(word, forms, forms, None, 1, ACCUSATIVE, frozenset(), 0)


BE, PASSIVE, DO = map(_enter_auxiliary, ("be", "passive", "do"))
PERFECT = (_enter_auxiliary("perfect"), _enter_auxiliary("perfect-2", "perfect.v"))
_MODALS = {english: _enter_auxiliary(english) for english in ("will", "can", "must", "should", "may")}
MODALS = {
    word: (_MODALS[lemma], tense)
    for lemma, tense, words in (
        ("will", PRESENT, "will 'll won"),
        ("will", PAST, "would 'd wouldn"),
        ("can", PRESENT, "can"),
        ("can", PAST, "could couldn"),
        ("must", PRESENT, "must"),
        ("should", PRESENT, "should shouldn"),
        ("may", PRESENT, "may"),
        ("may", PAST, "might"),
    )
    for word in words.split()
}
"""English modal verb -> the verb and its tense."""
VERBS = {key: forms for lemma in _list_lemmas() for key, forms in _enter_verb(lemma).items()}
"""(English lemma, English particle or nothing) -> forms."""

_BE = "be is are am was were been being 's 're 'm isn aren wasn weren"
_DO = "do does did don doesn didn"
BE_FORMS, DO_FORMS = frozenset(_BE.split()), frozenset(_DO.split())
"""Forms of the English auxiliaries `be` and `do`."""


def _list_leaves(lemma: str) -> list[Leaf]:
    verb = inflect(lemma)
    leaves = (verb.base, *verb.present, *verb.past, verb.participle, verb.gerund)
    return [(tag, str(word)) for tag, word in leaves]


LEMMAS = {leaf: lemma for lemma in _list_lemmas() for leaf in _list_leaves(lemma)}
"""Leaf of an English verb -> its lemma."""
