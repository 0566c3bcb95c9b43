"""Relations of other schemes become Universal Dependencies.

spaCy's English models use ClearNLP's relations, its German models TIGER's; most others use Universal Dependencies. Both
make the preposition the head of its noun, the copula the head of the predicate, and (TIGER) the auxiliary the head of
the verb; in Universal Dependencies the content word is the head. Conjunctions move to the conjunct that they introduce.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

Scheme = Literal["universal", "clear", "tiger"]
"""Scheme of relations."""


@dataclass(slots=True)
class ParsedWord:
    """A word of a sentence; its head is counted from 1, and 0 for the root."""

    form: str
    tag: str
    head: int
    relation: str
    features: str = ""


_CLEAR: Final = {
    "ROOT": "root",
    "dobj": "obj",
    "dative": "iobj",
    "nsubjpass": "nsubj:pass",
    "csubjpass": "csubj:pass",
    "auxpass": "aux:pass",
    "prt": "compound:prt",
    "neg": "advmod",
    "poss": "nmod:poss",
    "npadvmod": "obl:npmod",
    "nummod": "nummod",
    "relcl": "acl:relcl",
    "intj": "discourse",
    "acomp": "xcomp",
    "attr": "xcomp",
    "oprd": "xcomp",
    "pcomp": "advcl",
    "prep": "obl",
    "agent": "obl",
    "predet": "det:predet",
    "preconj": "cc:preconj",
    "quantmod": "advmod",
    "nmod": "nmod",
    "meta": "dep",
}
_TIGER: Final = {
    "ROOT": "root",
    "sb": "nsubj",
    "sbp": "obl",
    "sp": "xcomp",
    "oa": "obj",
    "oa2": "obj",
    "og": "obj",
    "da": "iobj",
    "op": "obl",
    "oc": "xcomp",
    "pd": "xcomp",
    "mo": "advmod",
    "ng": "advmod",
    "ams": "obl",
    "cc": "obl",
    "cd": "cc",
    "cj": "conj",
    "cm": "mark",
    "cp": "mark",
    "cvc": "obl",
    "ac": "case",
    "adc": "compound",
    "ag": "nmod",
    "pg": "nmod",
    "mnr": "nmod",
    "app": "appos",
    "nk": "nmod",
    "nmc": "nummod",
    "pnc": "flat",
    "pm": "mark",
    "svp": "compound:prt",
    "ep": "expl",
    "ph": "expl",
    "rc": "acl:relcl",
    "re": "ccomp",
    "rs": "parataxis",
    "par": "parataxis",
    "dm": "discourse",
    "ju": "cc",
    "vo": "vocative",
    "uc": "flat:foreign",
    "dep": "dep",
    "punct": "punct",
}
_OF_NOUNS: Final = {"DET": "det", "PRON": "det", "ADJ": "amod", "NUM": "nummod", "ADV": "advmod"}
"""Tag of a noun's modifier -> its relation, where TIGER has nk for all."""
_NOMINAL: Final = frozenset(["NOUN", "PROPN", "PRON", "NUM"])
_ENGLISH_BE = "be am is are was were been being 'm 's 're ’m ’s ’re isn aren wasn weren"
_GERMAN_BE = "sein bin bist ist sind seid war warst waren wart gewesen sei seien wäre wären"
_BE: Final = frozenset(f"{_ENGLISH_BE} {_GERMAN_BE}".split())


def find_scheme(labels: Iterable[str]) -> Scheme:
    """Return the scheme to which a parser's labels belong."""
    found = set(labels)
    return "clear" if "dobj" in found else "tiger" if {"sb", "oa"} <= found else "universal"


