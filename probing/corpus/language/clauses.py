"""The order of words in a Halvic clause.

A main clause has its finite verb second, after one fronted phrase or the subject; a question and a command have it
first; a subordinate clause has it last. All other verbs, and the particle of a separable verb, stand at the end.
"""

from __future__ import annotations

from probing.corpus.language.draft import Draft, find_anchor, identify
from probing.corpus.language.forms import Form, NounForms
from probing.corpus.language.inflection import GERUND, IMPERATIVE, INFINITIVE, NOMINATIVE, PERSON_NAMES, THIRD
from probing.corpus.language.lexicon import NOMINALS, Phrase
from probing.corpus.language.nominals import say_noun_phrase
from probing.corpus.language.particles import MARKER, NEGATION, PRONOUNS, SUBORDINATORS
from probing.corpus.language.predicates import Fields, Link, read_predicate
from probing.corpus.language.verbs import DO

NOBODY: tuple[NounForms, int | None] = (PRONOUNS["it"], None)
"""Head of a subject that is a clause or is not said."""


def find_attractor(tree: Phrase) -> int | None:
    """Return person and number of the last noun in a relative clause of a subject, or None if it has no such clause."""
    children = tree[1]
    if children[0][0] != "NP" or children[1][0] not in ("SBAR", "VP"):
        return None
    person = THIRD
    stack = list(children)
    while stack:
        label, content = stack.pop()
        if not isinstance(content, str):
            stack.extend(content)
        elif (label, content) in NOMINALS:
            return NOMINALS[label, content].person
    return person


def _inflect(link: Link, person: int, *, joined: bool) -> Form:
    verb, shape, sense = link
    form = (verb.joined if joined else verb.plain)[sense][shape]
    return form if isinstance(form, Form) else form[person]


def _agree(draft: Draft, fields: Fields, head: NounForms, attractor: int | None, *, final: bool) -> int:
    """Return person and number of the finite verb."""
    person = head.person if fields.real_subject is None else fields.real_subject.person
    finite = fields.chain[0]
    if finite[1] == IMPERATIVE:
        return person
    name = "agreement" if attractor is not None else "final-agreement" if final else ""
    if name:
        draft.notes.append((name, finite[0].word, PERSON_NAMES[person]))
        if draft.without == name:
            return THIRD if attractor is None else attractor
    return person


def _fill_middle(draft: Draft, fields: Fields) -> list[Form]:
    """Return the words between subject and negation."""
    if draft.without == "dative-order":
        return [*fields.adverb, *fields.accusative, *fields.dative, *fields.adjuncts]
    return [*fields.adverb, *fields.dative, *fields.accusative, *fields.adjuncts]


def _say_last_verbs(links: list[Link]) -> list[Form]:
    """Return participles and infinitives, the innermost first."""
    return [_inflect(link, THIRD, joined=True) for link in reversed(links)]


def _note_negation(draft: Draft, fields: Fields, before: str, after: str) -> None:
    if fields.negated:
        draft.notes.append(("do-support", before, after))
    elif fields.do:
        draft.notes.append(("do-support", fields.chain[0][0].word))


def _note_particle(draft: Draft, link: Link, place: str) -> None:
    particle = link[0].particle
    if particle is not None:
        draft.notes.append(("separable", link[0].word, particle.text, place))


def _support(draft: Draft, fields: Fields, person: int, finite: Form) -> list[Form]:
    """Return the finite verb, preceded by `do` as in English if the rule that drops it is left out."""
    if draft.without != "do-support" or not fields.do:
        return [finite]
    return [_inflect((DO, fields.chain[0][1], 0), person, joined=False), finite]


def say_main_clause(
    draft: Draft,
    fields: Fields,
    front: list[Form],
    subject: list[Form],
    head: NounForms,
    attractor: int | None,
    out: list[Form],
) -> None:
    """Append a clause with the finite verb first or second.

    front: what stands before the verb, which may be the subject; subject: what stands after the verb otherwise.
    """
    if not fields.chain:  # `but the woman did not`
        draft.notes.append(("do-support", identify(head, NOMINATIVE), ""))
        out += (*front, *_support_nothing(draft), NEGATION)
        return
    first, *others = fields.chain
    person = _agree(draft, fields, head, attractor, final=False)
    apart = first[0].particle if draft.without != "separable" else None
    verb = _support(draft, fields, person, _inflect(first, person, joined=apart is None))
    if front and subject:
        start = find_anchor(front) or front[-1].word
        draft.notes.append(("inversion", start, first[0].word, identify(head, NOMINATIVE)))
    out += (*front, *subject, *verb) if front and draft.without == "inversion" else (*front, *verb, *subject)
    _say_rest(draft, fields, identify(head, NOMINATIVE) if others or subject else first[0].word, out)
    _note_particle(draft, first, "apart")
    if apart is not None:
        out.append(apart)
    say_after(draft, fields, out)


