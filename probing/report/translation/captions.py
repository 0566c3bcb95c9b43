"""What stands below a table of translations: how its figures were made, and what a reader should know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean

from probing.report.blocks import ARROWS_MEAN, NOTHING, Statement, add_method
from probing.report.note import join_some
from probing.report.translation.grouping import PLACE, TranslationGroup, TranslationSystem, spell_pair
from probing.translation.significance import SAMPLES

WHAT = {
    "components": "BLEU by the attentions that have an aggregator",
    "layers": "BLEU by the layers that have an aggregator, 1 the lowest",
    "systems": "BLEU by architecture and language pair",
    "phenomena": "Share of the sentences with a phenomenon in which all of it is translated right, in percent",
}
"""Subject of each table."""
KEPT = (
    "Decoding keeps the keys and values of both attentions; the paper's projects the encoder's output again in each "
    "step, so routed decoders look slower against Base here than there."
)
"""Why the column of decoding speeds is not quite the paper's."""
SPEEDS_MEAN = "Speeds: training steps and decoded sentences a second."
COLUMNS_MEAN = {
    "components": Statement(SPEEDS_MEAN, f"{SPEEDS_MEAN} {KEPT}"),
    "layers": add_method("Train: training steps a second", ""),
    "systems": add_method("Effective Aggregation: routing of encoder self-attention in the two lowest layers", ""),
}
"""Meaning of each table's columns or rows."""
COUNTED = "n: sentences with the phenomenon."
PHENOMENA_MEAN = (
    "Attention: the one that has this work to do. The phenomena are described on the page of the constructed language "
    "in the documentation."
)
PAPERS_DATA = ("wmt14", "en-de", "base")
"""Data, languages and preset of the paper's Tables 2 and 3, as a user may have named them."""


def write_caption(
    name: str, groups: Sequence[TranslationGroup], systems: Sequence[TranslationSystem], what: str = ""
) -> Statement:
    """Return the caption: subject, data, test set and seeds; its method is the signature, intervals and speeds."""
    parts = [f"{WHAT[name]}{f': {what}' if what else ''}."]
    tests: dict[str, str] = {}
    for group in groups:
        measured = [scores for system in group.systems for scores in system.list_scores(group.test)[:1]]
        data = f"{group.identity.data.name} {spell_pair(group.identity.task)}"
        tests.setdefault(data, f", {group.test}, {len(measured[0].statistics):,} sentences" if measured else "")
    parts.append(f"Data: {'; '.join(data + test for data, test in tests.items())}.")
    if name != "systems":
        parts.append(f"Preset: {groups[0].identity.preset}{groups[0].changes}.")
    if name == "phenomena":
        shares = _explain_shares(systems)
        return Statement(" ".join([*parts, shares.short]), " ".join([*parts, shares.full, PHENOMENA_MEAN]))
    signatures = [one.signature for group in groups for system in systems for one in system.list_scores(group.test)]
    signed = [f"sacrebleu: {signature}." for signature in dict.fromkeys(signatures)]
    intervals, last = _explain_intervals(systems), COLUMNS_MEAN[name]
    return Statement(
        " ".join(filter(None, [*parts, intervals.short, last.short])),
        " ".join(filter(None, [*parts, *signed, intervals.full, last.full])),
    )


def _explain_shares(systems: Sequence[TranslationSystem]) -> Statement:
    """Return how the intervals of shares were made."""
    seeds = sorted({seed for system in systems for seed in system.seeds})
    what = "seeds and sentences" if any(len(system.seeds) > 1 for system in systems) else "sentences"
    named = f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"
    what_it_is = f"{named.capitalize()}, ± half the 95 % interval"
    return Statement(f"{what_it_is}. {COUNTED}", f"{what_it_is} over {what} (Wilson's). {COUNTED}")


def _explain_intervals(systems: Sequence[TranslationSystem]) -> Statement:
    seeds = sorted({seed for system in systems for seed in system.seeds})
    if not seeds:
        return NOTHING
    if max(len(system.seeds) for system in systems) > 1:
        spelled = f"{len(seeds)} seeds ({', '.join(map(str, seeds))})"
        alone = any(len(system.seeds) == 1 for system in systems)
        other = ", or over samples of the test sentences where there is one seed" if alone else ""
        return add_method(f"Mean of {spelled}, ± half the 95 % interval", f" over seeds (Student's){other}")
    return add_method(
        f"Seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}, ± half the 95 % interval",
        f" over {SAMPLES} samples of the test sentences; other seeds may differ more",
    )


def explain_arrows(groups: Sequence[TranslationGroup], systems: Sequence[TranslationSystem]) -> Statement:
    """Return the meaning of the arrows, or nothing if no system is compared with the baseline."""
    if not any(group.compare_with_base(system) for group in groups for system in group.systems if system in systems):
        return NOTHING
    pooled = ", mean BLEU over seeds on each" if any(len(system.seeds) > 1 for system in systems) else ""
    return add_method(
        ARROWS_MEAN,
        f"; by paired bootstrap resampling (Koehn 2004; sacrebleu's, {SAMPLES} samples{pooled}), not corrected for the "
        "number of comparisons",
    )


