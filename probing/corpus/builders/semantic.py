"""Semantic tasks: Tense, SubNm and ObjNm (of a word of the main clause), and CoIn (whether clauses were swapped)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from random import Random
from typing import cast

from probing.corpus.builders.annotations import Annotations, Target, bag_of_words, is_word
from probing.corpus.builders.drawing import Drawn, SamplingDesign, describe_losses, scale_bounds, widen_bounds
from probing.corpus.builders.sampling import CannotBuildError, Sizes, assign_forms, deal, even_out
from probing.corpus.builders.survey import Survey
from probing.corpus.instances import Instance, Splits
from probing.tasks import SPLITS

FREQUENCIES = (100, 5000)
"""Bounds of the frequency of a target form, in a corpus of 100 million tokens."""


def target_form(survey: Survey, sizes: Sizes, *, annotation: str, labels: tuple[str, str]) -> SamplingDesign:
    """Return the design of Tense, SubNm or ObjNm, whose label depends on one word form.

    Each form occurs in one split only. annotation: name of the annotation that has the label and the form.
    """
    counts = survey.folded
    targets = survey.targets[annotation]
    find: Callable[[Annotations], Target | str] = attrgetter(annotation)
    if annotation == "tense" and survey.dependencies and "Mood" in survey.missing and survey.personal:
        raise CannotBuildError("this treebank has no Mood feature, so that other moods look like the indicative")
    for label in labels:
        if not any(found == label for found, _ in targets):
            raise CannotBuildError(_explain(survey, find, label))

    def total(low: int, high: int) -> Counter[str]:
        totals = Counter[str]()
        for (label, form), count in targets.items():
            totals[label] += count if low <= counts[form] <= high else 0
        return totals

    def look(low: int, high: int) -> tuple[bool, float]:
        totals = total(low, high)
        return min(totals.values()) >= sizes.total / len(labels), totals.total() / targets.total()

    low, high = widen_bounds(*scale_bounds(*FREQUENCIES, survey.tokens), survey.tokens, look)
    sizes = sizes.fit(len(labels) * min(total(low, high).values()))
    by_form: dict[str, dict[str, int]] = {}
    for (label, form), count in sorted(targets.items()):
        if low <= counts[form] <= high:
            by_form.setdefault(form, {})[label] = count
    split_of = assign_forms(by_form, sizes, labels)
    dropped: Counter[str] = Counter()

    def classify(sentence: Annotations) -> tuple[str, str] | None:
        found = find(sentence)
        if isinstance(found, str):
            dropped[found] += 1
            return None
        split = split_of.get(found[1])
        if split is None:
            dropped["the target form is too rare" if counts[found[1]] < low else "the target form is too frequent"] += 1
            return None
        return split, found[0]

    def assemble(drawn: Drawn, random: Random) -> Splits:
        pools: dict[str, dict[str, list[Instance]]] = {split: {label: [] for label in labels} for split in SPLITS}
        for stratum, found in drawn.items():
            split, label = cast(tuple[str, str], stratum)
            pools[split][label] = [Instance(label, sentence.tokens, find(sentence)[1]) for sentence in found]
        return even_out(pools, sizes, random)

    wanted = sizes.by_split()
    return SamplingDesign(
        classify=classify,
        capacity=lambda stratum: wanted[cast(tuple[str, str], stratum)[0]] // len(labels) + 1,
        assemble=assemble,
        settings={"form_frequency": [low, high], "original_form_frequency": list(FREQUENCIES), "forms": len(split_of)},
        dropped=dropped,
    )


def _explain(survey: Survey, find: Callable[[Annotations], Target | str], label: str) -> str:
    """Return why no sentence has a label: the treebank lacks a feature, or the most frequent reasons."""
    feature = "Tense" if label in ("PAST", "PRES") else "Number"
    if survey.dependencies and feature in survey.missing:
        return f"this treebank has no {feature} feature"
    reasons = Counter(found for _, _, sentence in survey.records() if isinstance(found := find(sentence), str))
    return f"no sentence with the label {label}{describe_losses(reasons)}"


def coordination_inversion(survey: Survey, sizes: Sizes) -> SamplingDesign:
    """Return the design of CoIn: whether two coordinate clauses were swapped."""
    dropped: Counter[str] = Counter()

    def classify(sentence: Annotations) -> str | None:
        if isinstance(sentence.clauses, str):
            dropped[sentence.clauses] += 1
            return None
        if sentence.tokens[: sentence.clauses[0]] == sentence.tokens[sentence.clauses[1] : sentence.clauses[2]]:
            dropped["the same clause twice"] += 1
            return None
        if not is_word(sentence.tokens[0]) or not is_word(sentence.tokens[sentence.clauses[1]]):
            dropped["a clause begins with punctuation"] += 1
            return None
        return longer_clause(sentence)

    def assemble(drawn: Drawn, random: Random) -> Splits:
        """Make I and O with equally many sentences whose first clause, as written in the file, is longer."""
        pools = _without_versions({case: drawn.get(case, ()) for case in ("first", "second", "equal")})
        instances: dict[str, list[list[Instance]]] = {"I": [], "O": []}
        unequal = min(len(pools["first"]), len(pools["second"])) // 2
        for case, flipped in (("first", "second"), ("second", "first"), ("equal", "equal")):
            half = len(pools[case]) // 2 if case == "equal" else unequal
            instances["O"].append([Instance("O", sentence.tokens) for sentence in pools[case][:half]])
            instances["I"].append(
                [Instance("I", invert(sentence, survey)) for sentence in pools[flipped][half : 2 * half]]
            )
        return _deal_cases(instances, sizes, random)

    return SamplingDesign(
        classify=classify,
        # Each of the two unequal cases is half of the sentences at most, original and inverted ones together.
        capacity=lambda case: sizes.total // (1 if case == "equal" else 2) + 8,
        assemble=assemble,
        dropped=dropped,
    )


def _without_versions(pools: Mapping[str, Iterable[Annotations]]) -> dict[str, list[Annotations]]:
    """Return the sentences, except those with the words of an earlier one in another order."""
    taken: set[tuple[str, ...]] = set()
    kept: dict[str, list[Annotations]] = {case: [] for case in pools}
    for case, found in pools.items():
        for sentence in found:
            words = bag_of_words(sentence.tokens)
            if words not in taken:
                taken.add(words)
                kept[case].append(sentence)
    return kept


def _deal_cases(instances: dict[str, list[list[Instance]]], sizes: Sizes, random: Random) -> Splits:
    """Divide I and O among the splits, with the three cases of clause lengths in the same proportions everywhere."""
    if not instances["O"][0]:
        raise CannotBuildError("no sentences with two coordinate clauses of either order of length")
    mixed: dict[str, list[Instance]] = {}
    for label, cases in instances.items():
        # Interleave the cases evenly, so that any stretch of the list has them in the same proportion.
        ranked = [
            ((place + 0.5) / len(found), case, instance)
            for case, found in enumerate(cases)
            for place, instance in enumerate(found)
        ]
        mixed[label] = [instance for _, _, instance in sorted(ranked, key=lambda item: item[:2])]
    return deal(mixed, sizes, random)


def longer_clause(sentence: Annotations) -> str:
    """Return which of two coordinate clauses is longer: first, second or equal."""
    first, second, end = cast(tuple[int, int, int], sentence.clauses)
    return "first" if first > end - second else "second" if first < end - second else "equal"


def invert(sentence: Annotations, survey: Survey) -> tuple[str, ...]:
    """Return the tokens with the two clauses swapped and the capitals corrected."""
    first, second, end = cast(tuple[int, int, int], sentence.clauses)
    tokens = sentence.tokens
    opening = tokens[0]
    lowered = opening[0].lower() + opening[1:]
    if not sentence.proper and survey.forms[lowered] >= survey.forms[opening]:
        opening = lowered
    front = tokens[second]
    front = front[0].upper() + front[1:] if tokens[0][0].isupper() else front
    return (front, *tokens[second + 1 : end], *tokens[first:second], opening, *tokens[1:first], *tokens[end:])
