"""Transfer of what follows a noun and contains a verb: relative clauses and participles."""

from __future__ import annotations

from probing.corpus.language.clauses import find_attractor, say_bare_clause, say_final_clause
from probing.corpus.language.draft import Draft
from probing.corpus.language.forms import Form, NounForms
from probing.corpus.language.inflection import GERUND, NOMINATIVE, PARTICIPLE
from probing.corpus.language.lexicon import Phrase
from probing.corpus.language.nominals import say_noun_phrase
from probing.corpus.language.particles import RELATIVE
from probing.corpus.language.predicates import read_predicate


def add_relative_clause(draft: Draft, noun: NounForms, clause: Phrase, out: list[Form]) -> None:
    """Append a relative clause: always with its pronoun, with the gender of the noun and the case of its own clause."""
    parts = clause[1][-1][1]
    subject: list[Form] = []
    if len(parts) == 1:
        head, attractor = noun, None
        fields = read_predicate(draft, parts[0], None, noun)
        case = NOMINATIVE
    else:
        head, attractor = say_noun_phrase(draft, parts[0], NOMINATIVE, subject), find_attractor(parts[0])
        fields = read_predicate(draft, parts[1], None, head, noun.sense)
        case = fields.gap_case
    pronoun = RELATIVE[noun.gender * 4 + case]
    draft.notes.append(("relative-pronoun", noun.word, pronoun.text))
    draft.combinations.append((noun.word, "relative"))
    out.append(RELATIVE[0] if draft.without == "relative-pronoun" else pronoun)
    say_final_clause(draft, fields, subject, head, attractor, out)


def add_participle(draft: Draft, noun: NounForms, phrase: Phrase, out: list[Form]) -> None:
    """Append `sitting in the garden` or `eaten by the dog`, with the participle last."""
    shape = PARTICIPLE if phrase[1][0][0] == "VBN" else GERUND
    fields = read_predicate(draft, phrase, shape, noun, noun.sense if shape == PARTICIPLE else None)
    say_bare_clause(draft, fields, out, marked=False)
