"""A small dependency treebank, made from the gold trees of the embedded grammar, to train real parsers on."""

from __future__ import annotations

from typing import cast

from probing.corpus.grammar import generate
from probing.corpus.readers import Tree

TAGS = {
    "NN": ("NOUN", "Number=Sing"),
    "NNS": ("NOUN", "Number=Plur"),
    "NNP": ("PROPN", "Number=Sing"),
    "VBD": ("VERB", "Mood=Ind|Tense=Past|VerbForm=Fin"),
    "VBZ": ("VERB", "Mood=Ind|Number=Sing|Person=3|Tense=Pres|VerbForm=Fin"),
    "VBP": ("VERB", "Mood=Ind|Tense=Pres|VerbForm=Fin"),
    "VB": ("VERB", "VerbForm=Inf"),
    "VBN": ("VERB", "Tense=Past|VerbForm=Part"),
    "VBG": ("VERB", "VerbForm=Ger"),
    "MD": ("AUX", "VerbForm=Fin"),
    "DT": ("DET", "_"),
    "JJ": ("ADJ", "Degree=Pos"),
    "RB": ("ADV", "_"),
    "IN": ("ADP", "_"),
    "TO": ("PART", "_"),
    "CC": ("CCONJ", "_"),
    "CD": ("NUM", "NumType=Card"),
    "PRP": ("PRON", "PronType=Prs"),
    "PRP$": ("PRON", "Poss=Yes|PronType=Prs"),
    "POS": ("PART", "_"),
}
"""Penn tag -> universal tag and features; all other tags are punctuation or X."""
HEADS = {
    "VP": ("VP", "VBD", "VBZ", "VBP", "VB", "VBN", "VBG", "MD"),
    "PP": ("NP", "S", "SBAR"),
    "SBAR": ("S", "SQ"),
}
CLAUSE = ("VP", "S", "SQ", "SINV", "SBARQ", "ADJP", "NP")
_AUXILIARIES = "be am is are was were been being have has had do does did don doesn didn will would can"
AUXILIARIES = frozenset(_AUXILIARIES.split())


class Treebank:
    """Words, heads and relations of one sentence."""

    def __init__(self, tree: Tree) -> None:
        self.words: list[tuple[str, str]] = []
        self.heads: dict[int, tuple[int, str]] = {}
        self.heads[self._attach(tree)] = (0, "root")
        conjuncts = [place for place, (_, relation) in self.heads.items() if relation == "conj"]
        for place, (head, relation) in self.heads.items():
            later = [other for other in conjuncts if other > place and self.heads[other][0] == head]
            if relation == "cc" and later:
                self.heads[place] = (min(later), "cc")

    def _attach(self, node: Tree) -> int:
        """Attach all words below a node, and return the position of its head."""
        label, children = node
        if isinstance(children, str):
            self.words.append((children, label))
            return len(self.words)
        places = [self._attach(child) for child in children]
        labels = [child[0] for child in children]
        chosen = self._choose(label, labels, places)
        for number, place in enumerate(places):
            if number != chosen:
                self.heads[place] = (places[chosen], self._relate(label, labels, number, chosen, place))
        return places[chosen]

    def _choose(self, label: str, labels: list[str], places: list[int]) -> int:
        wanted = HEADS.get(label, CLAUSE if label.startswith("S") else ())
        if label == "VP" and "VP" in labels:
            verbs = [n for n, tag in enumerate(labels) if tag in HEADS["VP"] and tag != "VP"]
            if verbs and self.words[places[verbs[0]] - 1][0].lower() not in AUXILIARIES and labels[verbs[0]] != "MD":
                return verbs[0]
        for name in wanted:
            if name in labels:
                return labels.index(name)
        nouns = [n for n, tag in enumerate(labels) if tag in ("NN", "NNS", "NNP", "NP", "PRP", "NX")]
        if nouns:
            return nouns[0] if labels[nouns[0]] == "NP" else nouns[-1]
        return next((n for n in reversed(range(len(labels))) if labels[n][0].isalpha()), len(labels) - 1)

    def _relate(self, label: str, labels: list[str], number: int, chosen: int, place: int) -> str:
        tag = labels[number]
        simple = {"DT": "det", "JJ": "amod", "CD": "nummod", "PP": "obl", "CC": "cc", "IN": "case", "TO": "mark"}
        if not tag[0].isalpha():
            return "punct"
        if tag == labels[chosen] and "CC" in labels:
            return "conj"
        if tag == "NP":
            return "nsubj" if number < chosen else "obj" if label == "VP" else "nmod"
        if label == "VP" and tag in HEADS["VP"] and number < chosen:
            return "aux"
        return simple.get(tag, "advmod" if tag in ("RB", "ADVP") else "dep")


def make_conllu(seed: int, count: int) -> str:
    """Return some sentences of the grammar as CoNLL-U."""
    blocks = []
    for sentence in generate(seed, count):
        tree = Treebank(cast(Tree, sentence.tree))
        lines = []
        for place, (form, tag) in enumerate(tree.words, 1):
            upos, features = TAGS.get(tag, ("X" if tag[0].isalpha() else "PUNCT", "_"))
            head, relation = tree.heads[place]
            lines.append(
                "\t".join([str(place), form, form.lower(), upos, tag, features, str(head), relation, "_", "_"])
            )
        blocks.append("\n".join([f"# text = {' '.join(form for form, _ in tree.words)}", *lines]) + "\n\n")
    return "".join(blocks)


def make_text(seed: int, count: int) -> str:
    """Return some sentences of the grammar as running text, three a paragraph."""
    sentences = [" ".join(sentence.tokens) for sentence in generate(seed, count)]
    return "\n\n".join(" ".join(sentences[i : i + 3]) for i in range(0, count, 3)) + "\n"
