"""Annotations of a sentence with Universal Dependencies: relations, universal tags and morphological features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, cast

from probing.corpus.builders.annotations import AND, Annotations, Target
from probing.corpus.builders.dependency_graph import DependencyGraph
from probing.corpus.builders.tense import label_tense
from probing.corpus.readers import ParsedSentence

NUMBERS: Final = {"Sing": "NN", "Plur": "NNS"}
"""Feature Number -> SentEval's label."""
_SUBJECTS: Final = frozenset(["nsubj", "csubj", "expl"])
_CONJUNCTS: Final = frozenset(["conj"])
_CONJUNCTIONS: Final = frozenset(["cc"])
_MODIFIERS: Final = frozenset(["nummod", "det", "amod", "advmod"])
"""Relations that a numeral before a noun has, in one treebank or another."""
_VERBS: Final = frozenset(["aux", "cop"])
_CAUSEES: Final = frozenset(["obj:agent"])
"""Relations of what is called an object but acts, as the pupils in French `elle fait rire les élèves`."""


def extract(sentence: ParsedSentence) -> Annotations:
    """Return the annotations of a sentence with dependencies."""
    graph = DependencyGraph(sentence)
    return Annotations(
        tokens=sentence.tokens,
        depth=_depth(graph.heads),
        top=_top_sequence(graph),
        tense=label_tense(graph),
        subject=_subject(graph),
        object=_number(graph, "obj", "object"),
        clauses=_clauses(graph),
        kinds=" ".join(
            _word_class(tag, features) if tag in ("NOUN", "VERB") else "-"
            for tag, features in zip(graph.tags, graph.features, strict=True)
        ),
        proper=graph.tags[0] == "PROPN",
    )


def _depth(heads: Sequence[int]) -> int:
    """Return the number of words on the longest path from the root to a leaf, both included."""
    depths = [0] * (len(heads) + 1)
    for place in range(1, len(heads) + 1):
        path = []
        while place and not depths[place]:
            path.append(place)
            place = heads[place - 1]
        for above in reversed(path):
            depths[above] = depths[heads[above - 1]] + 1
    return max(depths)


def _top_sequence(graph: DependencyGraph) -> str:
    """Return the relations of the root and its dependents in order, without the final punctuation."""
    if graph.root is None:
        return ""
    places = sorted([graph.root, *graph.children[graph.root]])
    labels = [graph.relations[place] for place in places]
    if places[-1] == len(graph.tokens) - 1 and labels[-1] == "punct":
        labels.pop()
    return "" if "punct" in labels or len(labels) < 2 else "_".join(labels)


def _subject(graph: DependencyGraph) -> Target | str:
    """Return the number of the root's subject and its form, or the reason why there is none.

    A singular with a plural verb has none: `a number of people are …`, German `42 Mio. Euro werden …`.
    """
    found = _number(graph, "nsubj", "subject")
    if isinstance(found, str) or found[0] == "NNS":
        return found
    root = cast(int, graph.root)
    verbs = [*graph.dependents(root, _VERBS), root]
    numbers = [
        graph.features[place].get("Number")
        for place in verbs
        if graph.tags[place] in ("VERB", "AUX") and graph.features[place].get("VerbForm", "Fin") == "Fin"
    ]
    return "the subject and its verb do not agree" if "Plur" in numbers else found


def _number(graph: DependencyGraph, relation: str, role: str) -> Target | str:
    """Return the number of the root's subject or object and its form, or the reason why there is none.

    The label is the number of one word form, so a coordination has one only if it is plural and its first noun is.
    """
    if graph.root is None:
        return "several roots"
    places = graph.dependents(graph.root, frozenset([relation]))
    if len(places) != 1:
        return f"several {role}s" if places else f"no {role}"
    place = places[0]
    if graph.full_relations[place] in _CAUSEES:
        return f"no {role}"
    if graph.tags[place] != "NOUN":
        return f"the {role} is no common noun"
    label = NUMBERS.get(graph.features[place].get("Number", ""))
    if label is None:
        return f"the {role} has no number"
    if (conjuncts := graph.dependents(place, _CONJUNCTS)) and (
        label == "NN" or not _is_plural(graph, place, conjuncts)
    ):
        return f"the {role} is a coordination of no certain number"
    if label == "NN" and _has_numeral(graph, place):
        return f"the {role} is a singular with a numeral"  # Turkish `iki adam`, Finnish `kaksi miestä`
    return label, graph.tokens[place].lower()


def _has_numeral(graph: DependencyGraph, place: int) -> bool:
    modifiers = graph.dependents(place, _MODIFIERS)
    return any(graph.relations[each] == "nummod" or graph.tags[each] == "NUM" for each in modifiers)


def _is_plural(graph: DependencyGraph, place: int, conjuncts: Sequence[int]) -> bool:
    """Return whether a coordination that begins with a plural is one: joined by `and`, or of plurals only."""
    joining = [cc for each in (place, *conjuncts) for cc in graph.dependents(each, _CONJUNCTIONS)]
    joined = any(graph.tokens[cc].lower() in AND for cc in joining)
    return joined or all(graph.features[each].get("Number") == "Plur" for each in conjuncts)


def _word_class(tag: str, features: Mapping[str, str]) -> str:
    return "|".join([tag, *(f"{name}={value}" for name, value in sorted(features.items()))])


def _clauses(graph: DependencyGraph) -> tuple[int, int, int] | str:
    """Return the bounds of the clauses in `clause [punctuation] conjunction clause [punctuation]`, or a reason.

    Each clause must have its own subject.
    """
    root = graph.root
    if root is None:
        return "several roots"
    conjuncts = graph.dependents(root, _CONJUNCTS)
    if len(conjuncts) != 1 or graph.relations.count("cc") != 1 or graph.tags.count("CCONJ") > 1:
        return "not two coordinate clauses"
    second = conjuncts[0]
    if not graph.dependents(root, _SUBJECTS) or not graph.dependents(second, _SUBJECTS):
        return "a coordinate clause has no subject of its own"
    conjunction = graph.relations.index("cc")
    end = len(graph.tokens) - (graph.relations[-1] == "punct")
    if graph.heads[conjunction] != second + 1 or not root < conjunction < second:
        return "not two coordinate clauses"
    inside = _subtree(graph, second)
    begin = conjunction - (graph.relations[conjunction - 1] == "punct")
    if any((place in inside) != (place > conjunction) for place in range(end) if not begin <= place <= conjunction):
        return "the clauses are not side by side"
    if begin < 1 or end - conjunction < 2:
        return "not two coordinate clauses"
    return begin, conjunction + 1, end


def _subtree(graph: DependencyGraph, place: int) -> set[int]:
    found = {place}
    waiting = [place]
    while waiting:
        below = graph.children[waiting.pop()]
        found.update(below)
        waiting.extend(below)
    return found
