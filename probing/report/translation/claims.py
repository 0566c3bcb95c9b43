"""The claims that Li et al. (2019) make about translation (Section 5.2), checked against other results.

Claims that a system is better rest on paired bootstrap resampling with Holm's correction within the claim; claims that
two are nearly alike rest on the 95 % interval of their difference, which must lie within a margin. Whatever these
cannot settle cannot be decided.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from probing.report.claims import Answer, Claim, UndecidableError
from probing.report.significance import LEVEL, format_difference
from probing.report.translation.captions import find_places
from probing.report.translation.cells import spell_layers
from probing.report.translation.grouping import TranslationGroup, TranslationSystem
from probing.statistics import holm
from probing.translation.settings import ATTENTIONS
from probing.translation.significance import BleuDifference

NEAR = 0.3
"""Difference in BLEU up to which two systems count as nearly alike; the paper calls 0.19 marginal."""
SLOWER = 0.05
"""Share of the decoding speed whose loss counts as hardly any; the paper's is 0.01."""


def check_translation_claims(group: TranslationGroup) -> list[Claim]:
    """Return the paper's claims, each checked against the systems of one group.

    There are none without Base, or without EM routing in all layers of some attention.
    """
    if group.base is None or not any(one.aggregator == "em" and one.is_full for one in group.list_measured()):
        return []
    checks: dict[str, Callable[[TranslationGroup], tuple[Answer, str]]] = {
        "EM routing beats Base in each of the three attentions": _check_each,
        "encoder self-attention gains most from routing": _check_encoder,
        f"all three attentions gain little more than the encoder's alone (less than {NEAR} BLEU)": _check_all_three,
        f"routing the two lowest layers is nearly as good as all (within {NEAR} BLEU)": _check_two_layers,
        f"decoding is hardly slower if only the encoder is routed (by less than {SLOWER:.0%})".replace(
            "%", " %"
        ): _check_speed,
    }
    claims = []
    for text, check in checks.items():
        try:
            answer, numbers = check(group)
        except UndecidableError as reason:
            answer, numbers = "cannot be decided", str(reason)
        claims.append(Claim(text, answer, numbers))
    return claims


def _check_each(group: TranslationGroup) -> tuple[Answer, str]:
    """Check that each attention alone is better routed than not."""
    found = _find_alone(group, ATTENTIONS)
    if not found:
        raise UndecidableError("no attention has been routed alone")
    compared = {name: _compare(group, system, group.base) for name, system in found.items()}
    better, worse = _judge(compared)
    missing = [name for name in ATTENTIONS if name not in found]
    numbers = ", ".join(f"{name} {_spell(one)}" for name, one in compared.items())
    numbers += f"; not measured: {', '.join(missing)}" if missing else ""
    if any(worse.values()):
        return "contradicted", numbers
    return "supported" if all(better.values()) and not missing else "cannot be decided", numbers


def _check_encoder(group: TranslationGroup) -> tuple[Answer, str]:
    """Check that routing encoder self-attention is better than routing either of the other two."""
    encoder = _find(group, ("enc-self",))
    others = _find_alone(group, ATTENTIONS[1:])
    if not others:
        raise UndecidableError("no other attention has been routed alone")
    compared = {name: _compare(group, encoder, system) for name, system in others.items()}
    better, worse = _judge(compared)
    missing = [name for name in ATTENTIONS[1:] if name not in others]
    numbers = ", ".join(f"enc-self − {name} {_spell(one)}" for name, one in compared.items())
    numbers += f"; not measured: {', '.join(missing)}" if missing else ""
    if any(worse.values()):
        return "contradicted", numbers
    return "supported" if all(better.values()) and not missing else "cannot be decided", numbers


def _check_all_three(group: TranslationGroup) -> tuple[Answer, str]:
    compared = _compare(group, _find(group, ATTENTIONS), _find(group, ("enc-self",)))
    numbers = f"all three − enc-self {_spell(compared)}"
    if compared.high < NEAR:
        return "supported", numbers
    return "contradicted" if compared.low > NEAR else "cannot be decided", numbers


