"""Annotations of a sentence with Universal Dependencies: relations, universal tags and morphological features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, cast

from probing.corpus.builders.annotations import Annotations, Target
from probing.corpus.readers import ParsedSentence

TENSES: Final = {"Past": "PAST", "Imp": "PAST", "Pqp": "PAST", "Pres": "PRES"}
"""Feature Tense -> label; the imperfect and the pluperfect are kinds of past."""
NUMBERS: Final = {"Sing": "NN", "Plur": "NNS"}
"""Feature Number -> SentEval's label."""
_SUBJECTS: Final = frozenset(["nsubj", "csubj", "expl"])
_COPULAS: Final = frozenset(["cop"])
_AUXILIARIES: Final = frozenset(["aux", "cop"])
_PLAIN: Final = frozenset(["do", "does", "don", "doesn", "du", "am", "is", "are"])
"""English auxiliaries that carry the tense of the sentence beside an infinitive (`don 't go`, `du n no`)."""


class _Graph:
    """A sentence's dependency tree, with relations without subtypes and positions from 0."""

    def __init__(self, sentence: ParsedSentence) -> None:
        self.sentence = sentence
        self.tokens = sentence.tokens
        self.tags = sentence.tags
        self.heads = cast(tuple[int, ...], sentence.heads)
        self.relations = [relation.partition(":")[0] for relation in cast(tuple[str, ...], sentence.relations)]
        self.features = sentence.features or ({},) * len(sentence.tokens)
        self.children: list[list[int]] = [[] for _ in sentence.tokens]
        for place, head in enumerate(self.heads):
            if head:
                self.children[head - 1].append(place)
        roots = [place for place, head in enumerate(self.heads) if head == 0]
        self.root = roots[0] if len(roots) == 1 else None

    def dependents(self, place: int, relations: frozenset[str]) -> list[int]:
        """Return the positions of a word's dependents with one of the relations."""
        return [child for child in self.children[place] if self.relations[child] in relations]


def extract(sentence: ParsedSentence) -> Annotations:
    """Return the annotations of a sentence with dependencies."""
    graph = _Graph(sentence)
    return Annotations(
        tokens=sentence.tokens,
        depth=_depth(graph.heads),
        top=_top_sequence(graph),
        tense=_tense(graph),
        subject=_number(graph, "nsubj", "subject"),
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


def _top_sequence(graph: _Graph) -> str:
    """Return the relations of the root and its dependents in order, without the final punctuation."""
    if graph.root is None:
        return ""
    places = sorted([graph.root, *graph.children[graph.root]])
    labels = [graph.relations[place] for place in places]
    if places[-1] == len(graph.tokens) - 1 and labels[-1] == "punct":
        labels.pop()
    return "" if "punct" in labels or len(labels) < 2 else "_".join(labels)


def _tense(graph: _Graph) -> Target | str:
    root = graph.root
    if root is None:
        return "several roots"
    features = graph.features[root]
    own = TENSES.get(features.get("Tense", "")) if graph.tags[root] in ("VERB", "AUX") else None
    if own is not None and features.get("VerbForm", "Fin") == "Fin":
        return own, graph.tokens[root].lower()
    auxiliaries = graph.dependents(root, _AUXILIARIES)
    finite = [place for place in auxiliaries if graph.features[place].get("VerbForm", "Fin") == "Fin"]
    verbs = [root, *graph.dependents(root, _COPULAS)]
    active = [place for place in verbs if _is_active_past(graph, place)]
    if active and not finite:
        return "PAST", graph.tokens[active[0]].lower()
    for place in finite:
        label = TENSES.get(graph.features[place].get("Tense", ""))
        if label is None:
            continue
        if label == "PRES" and (own == "PAST" or active) and not _is_passive(graph, place):
            return "a past participle with a present auxiliary"
        if label == "PRES" and _is_over_infinitive(graph, place, verbs):
            return "an infinitive with a present auxiliary"
        return label, graph.tokens[place].lower()
    if own is not None and not auxiliaries and features.get("VerbForm") == "Part":
        return "the main verb is a participle"
    return "the main verb has no tense"


def _is_active_past(graph: _Graph, place: int) -> bool:
    """Return whether a verb is an active past participle, which is a past tense by itself, as Czech `přišel`."""
    features = graph.features[place]
    found = tuple(features.get(name) for name in ("Tense", "VerbForm", "Voice"))
    return graph.tags[place] in ("VERB", "AUX") and found == ("Past", "Part", "Act")


def _is_passive(graph: _Graph, place: int) -> bool:
    return (graph.sentence.relations or ())[place] == "aux:pass"


def _is_over_infinitive(graph: _Graph, place: int, verbs: Sequence[int]) -> bool:
    """Return whether an auxiliary forms a future or the like with an infinitive, as in German `wird kommen`."""
    if graph.relations[place] != "aux" or _is_passive(graph, place) or graph.tokens[place].lower() in _PLAIN:
        return False
    return any(graph.features[verb].get("VerbForm") == "Inf" for verb in verbs)


def _number(graph: _Graph, relation: str, role: str) -> Target | str:
    if graph.root is None:
        return "several roots"
    places = graph.dependents(graph.root, frozenset([relation]))
    if not places:
        return f"no {role}"
    if graph.tags[places[0]] != "NOUN":
        return f"the {role} is no common noun"
    label = NUMBERS.get(graph.features[places[0]].get("Number", ""))
    if label is None:
        return f"the {role} has no number"
    return label, graph.tokens[places[0]].lower()


def _word_class(tag: str, features: Mapping[str, str]) -> str:
    return "|".join([tag, *(f"{name}={value}" for name, value in sorted(features.items()))])


def _clauses(graph: _Graph) -> tuple[int, int, int] | str:
    """Return the bounds of the clauses in `clause [punctuation] conjunction clause [punctuation]`, or a reason.

    Each clause must have its own subject.
    """
    root = graph.root
    if root is None:
        return "several roots"
    conjuncts = graph.dependents(root, frozenset(["conj"]))
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


def _subtree(graph: _Graph, place: int) -> set[int]:
    found = {place}
    waiting = [place]
    while waiting:
        below = graph.children[waiting.pop()]
        found.update(below)
        waiting.extend(below)
    return found
