"""Records of translations in groups: those of the same data, languages, preset and training, a system with its seeds.

Systems of one group differ in nothing but the aggregator, the attentions and layers that have it, and its own settings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from probing.errors import ProbingError, unknown
from probing.registry import AGGREGATORS
from probing.report.grouping import flatten_settings, label_models
from probing.results import CellIdentity, Record, Store, TestScores, TranslationScores
from probing.translation.settings import ATTENTIONS
from probing.translation.significance import BleuDifference, SystemBleu, compare_bleu, resample

BASE = "base"
"""Name of the aggregator that everything is compared with."""
ROUTING = {
    *(f"model.{name}" for name in ("aggregator", "apply", "layers_with_aggregator", "num_capsules", "iterations")),
    *("model.votes", "model.squash", "model.inverse_temperature", "routing.implementation"),
}
"""Settings in which the systems of a table may differ: those of the aggregator."""
DEEPEST = 1000
"""Largest number of layers of a stack that tables know."""
PLACE = ("device", "processor", "instruction_set", "threads", "torch")
"""Facts about where records were made, without which speeds cannot be compared."""


@dataclass(frozen=True, slots=True, eq=False)
class TranslationSystem:
    """One model with one set of settings: a row of a table."""

    label: str
    """Name with whatever distinguishes the system from others of the same name."""
    aggregator: str
    routing: str
    """Name of the aggregator in tables."""
    apply: tuple[str, ...]
    """Attentions that have the aggregator; none for the baseline."""
    layers: tuple[int, ...]
    """Layers that have the aggregator, counted from 1; none for the baseline."""
    num_layers: int
    records: Sequence[Record]
    """Finished records, a seed each."""
    failed: Sequence[Record]

    @property
    def outcomes(self) -> list[TranslationScores]:
        """Outcomes of the finished records."""
        return [record.translation for record in self.records if record.translation is not None]

    @property
    def is_base(self) -> bool:
        """Whether all heads are aggregated as usual, by a linear projection."""
        return self.aggregator == BASE

    @property
    def is_full(self) -> bool:
        """Whether every layer has the aggregator."""
        return len(self.layers) == self.num_layers

    @property
    def parameters(self) -> int | None:
        """Number of parameters."""
        return self.outcomes[0].parameters if self.outcomes else None

    @property
    def seeds(self) -> list[int]:
        """Seeds of the finished records."""
        return [record.identity.seed for record in self.records]

    def find_speed(self, name: str) -> float | None:
        """Return the mean of a speed over seeds, or None if a record does not have it."""
        speeds = [getattr(record.timing, name) for record in self.records]
        return fmean(speeds) if speeds and all(isinstance(speed, int | float) for speed in speeds) else None

    def list_scores(self, test: str) -> list[TestScores]:
        """Return each seed's scores on a test set; none if a seed was not tested on it."""
        found = [outcome.tests.get(test) for outcome in self.outcomes]
        return [scores for scores in found if scores is not None] if None not in found else []


@dataclass(frozen=True, slots=True, eq=False)
class TranslationGroup:
    """Systems that may be compared with one another, and their BLEU on one test set."""

    records: Sequence[Record]
    systems: Sequence[TranslationSystem]
    test: str
    """Name of the test set; empty if nothing is finished."""
    base: TranslationSystem | None
    bleus: Mapping[str, SystemBleu]
    """BLEU of each system, by its label; missing if it has none."""
    incomparable: Sequence[str]
    """Sentences on systems that were tested on other sentences than the baseline."""
    shared: str
    """Settings that all systems have in common, in a form that can be compared."""
    changes: str
    """Settings in which this group differs from others of the same title."""

    @property
    def identity(self) -> CellIdentity:
        """Identity of one cell; all have the same data, languages and preset."""
        return self.records[0].identity

    @property
    def title(self) -> str:
        """Data, languages, preset and what distinguishes the group from others."""
        identity = self.identity
        return f"{identity.data.name} {spell_pair(identity.task)}, preset {identity.preset}{self.changes}"

    def list_measured(self) -> list[TranslationSystem]:
        """Return the systems that have a BLEU."""
        return [system for system in self.systems if system.label in self.bleus]

    def compare(self, first: TranslationSystem, second: TranslationSystem) -> BleuDifference | None:
        """Compare two systems, if both have been tested on the same sentences."""
        ours, theirs = self.bleus.get(first.label), self.bleus.get(second.label)
        if ours is None or theirs is None or identify_test(first, self.test) != identify_test(second, self.test):
            return None
        return compare_bleu(ours, theirs)

    def compare_with_base(self, system: TranslationSystem) -> BleuDifference | None:
        """Compare a system with the baseline, if there is one and it is another."""
        return None if self.base is None or system.is_base else self.compare(system, self.base)


