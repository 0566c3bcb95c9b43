"""The tense of a main clause with Universal Dependencies, by one rule for all languages.

The word that decides is the finite verb: an auxiliary or copula of the root if one is finite, else the root itself. It
must be indicative: Mood is Ind, or is missing beside VerbForm=Fin or a person. What combines two verbs into one tense
has no label, in any language: the perfect and the pluperfect (an auxiliary and a past participle), modal verbs and the
future (an auxiliary and an infinitive, except English `do`), and a negation verb, whose past has no tense feature. A
passive, a progressive and a copula have the tense of their auxiliary. A past participle that is the ordinary past by
itself, as Czech `přišel`, is a past.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from probing.corpus.builders.annotations import Target
from probing.corpus.builders.dependency_graph import DependencyGraph

TENSES: Final = {"Past": "PAST", "Imp": "PAST", "Pqp": "PAST", "Pres": "PRES"}
"""Feature Tense -> label; the imperfect and the pluperfect that are one word are kinds of past."""
_VERBS: Final = frozenset(["VERB", "AUX"])
_AUXILIARIES: Final = frozenset(["aux", "cop"])
_FORMS_OF_DO = "do does did don doesn didn du"
_DO: Final = frozenset(_FORMS_OF_DO.split())
"""Forms of English `do`, which carries the tense beside an infinitive (`don 't go`, `du n no`)."""
_GERMAN_SUBJUNCTIVES = (
    "sei seien seist seiet wäre wären wärst hätte hätten hättest würde würden würdest könnte könnten könntest "
    "möchte möchten möchtest müsste müssten müßte müßten dürfte dürften"
)
_SUBJUNCTIVES: Final = frozenset(_GERMAN_SUBJUNCTIVES.split())
"""German subjunctives, which some treebanks mark as indicative."""
_RUSSIAN_PARTICLES = "бы б пусть пускай"
_PARTICLES: Final = frozenset(_RUSSIAN_PARTICLES.split())
"""Russian particles that make a conditional or an imperative of an indicative form."""
_RUSSIAN_FUTURES = "буду будешь будет будем будете будут"
_FUTURES: Final = frozenset(_RUSSIAN_FUTURES.split())
"""Russian futures, which some treebanks mark as present."""


def label_tense(graph: DependencyGraph) -> Target | str:
    """Return the tense of the main clause and the form that shows it, or the reason why there is none."""
    root = graph.root
    if root is None:
        return "several roots"
    auxiliaries = graph.dependents(root, _AUXILIARIES)
    finite = [place for place in auxiliaries if _is_finite(graph, place)]
    own = graph.tags[root] in _VERBS and _is_finite(graph, root)
    if not _PARTICLES.isdisjoint([graph.tokens[child].lower() for child in graph.children[root]]):
        return "the main verb is not indicative"
    reason = _find_obstacle(graph, [*finite, root] if own else finite, auxiliaries)
    if reason:
        return reason
    if finite:
        return _label_auxiliary(graph, finite, auxiliaries, own)
    if own:
        return _label(graph, [root])
    past = [place for place in (root, *auxiliaries) if _is_active_past(graph, place)]
    if past:
        return "PAST", graph.tokens[past[0]].lower()
    if graph.features[root].get("VerbForm") == "Part":
        return "the main verb is a participle"
    return "the main verb has no tense"


def _is_finite(graph: DependencyGraph, place: int) -> bool:
    features = graph.features[place]
    form = features.get("VerbForm")
    return form == "Fin" or (form is None and ("Mood" in features or "Person" in features))


def _find_obstacle(graph: DependencyGraph, finite: Sequence[int], auxiliaries: Sequence[int]) -> str:
    """Return why a clause with these finite verbs and auxiliaries has no label, or an empty text."""
    for place in finite:
        features, form = graph.features[place], graph.tokens[place].lower()
        if features.get("Mood", "Ind") != "Ind" or form in _SUBJUNCTIVES:
            return "the main verb is not indicative"
        if features.get("Tense") == "Fut" or form in _FUTURES:
            return "the main verb is a future"
    for place in auxiliaries:
        features = graph.features[place]
        if features.get("Polarity") == "Neg" and "Tense" not in features:
            return "a negation verb"
        if graph.relations[place] == "aux" and features.keys().isdisjoint(("VerbForm", "Mood", "Tense", "Person")):
            return "an auxiliary without features"  # a question particle, an infinitive
    return ""


def _label_auxiliary(
    graph: DependencyGraph, finite: Sequence[int], auxiliaries: Sequence[int], own: bool
) -> Target | str:
    """Return the label of a clause with finite auxiliaries; `own` is whether the root is finite too."""
    root = cast(int, graph.root)
    found = _label(graph, finite)
    if isinstance(found, str):
        return found
    if own:
        # Turkish `geliyor` and its copula `du` are a past. In English, a root with a copula is another clause.
        same = found[0] in ("PAST", _label(graph, [root])[0]) and all(graph.relations[i] == "cop" for i in finite)
        return found if same else "two finite verbs"
    verbs = [place for place in auxiliaries if place not in finite]
    if graph.tags[root] in _VERBS:
        verbs.append(root)
    # The participle of a passive; but in Finnish, whose participles have PartForm, it makes a perfect (`on tehty`).
    passive = "PartForm" not in graph.features[root] and any(graph.full_relations[i] == "aux:pass" for i in auxiliaries)
    if any(_is_past_participle(graph, place) for place in verbs if not (passive and place == root)):
        return "a past participle with an auxiliary"
    if any(_is_infinitive(graph, place) for place in verbs) and found[1] not in _DO:
        return "an infinitive with an auxiliary"
    return found


def _label(graph: DependencyGraph, places: Sequence[int]) -> Target | str:
    """Return the tense that finite verbs have in common, with the first verb's form."""
    labels = {TENSES.get(graph.features[place].get("Tense", "")) for place in places}
    label = labels.pop()
    if labels or label is None:
        return "two finite verbs" if labels else "the main verb has no tense"
    return label, graph.tokens[places[0]].lower()


def _is_past_participle(graph: DependencyGraph, place: int) -> bool:
    """Return whether a verb is a participle that is not a present one; treebanks without VerbForm mark only its Tense.

    Finnish participles, which have PartForm, form a necessive in the present (`on tehtävä`): it counts as well.
    """
    features = graph.features[place]
    form = features.get("VerbForm")
    return (form == "Part" and features.get("Tense") != "Pres") or (form is None and features.get("Tense") == "Past")


def _is_infinitive(graph: DependencyGraph, place: int) -> bool:
    """Return whether a verb is an infinitive; treebanks without VerbForm give it no features."""
    features = graph.features[place]
    return features.get("VerbForm") == "Inf" or not features


def _is_active_past(graph: DependencyGraph, place: int) -> bool:
    """Return whether a verb is an active past participle that is no adjective: a past tense by itself."""
    features = graph.features[place]
    found = tuple(features.get(name) for name in ("Tense", "VerbForm", "Voice"))
    return graph.tags[place] in _VERBS and found == ("Past", "Part", "Act") and "Case" not in features
