"""The verbs of the embedded grammar, in groups by the senses of their subjects and objects.

Left out on purpose: verbs whose present and past look alike (put, cut, read), so that every tense label is certain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from probing.corpus.grammar.inflection import inflect_gerund, inflect_participle, inflect_past, inflect_third_person
from probing.corpus.grammar.lexicon import Choice, zipf
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

# fmt: off
# senses of the subject | senses of the object | verbs, a star marks a stative one | sense of the tool
_TRANSITIVE = """
person | food | eat cook bake taste slice fry peel roast swallow chew devour | tool
animal | food | eat swallow chew sniff devour
person | drink | drink pour sip spill boil brew
person | clothing | wear wash sew fold iron mend stitch hang
person | vehicle | drive repair park steer rent inspect load polish
person | document | write print sign publish copy translate edit borrow mail study tear memorize
person | tool | use drop grab hold sharpen borrow lend find
person | device | fix use test install adjust repair invent
person | room | enter visit clean leave build decorate explore guard search paint
person | ground | cross reach climb sweep clear leave
person | person | help meet greet thank follow invite teach praise blame hug warn comfort ignore hire
person | person | love* like* hate* trust* respect* know* admire* envy* fear* miss*
person | animal | feed chase catch train tame brush rescue
animal | person | chase bite attack follow scratch frighten
animal | animal | chase bite attack follow hunt smell
person | music | play tune practice carry
person | plant | plant water trim grow prune smell
person | container | open close carry fill empty lift pack lock push seal
person | furniture | move push carry lift build dust wipe
person | idea | explain discuss forget remember understand* accept reject consider suggest mention support reveal share
person | event | enjoy plan attend organize cancel win lose delay celebrate watch postpone describe
person | treasure | steal sell buy find lose hide collect polish admire keep
person | body | raise bandage stretch lower cover twist | clothing
nature | room ground vehicle plant | destroy damage ruin bury wreck strike
idea event | person | surprise please annoy frighten worry shock amuse confuse delight disappoint bother embarrass
vehicle | ground room | cross reach pass leave approach circle
"""

_INTRANSITIVE = """
person | sleep laugh cry smile sing work wait dance rest swim whisper shout relax cough sneeze yawn sigh snore weep
animal | sleep rest hide jump wake escape swim growl graze
vehicle | stop crash arrive depart skid swerve
food | burn rot melt cool
tool container furniture treasure music | break fall disappear vanish rattle
room ground | burn collapse flourish
clothing | shrink fade dry
document | disappear vanish burn
body | ache tremble heal swell bleed itch
plant | grow bloom wither die
idea | fail work succeed matter*
event | begin end happen continue finish occur
device | work stop break hum fail buzz
nature | come begin approach rage arrive
drink | boil evaporate freeze
"""

_PREPOSITIONAL = """
person | look at | person animal treasure document plant
person | listen to | person music device
person | talk about | idea event person document
person | wait for | person vehicle event
person | think about | idea event person
person | talk to | person animal
person | laugh at | person idea
person | search for | treasure container clothing tool
person | dream of | event treasure
person | point at | animal vehicle furniture
person | shout at | person animal
person | smile at | person
person | argue with | person
person | apologize to | person
person | pay for | food document clothing
person | complain about | event idea food
person | care for | person animal plant
animal | look at | person animal food
animal | run from | person animal nature
idea | depend* on | person event
event | depend* on | person idea
"""

_PARTICLE = """
person | pick up | treasure tool clothing document
person | turn off | device
person | turn on | device
person | take off | clothing
person | throw away | document food container
person | give up | idea
person | write down | idea
person | clean up | room
person | bring back | tool document
person | hand over | treasure document
person | wake up | person animal
person | tear down | room furniture
person | send back | clothing device
person | call off | event
person | work out | idea
"""
# fmt: on


def inflect_all(words: str) -> list[Verb]:
    """Return the verbs of a list in which a star marks the stative ones."""
    return [inflect(word.rstrip("*"), stative=word.endswith("*")) for word in words.split()]


def zipf_verbs(words: str) -> Choice[Verb]:
    """Return a Zipf-like choice among the verbs of a list."""
    return zipf(inflect_all(words))


STATES = zipf_verbs(
    "say think know* believe* hope claim notice feel* hear* remember* discover learn realize* admit declare insist "
    "suspect* see* understand* guess announce complain confess predict conclude doubt*"
)
TELLING = zipf_verbs("tell remind warn inform convince assure persuade")
WISHES = zipf_verbs(
    "want* try hope decide plan need* refuse promise agree manage fail learn expect prefer* attempt pretend"
)
ORDERS = zipf_verbs("ask tell persuade force allow order teach advise encourage beg help")
HABITS = zipf_verbs("start enjoy avoid keep finish stop begin continue resume")
PERCEPTION = zipf_verbs("see* hear* watch notice* observe")
GIFTS = zipf_verbs("give send show offer lend bring sell hand pass promise")
MOTION = zipf_verbs("walk run go come hurry return rush wander move march travel crawl race step")
POSTURE = zipf_verbs("sit stand stay live wait rest remain")
SEEMING = zipf_verbs("seem* become* feel* look* remain* appear*")


def read_rows(text: str) -> list[list[str]]:
    """Return the cells of a table, which are separated by `|`."""
    return [[cell.strip() for cell in line.split("|")] for line in text.strip().splitlines()]


def _senses(words: str) -> Choice[str]:
    return zipf(words.split(), shift=1.0)


def _transitive(subjects: str, objects: str, verbs: str, tool: str = "") -> VerbGroup:
    return VerbGroup(tuple(subjects.split()), _senses(objects), zipf_verbs(verbs), _senses(tool) if tool else None)


class Compound(NamedTuple):
    """A verb with its preposition or particle, and the senses of its objects."""

    subject: str
    verb: Verb
    word: Tree
    objects: Choice[str]


def _compound(cells: list[str], tag: str) -> Compound:
    subject, phrase, objects = cells
    lemma, word = phrase.split()
    leaf: Tree = ("TO" if word == "to" else tag, word)
    return Compound(subject, inflect_all(lemma)[0], leaf, _senses(objects))


GROUPS = tuple(_transitive(*cells) for cells in read_rows(_TRANSITIVE))


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
INTRANSITIVES = {sense: zipf_verbs(verbs) for senses, verbs in read_rows(_INTRANSITIVE) for sense in senses.split()}
_COMPOUNDS = [_compound(cells, "IN") for cells in read_rows(_PREPOSITIONAL)]
PREPOSITIONALS = {
    sense: zipf([compound for compound in _COMPOUNDS if compound.subject == sense])
    for sense in ("person", "animal", "idea", "event")
}
PARTICLES = zipf([_compound(cells, "RP") for cells in read_rows(_PARTICLE)])
