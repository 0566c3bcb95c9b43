"""Transfer of verb phrases: the chain of verbs, and what stands in which field of the clause.

English auxiliaries disappear (`do`, the progressive's `be`) or become others (the passive, the perfect). The fields
are: an adverb, the dative, the accusative, adjuncts, the negation, the predicative, and what follows the last verb.
"""

from __future__ import annotations

from probing.corpus.language.draft import Draft, identify
from probing.corpus.language.forms import Form, NounForms
from probing.corpus.language.homographs import HOMOGRAPHS
from probing.corpus.language.inflection import (
    ACCUSATIVE,
    DATIVE,
    INFINITIVE,
    NOMINATIVE,
    PARTICIPLE,
    PAST,
    PRESENT,
)
from probing.corpus.language.lexicon import Phrase
from probing.corpus.language.nominals import say_adjective_phrase, say_adverb, say_noun_phrase, say_prepositional
from probing.corpus.language.particles import EXPLETIVE
from probing.corpus.language.verbs import (
    BE,
    BE_FORMS,
    DO_FORMS,
    LEMMAS,
    MODALS,
    PASSIVE,
    PERFECT,
    VERBS,
    VerbForms,
)

Link = tuple[VerbForms, int, int]
"""A verb of the chain: its forms, its shape, its sense."""

_FINITE = {"VBD": PAST, "VBZ": PRESENT, "VBP": PRESENT, "MD": PRESENT}


class Fields:
    """Parts of a predicate, by the fields of a clause that they will stand in."""

    __slots__ = (
        "accusative",
        "adjuncts",
        "adverb",
        "after",
        "chain",
        "dative",
        "do",
        "gap_case",
        "negated",
        "predicative",
        "real_subject",
    )

    def __init__(self) -> None:
        self.chain: list[Link] = []
        """Verbs from the outermost, which is finite in a finite clause, to the innermost."""
        self.adverb: list[Form] = []
        self.dative: list[Form] = []
        self.accusative: list[Form] = []
        self.adjuncts: list[Form] = []
        self.predicative: list[Form] = []
        self.after: list[Phrase] = []
        """Clauses that follow the last verb."""
        self.negated = False
        self.do = False
        """Whether English needed `do`."""
        self.gap_case = ACCUSATIVE
        """Case of an object that stands before the clause, such as a relative pronoun."""
        self.real_subject: NounForms | None = None
        """Subject after `there`, with which the verb agrees."""


def read_predicate(
    draft: Draft, phrase: Phrase, shape: int | None, subject: NounForms | None, gap: str | None = None
) -> Fields:
    """Return the fields of a verb phrase.

    shape: that of the outermost verb, or None if it is finite; subject: decides the sense of a passive; gap: sense of
    the object that stands before the clause, if one does.
    """
    fields = Fields()
    _read(draft, fields, phrase, shape, subject, gap)
    return fields


def _read(
    draft: Draft, fields: Fields, phrase: Phrase, shape: int | None, subject: NounForms | None, gap: str | None
) -> None:
    chain = fields.chain
    while True:
        (tag, word), *rest = phrase[1]
        if rest and rest[0][0] == "RB":
            fields.negated = True
            del rest[0]
        if shape is None:
            shape = _FINITE[tag]
        if not rest or rest[0][0] != "VP":
            break
        phrase = rest[0]
        if tag == "MD":
            modal, tense = MODALS[word]
            chain.append((modal, tense, 0))
            shape = INFINITIVE
        elif word in DO_FORMS:
            fields.do = True
        elif phrase[1][0][0] == "VBN":
            chain.append((PASSIVE if word in BE_FORMS else PERFECT[0], shape, 0))
            shape = PARTICIPLE
    if word in DO_FORMS:  # `but the woman did not`
        fields.do = True
        return
    _read_verb(draft, fields, (tag, word), rest, shape, subject, gap)
    _choose_auxiliary(draft, chain)


def _choose_auxiliary(draft: Draft, chain: list[Link]) -> None:
    """Put the auxiliary of the perfect that the verb after it asks for."""
    for place, (verb, shape, _) in enumerate(chain):
        if verb is PERFECT[0]:
            governed = chain[place + 1][0]
            auxiliary = PERFECT[governed.auxiliary]
            draft.notes.append(("perfect-auxiliary", governed.word, auxiliary.plain[0].infinitive.stem))
            draft.combinations.append((governed.word, "perfect"))
            if draft.without != "perfect-auxiliary":
                chain[place] = (auxiliary, shape, 0)