def to_universal(words: Sequence[ParsedWord], scheme: Scheme) -> Sequence[ParsedWord]:
    """Return the words with relations of Universal Dependencies."""
    if scheme == "universal":
        return words
    tree = _Sentence(words)
    if scheme == "clear":
        tree.raise_nouns({"prep", "agent", "dative"}, {"pobj"})
        tree.raise_predicates({"attr", "acomp"})
        tree.attach_conjunctions("cc", "conj")
        tree.rename(_CLEAR)
    else:
        tree.raise_conjuncts()
        tree.raise_nouns({"mo", "op", "mnr", "sbp", "pg", "cvc", "oc", "pd", "ag"}, {"nk"})
        tree.raise_verbs()
        tree.raise_predicates({"pd"})
        tree.attach_conjunctions("cd", "cj")
        tree.rename(_TIGER)
    return tree.words


class _Sentence:
    """The words of a sentence while their heads are changed."""

    def __init__(self, words: Sequence[ParsedWord]) -> None:
        self.words = words

    def children(self, head: int, relations: Iterable[str] | None = None) -> list[int]:
        """Return the places of a word's dependents, all or those with some relations."""
        return [
            place
            for place, word in enumerate(self.words, 1)
            if word.head == head and (relations is None or word.relation in relations)
        ]

    def swap(self, head: int, dependent: int, relation: str, *, keep: Iterable[str] = ()) -> None:
        """Make a dependent the head of its head, which gets a relation; it takes over the other dependents."""
        old, new = self.words[head - 1], self.words[dependent - 1]
        new.head, new.relation = old.head, old.relation
        old.head, old.relation = dependent, relation
        for child in self.children(head):
            if self.words[child - 1].relation not in keep:
                self.words[child - 1].head = dependent

    def raise_nouns(self, relations: set[str], of_noun: set[str]) -> None:
        """Make the noun the head of its preposition."""
        for place, word in enumerate(self.words, 1):
            if word.tag == "ADP" and word.relation in relations:
                nouns = self.children(place, of_noun)
                if nouns:
                    self.swap(place, nouns[-1], "case", keep=of_noun)
                    above = self.words[self.words[nouns[-1] - 1].head - 1] if self.words[nouns[-1] - 1].head else None
                    nominal = above is not None and above.tag in _NOMINAL
                    self.words[nouns[-1] - 1].relation = "nmod" if nominal else "obl"
                    for other in nouns[:-1]:
                        self.words[other - 1].head = nouns[-1]

    def raise_predicates(self, relations: set[str]) -> None:
        """Make the predicate the head of a form of `be`."""
        for place, word in enumerate(self.words, 1):
            if word.tag in ("AUX", "VERB") and word.form.lower() in _BE:
                predicates = self.children(place, relations)
                if predicates:
                    self.swap(place, predicates[0], "cop")

    def raise_verbs(self) -> None:
        """Make the verb the head of its auxiliaries, from the outermost to the innermost."""
        for place, word in enumerate(self.words, 1):
            inner = self.children(place, {"oc"}) if word.tag == "AUX" else []
            verbs = [child for child in inner if self.words[child - 1].tag in ("VERB", "AUX")]
            if verbs:
                participle = "VerbForm=Part" in self.words[verbs[-1] - 1].features
                passive = participle and word.form.lower().startswith(("w", "geworden"))
                self.swap(place, verbs[-1], "aux:pass" if passive else "aux")

    def raise_conjuncts(self) -> None:
        """Attach a conjunct to the first one instead of to the conjunction."""
        for word in self.words:
            while word.relation == "cj" and word.head and self.words[word.head - 1].relation in ("cd", "cj"):
                word.head = self.words[word.head - 1].head

    def attach_conjunctions(self, conjunction: str, conjunct: str) -> None:
        """Attach a conjunction to the next conjunct."""
        for place, word in enumerate(self.words, 1):
            if word.relation == conjunction:
                later = [child for child in self.children(word.head, {conjunct}) if child > place]
                if later:
                    word.head = later[0]

    def rename(self, names: dict[str, str]) -> None:
        """Replace the names of the relations."""
        for word in self.words:
            relation = names.get(word.relation, word.relation)
            if word.relation == "nk":
                relation = _OF_NOUNS.get(word.tag, "nmod")
            elif word.relation == "mo" and word.tag in _NOMINAL:
                relation = "obl"
            word.relation = relation if word.head else "root"