def list_other_scores(groups: Sequence[TranslationGroup], systems: Sequence[TranslationSystem]) -> str:
    """Return BLEU without case and chrF of each system, and its BLEU on other test sets; the means over seeds."""
    found, elsewhere = [], dict[str, list[str]]()
    for group in groups:
        where = f" ({spell_pair(group.identity.task)}, {group.identity.preset})" if len(groups) > 1 else ""
        for system in group.systems:
            scores = system.list_scores(group.test) if system in systems else []
            if scores:
                lowercase, chrf = fmean(one.bleu_lowercase for one in scores), fmean(one.chrf for one in scores)
                found.append(f"{system.label}{where} {lowercase:.2f}, {chrf:.2f}")
            for test in _list_other_tests(system, group.test) if scores else []:
                bleu = fmean(one.bleu for one in system.list_scores(test))
                elsewhere.setdefault(test, []).append(f"{system.label}{where} {bleu:.2f}")
    sentences = [f"BLEU without regard to case, and chrF: {'; '.join(found)}."] if found else []
    return " ".join([*sentences, *(f"BLEU on {test}: {'; '.join(bleus)}." for test, bleus in elsewhere.items())])


def _list_other_tests(system: TranslationSystem, shown: str) -> list[str]:
    """Return the names of the test sets that all seeds of a system have, but for the one that is shown."""
    return [test for test in system.outcomes[0].tests if test != shown and system.list_scores(test)]


def list_notes(
    group: TranslationGroup,
    systems: Sequence[TranslationSystem],
    *,
    against_paper: bool = False,
    speeds: bool = True,
) -> list[str]:
    """Return what a reader should know before believing a table that shows these systems of a group."""
    shown = [system for system in group.systems if system in systems]
    notes = []
    if against_paper and not _is_papers_data(group):
        notes.append(f"the paper's figures are of WMT14 En⇒De and Transformer-Base, these of {group.title}")
    if against_paper and not any(one.aggregator == "em" and one.is_full for one in group.list_measured()):
        notes.append("the paper's claims are about EM routing in all layers, which has no results here")
    if group.base is None:
        notes.append(f"Base has no results on {group.title}, so nothing is compared with it")
    return [
        *notes,
        *_find_failures(shown),
        *_find_gaps(group, shown),
        *(reason for reason in group.incomparable if any(reason.startswith(f"{one.label} was") for one in shown)),
        *_find_seen(group, shown),
        *(_find_places(shown) if speeds else []),
    ]


def _is_papers_data(group: TranslationGroup) -> bool:
    identity = group.identity
    found = (identity.data.name.lower().replace("-", "")[:5], identity.task.lower(), identity.preset)
    return found == PAPERS_DATA


def _find_failures(systems: Sequence[TranslationSystem]) -> Iterator[str]:
    for system in systems:
        for record in system.failed:
            yield f"{system.label} seed {record.identity.seed} failed: {record.error}"


def _find_gaps(group: TranslationGroup, systems: Sequence[TranslationSystem]) -> Iterator[str]:
    """Yield notes on seeds that some systems have and others lack, and on systems without this test set."""
    seeds = sorted({seed for system in systems for seed in system.seeds})
    gaps: dict[str, list[str]] = {}
    for system in systems:
        run = {*system.seeds, *(record.identity.seed for record in system.failed)}
        if absent := [str(seed) for seed in seeds if seed not in run]:
            gaps.setdefault(f"seed{'s' if len(absent) > 1 else ''} {', '.join(absent)}", []).append(system.label)
    for missing, labels in gaps.items():
        yield f"not run with {missing}: {join_some(labels)}"
    if untested := [system.label for system in systems if system.records and not system.list_scores(group.test)]:
        yield f"not tested on {group.test}: {join_some(untested)}"


def _find_seen(group: TranslationGroup, systems: Sequence[TranslationSystem]) -> Iterator[str]:
    """Yield a note if test sentences occur in training."""
    counts = {
        (outcome.pairs.seen.get(group.test, 0), outcome.pairs.tests.get(group.test, 0))
        for system in systems
        for outcome in system.outcomes
    }
    for seen, number in sorted(counts):
        if seen:
            yield f"{seen:,} of the {number:,} sentences of {group.test} occur in training"


def find_places(systems: Sequence[TranslationSystem]) -> list[str]:
    """Return in words the machines and numbers of threads that the systems' speeds were measured on."""
    records = [record for system in systems for record in system.records]
    facts = {name: {str(record.where.get(name, "?")) for record in records} for name in PLACE}
    differing = [name for name, values in facts.items() if len(values) > 1]
    return [f"{name.replace('_', ' ')} {', '.join(sorted(facts[name]))}" for name in differing]


def _find_places(systems: Sequence[TranslationSystem]) -> Iterator[str]:
    if differing := find_places(systems):
        yield f"the speeds cannot be compared, because they were measured in different places: {'; '.join(differing)}"