def _read_verb(
    draft: Draft,
    fields: Fields,
    leaf: tuple[str, str],
    rest: list[Phrase],
    shape: int,
    subject: NounForms | None,
    gap: str | None,
) -> None:
    """Read the innermost verb and the phrases after it."""
    passive = bool(fields.chain) and fields.chain[-1][0] is PASSIVE
    if leaf[1] in BE_FORMS:
        fields.chain.append((BE, shape, 0))
        _read_state(draft, fields, rest, subject)
        return
    particle = next((child[1][0][1] for child in rest if child[0] == "PRT"), "")
    verb = VERBS[LEMMAS[leaf], particle]
    place = len(fields.chain)
    fields.chain.append((verb, shape, 0))
    fields.gap_case = verb.case
    argument = _read_rest(draft, fields, verb, rest)
    if gap is not None:
        argument = gap
    elif passive and subject is not None:
        argument = subject.sense
        draft.combinations.append((verb.word, "passive"))
    fields.chain[place] = (verb, shape, _choose_sense(draft, verb, leaf[1], argument, rest))


def _choose_sense(draft: Draft, verb: VerbForms, english: str, argument: str | None, rest: list[Phrase]) -> int:
    """Return which stem of the verb is used; an unknown argument, such as a pronoun, leaves it at the first."""
    if english in HOMOGRAPHS:
        draft.notes.append(("homograph", verb.word, verb.plain[0].infinitive.stem))
        return verb.mistaken if draft.without == "homograph" else 0
    if not verb.second or argument == "":
        return 0
    if argument is None:
        prepositions = [child[1][0][1] for child in rest[:1] if child[0] == "PP"]
        argument = next((word for word in prepositions if word in verb.second), "-")
    sense = 1 if argument in verb.second else 0
    draft.notes.append(("verb-sense", verb.word, verb.plain[sense].infinitive.stem))
    return 0 if draft.without == "verb-sense" else sense


def _read_state(draft: Draft, fields: Fields, rest: list[Phrase], subject: NounForms | None) -> None:
    """Read what follows `be`: the first phrase is its predicative, or the real subject after `there`."""
    for place, child in enumerate(rest):
        label = child[0]
        if label == "NP":
            if subject is EXPLETIVE:
                fields.real_subject = say_noun_phrase(draft, child, NOMINATIVE, fields.accusative)
            else:
                say_noun_phrase(draft, child, NOMINATIVE, fields.predicative)
        elif label == "PP":
            first = place == 0
            say_prepositional(draft, child, fields.predicative if first else fields.adjuncts)
        else:
            _read_other(draft, fields, child)


def _read_rest(draft: Draft, fields: Fields, verb: VerbForms, rest: list[Phrase]) -> str | None:
    """Read what follows a full verb, and return the sense of its object, or None if it has no object."""
    argument: str | None = None
    objects = sum(child[0] == "NP" for child in rest)
    receiver: NounForms | None = None
    previous = ""
    for child in rest:
        label = child[0]
        if label == "NP":
            if objects == 2 and receiver is None:
                receiver = say_noun_phrase(draft, child, DATIVE, fields.dative)
            else:
                given = say_noun_phrase(draft, child, verb.case, fields.accusative)
                argument = given.sense
        elif label == "PP":
            if objects == 1 and child[1][0][0] == "TO":
                receiver = say_noun_phrase(draft, child[1][1], DATIVE, fields.dative)
            else:
                head = say_prepositional(draft, child, fields.adjuncts)
                if previous == "NP" or previous == "PP":
                    draft.notes.append(("attachment", head.word, "ADV"))
        else:
            _read_other(draft, fields, child)
        previous = label
    if receiver is not None:
        draft.notes.append(("dative-order", identify(receiver, DATIVE), identify(given, verb.case)))
        draft.combinations.append((receiver.word, "dative"))
    return argument


def _read_other(draft: Draft, fields: Fields, child: Phrase) -> None:
    """Read a phrase that means the same after any verb."""
    label, children = child
    if label == "ADVP":
        say_adverb(draft, child, fields.adjuncts)
    elif label == "ADJP":
        clause = say_adjective_phrase(draft, child, fields.predicative)
        if clause is not None:
            fields.after.append(clause)
    elif label == "S" and len(children) == 2:
        _read_perceived(draft, fields, children)
    elif label != "PRT":
        fields.after.append(child)


def _read_perceived(draft: Draft, fields: Fields, children: tuple[Phrase, ...]) -> None:
    """Read `the dog sleeping in the garden` after `saw`: an object, and an infinitive at the end of the chain."""
    say_noun_phrase(draft, children[0], ACCUSATIVE, fields.accusative)
    inner = read_predicate(draft, children[1], INFINITIVE, None)
    fields.chain += inner.chain
    fields.adjuncts += (*inner.dative, *inner.accusative, *inner.adjuncts)
    fields.after += inner.after