def load_translations(folder: Path, on_damaged: Callable[[str], None]) -> list[Record]:
    """Return a folder's records of translations; if there are none, the error names the command to run."""
    records = Store(folder).load(on_damaged)
    chosen = [record for record in records if record.identity.measure == "translation"]
    if not chosen:
        others = f", only {len(records)} of probing tasks (see `probe report`)" if records else ""
        raise ProbingError(f"{folder}: no translations there{others}. Run `probe translate run` first")
    return chosen


def group_translations(records: Sequence[Record], *, test: str | None = None) -> list[TranslationGroup]:
    """Return a group for every data set, language pair, preset and training; `test` names a test set.

    Without a name, each group has the first test set of its first record; with one, groups without it are left out.
    """
    known = dict.fromkeys(name for record in records if record.translation for name in record.translation.tests)
    if test is not None and test not in known:
        raise unknown("test set", test, known)
    members: dict[tuple[str, ...], list[Record]] = {}
    for record in sorted(records, key=_order_record):
        members.setdefault(_identify_group(record), []).append(record)
    changes = _list_changes(members)
    groups = [_make_group(found, test, key[-1], changes[key]) for key, found in members.items()]
    return [group for group in groups if test is None or group.bleus]


def spell_pair(task: str) -> str:
    """Return the languages of a translation as the paper writes them: `En⇒De` for en-de."""
    return "⇒".join(code[:1].upper() + code[1:] for code in task.split("-", 1))


def identify_test(system: TranslationSystem, test: str) -> list[tuple[str, list[int]]]:
    """Return what must be equal for two systems to be compared: how BLEU was computed, and the references' lengths."""
    return [(scores.signature, [row[1] for row in scores.statistics]) for scores in system.list_scores(test)[:1]]


def _order_record(record: Record) -> tuple[str, str, str, str, str]:
    identity = record.identity
    return identity.data.name, identity.task, identity.preset, record.timing.finished_at, record.key


def _identify_group(record: Record) -> tuple[str, ...]:
    """Return what the records of one table have in common."""
    identity = record.identity
    shared = {name: value for name, value in flatten_settings(record).items() if name not in ROUTING}
    data = (identity.data.name, identity.task, identity.preset, identity.data.sha256, str(identity.data.datasheet))
    return (*data, repr(sorted(shared.items())))


def _list_changes(members: Mapping[tuple[str, ...], Sequence[Record]]) -> dict[tuple[str, ...], str]:
    """Return for each group the settings in which it differs from others of the same data, languages and preset."""
    changes = {}
    for key, records in members.items():
        namesakes = [other for other in members if other[:3] == key[:3]]
        settings = [flatten_settings(members[other][0]) for other in namesakes]
        own = flatten_settings(records[0])
        names = [name for name in own if name not in ROUTING and len({repr(one.get(name)) for one in settings}) > 1]
        parts = [f"{name}={own[name]}" for name in names]
        if len({other[3:5] for other in namesakes}) > 1:
            parts.append(f"data with SHA-256 {records[0].identity.data.sha256[:12]}")
        changes[key] = f" ({', '.join(parts)})" if parts else ""
    return changes


