"""Semantic tasks: Tense, SubNm and ObjNm (of a word of the main clause), and CoIn (were two clauses swapped)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import cast

from probing.corpus.builders.facts import Facts, Target, bag_of_words, is_word
from probing.corpus.builders.plans import Drawn, Plan, scale_bounds, widen_bounds
from probing.corpus.builders.sampling import (
    SPLITS,
    CannotBuildError,
    Instance,
    Sizes,
    Splits,
    assign_forms,
    deal,
    even_out,
)
from probing.corpus.builders.survey import Survey

FREQUENCIES = (100, 5000)
"""Of a target form, in a corpus of 100 million tokens."""


def past_present(survey: Survey, sizes: Sizes) -> Plan:
    """Tense of the main verb."""
    return _target_task(survey, sizes, "tense", ("PAST", "PRES"), lambda facts: facts.tense)


def subject_number(survey: Survey, sizes: Sizes) -> Plan:
    """Number of the main clause's subject."""
    return _target_task(survey, sizes, "subject", ("NN", "NNS"), lambda facts: facts.subject)


def object_number(survey: Survey, sizes: Sizes) -> Plan:
    """Number of the main clause's direct object."""
    return _target_task(survey, sizes, "object", ("NN", "NNS"), lambda facts: facts.object)


def _target_task(
    survey: Survey, sizes: Sizes, name: str, labels: tuple[str, str], find: Callable[[Facts], Target | str]
) -> Plan:
    """A label read off one word form, and each form in one partition only."""
    counts = survey.folded
    targets = survey.targets[name]
    for label in labels:
        if not any(found == label for found, _ in targets):
            raise CannotBuildError(f"no sentence with the label {label}")

    def look(low: int, high: int) -> tuple[bool, float]:
        totals = Counter[str]()
        for (label, form), count in targets.items():
            totals[label] += count if low <= counts[form] <= high else 0
        return min(totals.values()) >= sizes.total / len(labels), totals.total() / targets.total()

    low, high = widen_bounds(*scale_bounds(*FREQUENCIES, survey.tokens), survey.tokens, look)
    by_form: dict[str, dict[str, int]] = {}
    for (label, form), count in sorted(targets.items()):
        if low <= counts[form] <= high:
            by_form.setdefault(form, {})[label] = count
    split_of = assign_forms(by_form, sizes, labels)
    dropped: Counter[str] = Counter()

    def classify(facts: Facts) -> tuple[str, str] | None:
        found = find(facts)
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
            pools[split][label] = [Instance(label, f.tokens, find(f)[1]) for f in found]
        return even_out(pools, sizes, random)

    wanted = sizes.by_split()
    return Plan(
        classify=classify,
        capacity=lambda stratum: wanted[cast(tuple[str, str], stratum)[0]] // len(labels) + 1,
        assemble=assemble,
        settings={"form_frequency": [low, high], "original_form_frequency": list(FREQUENCIES), "forms": len(split_of)},
        dropped=dropped,
    )


def coordination_inversion(survey: Survey, sizes: Sizes) -> Plan:
    """Whether two coordinate clauses were swapped."""
    dropped: Counter[str] = Counter()

    def classify(facts: Facts) -> str | None:
        if isinstance(facts.clauses, str):
            dropped[facts.clauses] += 1
            return None
        if facts.tokens[: facts.clauses[0]] == facts.tokens[facts.clauses[1] : facts.clauses[2]]:
            dropped["the same clause twice"] += 1
            return None
        if not is_word(facts.tokens[0]) or not is_word(facts.tokens[facts.clauses[1]]):
            dropped["a clause begins with punctuation"] += 1
            return None
        return longer_clause(facts)

    def assemble(drawn: Drawn, random: Random) -> Splits:
        """Give I and O the same number of sentences whose first clause, as it stands in the file, is longer."""
        pools = _without_versions({case: drawn.get(case, ()) for case in ("first", "second", "equal")})
        instances: dict[str, list[list[Instance]]] = {"I": [], "O": []}
        unequal = min(len(pools["first"]), len(pools["second"])) // 2
        for case, flipped in (("first", "second"), ("second", "first"), ("equal", "equal")):
            half = len(pools[case]) // 2 if case == "equal" else unequal
            instances["O"].append([Instance("O", f.tokens) for f in pools[case][:half]])
            instances["I"].append([Instance("I", invert(f, survey)) for f in pools[flipped][half : 2 * half]])
        return _deal_cases(instances, sizes, random)

    return Plan(
        classify=classify,
        # Each of the two unequal cases is half of the sentences at most, original and inverted ones together.
        capacity=lambda case: sizes.total // (1 if case == "equal" else 2) + 8,
        assemble=assemble,
        dropped=dropped,
    )


def _without_versions(pools: Mapping[str, Iterable[Facts]]) -> dict[str, list[Facts]]:
    """Return the sentences without those that have the words of an earlier one in another order."""
    taken: set[tuple[str, ...]] = set()
    kept: dict[str, list[Facts]] = {case: [] for case in pools}
    for case, found in pools.items():
        for facts in found:
            words = bag_of_words(facts.tokens)
            if words not in taken:
                taken.add(words)
                kept[case].append(facts)
    return kept


def _deal_cases(instances: dict[str, list[list[Instance]]], sizes: Sizes, random: Random) -> Splits:
    """Deal out I and O with the cases first longer, second longer and equal in the same proportions everywhere."""
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


def longer_clause(facts: Facts) -> str:
    """Return which of two coordinate clauses is longer."""
    first, second, end = cast(tuple[int, int, int], facts.clauses)
    return "first" if first > end - second else "second" if first < end - second else "equal"


def invert(facts: Facts, survey: Survey) -> tuple[str, ...]:
    """Return the tokens with the two clauses swapped and the capitals put right."""
    first, second, end = cast(tuple[int, int, int], facts.clauses)
    tokens = facts.tokens
    opening = tokens[0]
    lowered = opening[0].lower() + opening[1:]
    if not facts.proper and survey.forms[lowered] >= survey.forms[opening]:
        opening = lowered
    front = tokens[second]
    front = front[0].upper() + front[1:] if tokens[0][0].isupper() else front
    return (front, *tokens[second + 1 : end], *tokens[first:second], opening, *tokens[1:first], *tokens[end:])
