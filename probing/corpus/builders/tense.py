"""The tense of a main clause with Universal Dependencies, by one rule for all languages.

The word that decides is the finite verb: an auxiliary or copula of the root if one is finite, else the root itself. It
must be indicative: Mood is Ind, or is missing beside VerbForm=Fin or a person. A copula, a passive, a progressive and
English `do` have the tense of their auxiliary, where the other verbs' features show that it is one of these. Any other
combination of verbs has no label, in any language: the perfect and the pluperfect (an auxiliary and a past
participle), modal verbs and the future (an auxiliary and an infinitive), a negation verb, whose past has no tense
feature, and what a treebank without the features leaves open. A past participle that is the ordinary past by itself, as
Czech `přišel`, is a past.
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
    "möchte möchten möchtest müsste müssten müßte müßten dürfte dürften könne müsse solle wolle dürfe möge wisse "
    "gäbe gäben käme kämen ließe ginge stünde stünden fände fänden bräuchte bräuchten wüsste wüssten wüßte wüßten"
)
_SUBJUNCTIVES: Final = frozenset(_GERMAN_SUBJUNCTIVES.split())
"""German subjunctives, which some treebanks mark as indicative."""
_RUSSIAN_PARTICLES = "бы б пусть пускай"
_PARTICLES: Final = frozenset(_RUSSIAN_PARTICLES.split())
"""Russian particles that make a conditional or an imperative of an indicative form."""
_VERBAL: Final = frozenset(["VerbForm", "Mood", "Tense", "Person"])
"""Features of which a verb has one at least, in treebanks that mark them."""
_OPEN: Final = "an auxiliary and a verb whose features do not show their tense"
_SUBJECTS: Final = frozenset(["nsubj", "csubj", "expl"])
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
    reason = _find_obstacle(graph, [*finite, root] if own else finite, [root, *auxiliaries])
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


def _find_obstacle(graph: DependencyGraph, finite: Sequence[int], verbs: Sequence[int]) -> str:
    """Return why a clause with these verbs, the root first, and those of them that are finite has no label, or ''."""
    for place in finite:
        features, form = graph.features[place], graph.tokens[place].lower()
        if features.get("Mood", "Ind") != "Ind" or form in _SUBJUNCTIVES or _may_be_imperative(graph, place):
            return "the main verb is not indicative"
        if features.get("Tense") == "Fut" or form in _FUTURES:
            return "the main verb is a future"
    if any("Connegative" in graph.features[place] for place in verbs):
        return "a negation verb"
    for place in verbs[1:]:
        features = graph.features[place]
        if features.get("Polarity") == "Neg" and "Tense" not in features:
            return "a negation verb"
        particle = graph.relations[place] == "aux" or graph.tags[place] in _VERBS
        if particle and features.keys().isdisjoint(_VERBAL):
            return "an auxiliary without features"  # a question particle, an infinitive, Turkish `di`
    return ""


def _may_be_imperative(graph: DependencyGraph, place: int) -> bool:
    """Return whether a verb without a mood and a subject may be an imperative, as French `regardez` and `allons`."""
    features = graph.features[place]
    addressed = features.get("Person") == "2" or (features.get("Person"), features.get("Number")) == ("1", "Plur")
    if "Mood" in features or features.get("Tense") != "Pres" or not (addressed or "Person" not in features):
        return False
    return not graph.dependents(cast(int, graph.root), _SUBJECTS)


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
    others = [place for place in auxiliaries if place not in finite]
    if graph.tags[root] in _VERBS and not _is_passive(graph, auxiliaries):
        others.append(root)
    if any(_is_past_participle(graph, place) for place in others):
        return "a past participle with an auxiliary"
    if found[1] in _DO:
        return found
    if any(_is_infinitive(graph, place) for place in others):
        return "an infinitive with an auxiliary"
    complete = bool(others) or not any(_needs_a_verb(graph, place) for place in finite)
    return found if complete and all(_is_progressive(graph, place) for place in others) else _OPEN


def _needs_a_verb(graph: DependencyGraph, place: int) -> bool:
    """Return whether an auxiliary is neither of a copula nor of a passive, nor Turkish `değil`, a negated copula."""
    if graph.relations[place] == "cop" or graph.full_relations[place] == "aux:pass":
        return False
    return graph.features[place].get("Polarity") != "Neg"


def _is_passive(graph: DependencyGraph, auxiliaries: Sequence[int]) -> bool:
    """Return whether the root is the participle of a passive with one of the auxiliaries.

    In Finnish, whose participles have PartForm and Case, it makes a perfect (`on tehty`).
    """
    features = graph.features[cast(int, graph.root)]
    if not any(graph.full_relations[place] == "aux:pass" for place in auxiliaries):
        return False
    participle = features.get("VerbForm", "Part") == "Part" and bool(features)
    return participle and features.keys().isdisjoint(("PartForm", "InfForm", "Case"))


def _is_progressive(graph: DependencyGraph, place: int) -> bool:
    """Return whether a verb is a present participle or gerund, as `going` and `being`."""
    features = graph.features[place]
    form = features.get("VerbForm")
    return form == "Ger" or (form == "Part" and features.get("Tense") == "Pres" and "PartForm" not in features)


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