def _say_rest(draft: Draft, fields: Fields, before: str, out: list[Form]) -> None:
    """Append what follows the finite verb and the subject of a main clause; the negation follows `before` at least."""
    others, rear = fields.chain[1:], fields.predicative
    middle = _fill_middle(draft, fields)
    last = _say_last_verbs(others)
    negation = [NEGATION] if fields.negated else []
    if others and (objects := find_anchor([*middle, *rear])):
        draft.notes.append(("last-verb", objects, others[-1][0].word))
        if draft.without == "last-verb":
            out += last
            last = []
    if draft.without == "do-support":
        out += negation
        negation = []
    out += (*middle, *negation, *rear, *last)
    for link in others:
        _note_particle(draft, link, "joined")
    _note_negation(draft, fields, find_anchor(middle) or before, others[-1][0].word if others else find_anchor(rear))


def _support_nothing(draft: Draft) -> list[Form]:
    return [DO.plain[0].present[THIRD]] if draft.without == "do-support" else []


def say_final_clause(
    draft: Draft, fields: Fields, subject: list[Form], head: NounForms, attractor: int | None, out: list[Form]
) -> None:
    """Append a clause with the finite verb last."""
    first, *others = fields.chain
    person = _agree(draft, fields, head, attractor, final=True)
    verb = _support(draft, fields, person, _inflect(first, person, joined=True))
    middle = _fill_middle(draft, fields)
    anchor = find_anchor(middle)
    rear = [*fields.predicative]
    objects = find_anchor([*middle, *rear])
    negation = [NEGATION] if fields.negated else []
    if draft.without == "do-support":
        verb += negation
        negation = []
    rest = [*middle, *negation, *rear, *_say_last_verbs(others)]
    if objects:
        draft.notes.append(("verb-final", others[0][0].word if others else objects, first[0].word))
    out += (*subject, *verb, *rest) if objects and draft.without == "verb-final" else (*subject, *rest, *verb)
    for link in fields.chain:
        _note_particle(draft, link, "joined")
    draft.combinations.append((fields.chain[-1][0].word, "final"))
    _note_negation(draft, fields, anchor or identify(head, NOMINATIVE), find_anchor(rear) or fields.chain[-1][0].word)
    say_after(draft, fields, out)


def say_bare_clause(draft: Draft, fields: Fields, out: list[Form], *, marked: bool) -> None:
    """Append a clause without a subject: an infinitive, with its marker if so requested, or a participle at its end."""
    middle = [*_fill_middle(draft, fields), *([NEGATION] if fields.negated else []), *fields.predicative]
    *inner, outer = _say_last_verbs(fields.chain)
    last = [*inner, *([MARKER] if marked else []), outer]
    anchor = find_anchor(middle)
    if anchor:
        draft.notes.append(("last-verb", anchor, fields.chain[-1][0].word))
    out += (*last, *middle) if anchor and draft.without == "last-verb" else (*middle, *last)
    for link in fields.chain:
        _note_particle(draft, link, "joined")
    draft.combinations.append((fields.chain[-1][0].word, "infinitive" if marked else "participle"))
    say_after(draft, fields, out)


def say_infinitive(draft: Draft, clause: Phrase, out: list[Form]) -> None:
    """Append `to find the ring` or `finding the ring`, both as an infinitive with its marker."""
    say_bare_clause(draft, read_predicate(draft, _skip_marker(clause), INFINITIVE, None), out, marked=True)


def say_gerund(draft: Draft, clause: Phrase, out: list[Form]) -> None:
    """Append `leaving the house` as what accompanies another action."""
    say_bare_clause(draft, read_predicate(draft, clause[1][0], GERUND, None), out, marked=False)


def _skip_marker(clause: Phrase) -> Phrase:
    """Return the verb phrase of an infinitive or -ing clause, without `to`."""
    phrase: Phrase = clause[1][0]
    return phrase[1][1] if phrase[1][0][0] == "TO" else phrase


def say_subordinate(draft: Draft, clause: Phrase, out: list[Form]) -> None:
    """Append a subordinate clause with its conjunction, which English may leave out, or its question word."""
    *opener, (_, parts) = clause[1]
    label, word = opener[0] if opener else ("IN", "that")
    if label == "WHADVP":
        label, word = "IN", "when"
    subject: list[Form] = []
    head, attractor = NOBODY
    if len(parts) == 2:
        head, attractor = say_noun_phrase(draft, parts[0], NOMINATIVE, subject), find_attractor(parts[0])
    asked = None if label == "IN" else PRONOUNS[word[0][1]]
    fields = read_predicate(draft, parts[-1], None, head, None if asked is None or len(parts) == 1 else "")
    if asked is None:
        out.append(SUBORDINATORS[word])
    else:
        out.append(asked.cases[fields.gap_case if len(parts) == 2 else NOMINATIVE])
    say_final_clause(draft, fields, subject, head, attractor, out)


def say_after(draft: Draft, fields: Fields, out: list[Form]) -> None:
    """Append the clauses that follow the last verb."""
    for clause in fields.after:
        (say_subordinate if clause[0] == "SBAR" else say_infinitive)(draft, clause, out)