def _make_group(records: Sequence[Record], test: str | None, shared: str, changes: str) -> TranslationGroup:
    systems = _make_systems(records)
    first = next((outcome for system in systems for outcome in system.outcomes), None)
    name = test if test is not None else next(iter(first.tests)) if first else ""
    for system in systems:
        _check_seeds(system, name)
    base = next((system for system in systems if system.is_base and system.list_scores(name)), None)
    clusters: dict[str, list[TranslationSystem]] = {}
    for system in systems:
        if system.list_scores(name):
            clusters.setdefault(repr(identify_test(system, name)), []).append(system)
    bleus: dict[str, SystemBleu] = {}
    for found in clusters.values():
        drawn = resample([[scores.statistics for scores in system.list_scores(name)] for system in found])
        bleus |= {system.label: one for system, one in zip(found, drawn, strict=True)}
    apart = [system.label for found in clusters.values() if base is not None and base not in found for system in found]
    reasons = [f"{label} was tested on other sentences than Base, so the two are not compared" for label in apart]
    return TranslationGroup(records, systems, name, base, bleus, reasons, shared, changes)


def _make_systems(records: Sequence[Record]) -> list[TranslationSystem]:
    """Return the systems of a group in the order of the paper's tables: by aggregator, then by number of attentions."""
    found: dict[tuple[str, str, str], list[Record]] = {}
    for record in records:
        found.setdefault(_identify_system(record), []).append(record)
    labels = label_models({key: members[0] for key, members in found.items()})
    return sorted((_make_system(members, labels[key]) for key, members in found.items()), key=_order_system)


def _identify_system(record: Record) -> tuple[str, str, str]:
    """Return what the seeds of one system have in common; settings of routing do not matter to the baseline."""
    identity = record.identity
    name = find_aggregator(record)
    own = {name: value for name, value in flatten_settings(record).items() if name in ROUTING}
    return name, identity.model.version, "" if name == BASE else repr(sorted(own.items()))


def find_aggregator(record: Record) -> str:
    """Return the name of a record's aggregator; a model without an attention that has it is the baseline."""
    model = record.identity.settings.get("model", {})
    name = str(model.get("aggregator", record.identity.model.name))
    return name if _list(model.get("apply")) else BASE


def _list(value: object) -> list[object]:
    """Return a setting that should be a list; a record may hold anything."""
    return list(value) if isinstance(value, list | tuple) else []


def _read_layer(value: object) -> int:
    """Return a number of layers, or 0 for anything else that a record may hold."""
    return value if type(value) is int and value > 0 else 0


def _make_system(records: Sequence[Record], label: str) -> TranslationSystem:
    identity = records[0].identity
    model = identity.settings.get("model", {})
    name = find_aggregator(records[0])
    number = min(_read_layer(model.get("num_layers")), DEEPEST)
    chosen = _list(model.get("apply"))
    apply = tuple(attention for attention in ATTENTIONS if attention in chosen) if name != BASE else ()
    named = sorted({layer for layer in map(_read_layer, _list(model.get("layers_with_aggregator"))) if layer})
    layers = tuple(named or range(1, number + 1)) if name != BASE else ()
    builtin = AGGREGATORS.builtins.get(name)
    # What distinguishes namesakes stands in brackets behind the label.
    more = label.removeprefix(identity.model.label)
    routing = (builtin.label if builtin else identity.model.label.partition(",")[0]) + more
    finished: dict[int, Record] = {}
    for record in records:
        if record.translation is not None:
            finished.setdefault(record.identity.seed, record)
    return TranslationSystem(
        label=label,
        aggregator=name,
        routing=routing,
        apply=apply,
        layers=layers,
        num_layers=number,
        records=[finished[seed] for seed in sorted(finished)],
        failed=[record for record in records if record.status == "failed"],
    )


def _order_system(system: TranslationSystem) -> tuple[int, int, list[int], int, list[int], str]:
    known = list(AGGREGATORS.builtins)
    place = known.index(system.aggregator) if system.aggregator in known else len(known)
    attentions = [ATTENTIONS.index(attention) for attention in ATTENTIONS if attention in system.apply]
    layers = [-layer for layer in system.layers]
    return place, len(system.apply), attentions, -len(system.layers), layers, system.label


def _check_seeds(system: TranslationSystem, test: str) -> None:
    """Raise an error if the seeds of a system were tested on different sentences, though their data are the same."""
    marks = [(scores.signature, [row[1] for row in scores.statistics]) for scores in system.list_scores(test)]
    if any(mark != marks[0] for mark in marks):
        raise ProbingError(
            f"the records of {system.label}, seeds {', '.join(map(str, system.seeds))}, have different sentences or "
            f"signatures on {test}, though their data are the same. Run the cells again with --force"
        )
