"""The phenomena of Halvic by which a translation is scored, grouped by the attention that each of them needs."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

Attention = Literal["enc-self", "enc-dec", "dec-self"]
"""Attention of an encoder-decoder: in the encoder, from the decoder to the encoder, in the decoder."""


class Phenomenon(NamedTuple):
    """Something that Halvic does otherwise than English, and that can be right or wrong in a translation."""

    name: str
    attention: Attention
    title: str
    description: str


# name | title | description
_ENCODER = """
verb-sense | verb sense by its argument | the stem of a verb that has two, by what its object is
homograph | homographs | the stem of a word that is noun, verb or adjective by its context
attachment | attachment of prepositional phrases | an adposition in -i inside of a noun phrase, without it elsewhere
agreement | agreement across a relative clause | person and number of a verb whose subject contains a relative clause
"""
_CROSS = """
inversion | inversion after a fronted phrase | the finite verb between the phrase and the subject
verb-final | verb-final subordinate clauses | the finite verb after all objects and adjuncts
last-verb | participles and infinitives last | the participle or infinitive after all objects and adjuncts
separable | separable verbs, apart or joined | the particle at the end of a main clause, before its verb elsewhere
do-support | do dropped, negation moved | no `do`, and the negation after objects and adjuncts, before the last verbs
genitive | genitives postposed | the owner after what is owned
dative-order | one order for both datives | the receiver before the gift
"""
_DECODER = """
concord | concord in the noun phrase | gender, case and number of determiner, adjective and noun
relative-pronoun | relative pronouns | the pronoun's gender from the noun before it, its case from its clause
perfect-auxiliary | auxiliary of the perfect | one of two auxiliaries, by the verb that comes last
final-agreement | agreement of a final verb | person and number of a verb at the end of its clause
"""


def _list_phenomena(attention: Attention, table: str) -> list[Phenomenon]:
    rows = (line.split(" | ") for line in table.strip().splitlines())
    return [Phenomenon(name, attention, title, description) for name, title, description in rows]


PHENOMENA: Mapping[str, Phenomenon] = MappingProxyType({
    phenomenon.name: phenomenon
    for phenomenon in (
        *_list_phenomena("enc-self", _ENCODER),
        *_list_phenomena("enc-dec", _CROSS),
        *_list_phenomena("dec-self", _DECODER),
    )
})  # fmt: skip
"""Name -> phenomenon, in the order of reports."""
