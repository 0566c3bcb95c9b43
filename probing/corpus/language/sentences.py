"""Transfer of whole sentences: statements, questions, commands and mere noun phrases, each by its top labels."""

from __future__ import annotations

from probing.corpus.language.clauses import (
    NOBODY,
    find_attractor,
    say_gerund,
    say_infinitive,
    say_main_clause,
    say_subordinate,
)
from probing.corpus.language.draft import Draft
from probing.corpus.language.forms import Form
from probing.corpus.language.inflection import ACCUSATIVE, IMPERATIVE, NOMINATIVE
from probing.corpus.language.lexicon import NOMINALS, WORDS, Phrase
from probing.corpus.language.nominals import say_adverb, say_noun_phrase, say_prepositional
from probing.corpus.language.particles import COMMA, PRONOUNS, PURPOSE
from probing.corpus.language.predicates import read_predicate


def say_sentence(draft: Draft, tree: Phrase, out: list[Form]) -> None:
    """Append the translation of a whole sentence."""
    label, children = tree
    if label == "NP":
        say_noun_phrase(draft, tree, NOMINATIVE, out)
        out.append(WORDS[children[-1]])
    elif label == "SBARQ":
        _ask_for(draft, children, out)
    elif label == "SQ":
        _ask(draft, children, [], out)
        out.append(WORDS[children[-1]])
    elif label == "SINV":
        place, (_, verb), subject, stop = children
        _state(draft, [place, subject, ("VP", verb)], out)
        out.append(WORDS[stop])
    elif children[0][0] == "S" and children[-2][0] == "S":
        for child in children:
            if child[0] == "S":
                _state(draft, child[1], out)
            else:
                out.append(WORDS[child])
    else:
        _state(draft, children[:-1], out)
        out.append(WORDS[children[-1]])


def _state(draft: Draft, children: tuple[Phrase, ...] | list[Phrase], out: list[Form]) -> None:
    """Append a statement or command: connectors, one fronted phrase, the subject and the predicate."""
    front: list[Form] = []
    parts = [child for child in children if child[0] != ","]
    *parts, predicate = parts
    adverb = parts.pop() if len(parts) > 1 and parts[-1][0] == "ADVP" and parts[-2][0] == "NP" else None
    subject = parts.pop() if parts and parts[-1][0] == "NP" else None
    for place, part in enumerate(parts):
        if part[0] in ("CC", "IN", "INTJ"):
            out.append(WORDS[part if part[0] != "INTJ" else part[1][0]])
            if part[0] == "INTJ":
                out.append(COMMA)
        else:
            _front(draft, part, front, purpose=subject is not None and place == len(parts) - 1)
    if subject is None:
        commanded = not front or parts[-1][0] == "ADVP"
        fields = read_predicate(draft, predicate, IMPERATIVE if commanded else None, None)
        say_main_clause(draft, fields, front, [], *NOBODY, out)
        return
    words: list[Form] = []
    head = say_noun_phrase(draft, subject, NOMINATIVE, words)
    fields = read_predicate(draft, predicate, None, head)
    if adverb is not None:
        say_adverb(draft, adverb, fields.adverb)
    order = (front, words) if front else (words, [])
    say_main_clause(draft, fields, *order, head, find_attractor(subject), out)


def _front(draft: Draft, part: Phrase, front: list[Form], *, purpose: bool) -> None:
    """Append what stands before the verb and is not a noun phrase as subject; a clause is closed by a comma."""
    label = part[0]
    if label == "ADVP":
        say_adverb(draft, part, front)
    elif label == "RB":
        front.append(WORDS[part])
    elif label == "NP":
        draft.combinations.append((say_noun_phrase(draft, part, ACCUSATIVE, front).word, "fronted"))
    elif label == "PP":
        draft.combinations.append((say_prepositional(draft, part, front).word, "fronted"))
    elif label == "SBAR":
        say_subordinate(draft, part, front)
        front.append(COMMA)
    elif not purpose:
        say_infinitive(draft, part, front)
        front.append(COMMA)
    elif part[1][0][1][0][0] == "TO":
        front.append(PURPOSE)
        say_infinitive(draft, part, front)
        front.append(COMMA)
    else:
        say_gerund(draft, part, front)
        front.append(COMMA)


def _ask(draft: Draft, children: tuple[Phrase, ...], front: list[Form], out: list[Form], gap: str | None = None) -> int:
    """Append a question with the verb before the subject, and return the case of its object."""
    auxiliary, subject, predicate = children[:3]
    words: list[Form] = []
    head = say_noun_phrase(draft, subject, NOMINATIVE, words)
    fields = read_predicate(draft, ("VP", (auxiliary, predicate)), None, head, gap)
    say_main_clause(draft, fields, front, words, head, find_attractor(subject), out)
    return fields.gap_case


def _ask_for(draft: Draft, children: tuple[Phrase, ...], out: list[Form]) -> None:
    """Append a question with a question word: `what did the king eat ?`, `which king slept ?`, `why did he sleep ?`."""
    (label, opener), (_, question), stop = children
    if label == "WHADVP":
        _ask(draft, question, [WORDS[opener[0]]], out)
    elif len(question) == 1:
        front: list[Form] = []
        head = PRONOUNS[opener[0][1]] if len(opener) == 1 else NOMINALS[opener[1]]
        _say_asked(draft, opener, NOMINATIVE, front)
        say_main_clause(draft, read_predicate(draft, question[0], None, head), front, [], head, None, out)
    else:
        gap = "" if len(opener) == 1 else NOMINALS[opener[1]].sense
        _ask_about_object(draft, opener, question, gap, out)
    out.append(WORDS[stop])


def _ask_about_object(
    draft: Draft, opener: tuple[Phrase, ...], question: tuple[Phrase, ...], gap: str, out: list[Form]
) -> None:
    auxiliary, subject, predicate = question
    words: list[Form] = []
    head = say_noun_phrase(draft, subject, NOMINATIVE, words)
    fields = read_predicate(draft, ("VP", (auxiliary, predicate)), None, head, gap)
    front: list[Form] = []
    _say_asked(draft, opener, fields.gap_case, front)
    say_main_clause(draft, fields, front, words, head, find_attractor(subject), out)


def _say_asked(draft: Draft, opener: tuple[Phrase, ...], case: int, out: list[Form]) -> None:
    """Append `who` or `what`, or `which` with its noun."""
    if len(opener) == 1:
        out.append(PRONOUNS[opener[0][1]].cases[case])
    else:
        say_noun_phrase(draft, ("NP", (("DT", "which"), opener[1])), case, out)