def _check_two_layers(group: TranslationGroup) -> tuple[Answer, str]:
    full = _find(group, ("enc-self",))
    if full.num_layers < 3:
        raise UndecidableError(f"the encoder has only {full.num_layers} layers")
    compared = _compare(group, _find(group, ("enc-self",), (1, 2)), full)
    numbers = f"{spell_layers((1, 2))} − {spell_layers(full.layers)} {_spell(compared)}"
    if compared.low > -NEAR:
        return "supported", numbers
    return "contradicted" if compared.high < -NEAR else "cannot be decided", numbers


def _check_speed(group: TranslationGroup) -> tuple[Answer, str]:
    """Check the ratio of decoding speeds; every timing of one system is held against every one of the other."""
    encoder, base = _find(group, ("enc-self",)), group.base
    assert base is not None
    if differing := find_places([encoder, base]):
        raise UndecidableError(f"the speeds were measured in different places: {'; '.join(differing)}")
    ours, theirs = _list_speeds(encoder), _list_speeds(base)
    if not ours or not theirs:
        raise UndecidableError("no decoding speed has been measured")
    low, high = min(ours) / max(theirs), max(ours) / min(theirs)
    spread = f"{low:.3f}" if low == high else f"{low:.3f} to {high:.3f}"
    timings = "one timing each" if len(ours) == len(theirs) == 1 else f"{len(ours)} and {len(theirs)} timings"
    numbers = f"EM in enc-self decodes {spread} times as fast as Base, {timings}"
    if low > 1 - SLOWER:
        return "supported", numbers
    return "contradicted" if high < 1 - SLOWER else "cannot be decided", numbers


def _list_speeds(system: TranslationSystem) -> list[float]:
    speeds = [record.timing.sentences_per_second for record in system.records]
    return [speed for speed in speeds if isinstance(speed, int | float) and speed > 0]


def _find_alone(group: TranslationGroup, names: Sequence[str]) -> dict[str, TranslationSystem]:
    """Return the EM systems in which one attention is routed alone, as far as they have been measured."""
    measured = group.list_measured()
    return {name: _find(group, (name,)) for name in names if any(_matches(one, (name,), None) for one in measured)}


def _find(group: TranslationGroup, apply: Sequence[str], layers: tuple[int, ...] | None = None) -> TranslationSystem:
    """Return the only measured EM system with these attentions routed, in these layers or in all."""
    found = [system for system in group.list_measured() if _matches(system, apply, layers)]
    name = f"EM in {' + '.join(apply)}{f', layers {spell_layers(layers)}' if layers else ''}"
    if not found:
        raise UndecidableError(f"{name} has not been measured")
    if len(found) > 1:
        raise UndecidableError(f"{name} has been measured in several ways: {', '.join(one.label for one in found)}")
    return found[0]


def _matches(system: TranslationSystem, apply: Sequence[str], layers: tuple[int, ...] | None) -> bool:
    right_layers = system.is_full if layers is None else system.layers == layers
    return system.aggregator == "em" and system.apply == tuple(apply) and right_layers


def _compare(group: TranslationGroup, first: TranslationSystem, second: TranslationSystem | None) -> BleuDifference:
    compared = group.compare(first, second) if second is not None else None
    if compared is None:
        raise UndecidableError(f"{first.label} was tested on other sentences than what it is compared with")
    return compared


def _judge(compared: Mapping[str, BleuDifference]) -> tuple[dict[str, bool], dict[str, bool]]:
    """Return which differences are significantly above and below zero, after Holm's correction.

    The interval, which knows of the seeds, must exclude zero as well.
    """
    corrected = dict(zip(compared, holm([one.p for one in compared.values()]), strict=True))
    better = {name: corrected[name] < LEVEL and one.low > 0 for name, one in compared.items()}
    worse = {name: corrected[name] < LEVEL and one.high < 0 for name, one in compared.items()}
    return better, worse


def _spell(compared: BleuDifference) -> str:
    low, high = format_difference(compared.low), format_difference(compared.high)
    return f"{format_difference(compared.difference)} [{low}, {high}]"
