"""Which records a report, a comparison or a figure shows: some tasks, models, data sets, presets or seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from probing.errors import ProbingError, unknown
from probing.report.grouping import flatten_settings, group_results
from probing.report.layers import remove_layer
from probing.results import Record
from probing.tasks import COUNTERPARTS, TASKS


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Values of the filters, each of them a name or several with commas between; nothing means all."""

    tasks: Sequence[str] = ()
    models: Sequence[str] = ()
    """Models by their names in `probe report`, or by their registered names; an encoder's name means all its layers."""
    data: Sequence[str] = ()
    presets: Sequence[str] = ()
    seeds: Sequence[str] = ()
    all_versions: bool = False
    """Whether versions of a plug-in that were edited since are kept."""

    def as_options(self) -> list[str]:
        """Return the filters as options of a command."""
        values = {"task": self.tasks, "model": self.models, "data": self.data, "preset": self.presets}
        named = [part for name, given in values.items() for value in given for part in (f"--{name}", value)]
        seeds = [part for seed in self.seeds for part in ("--seed", seed)]
        return [*named, *seeds, *(["--all-versions"] if self.all_versions else [])]

    def apply(self, records: Sequence[Record], say: Callable[[str], None], *, also: str | None = None) -> list[Record]:
        """Return the records that are chosen; a value that none of them has is a mistake.

        `also` names a model that is kept in any case. A line is said about versions that are left out.
        """
        kept = list(records)
        if not self.all_versions:
            kept = leave_out_old_versions(kept, say)
        kept = _filter(kept, "data set", self.data, lambda record: [record.identity.data.name])
        kept = _filter(kept, "preset", self.presets, lambda record: [record.identity.preset])
        spellings = {task.name: task.spellings for task in TASKS + COUNTERPARTS}
        kept = _filter(
            kept,
            "task",
            self.tasks,
            lambda record: [record.identity.task, *spellings.get(record.identity.task, ())],
        )
        kept = _filter(kept, "seed", self.seeds, lambda record: [str(record.identity.seed)])
        if self.models:
            names = _name_models(kept)
            chosen = [*self.models, *([also] if also else [])]
            kept = _filter(kept, "model", chosen, lambda record: names.get(id(record), [record.identity.model.label]))
        if all(record.identity.measure != "accuracy" for record in kept):
            raise ProbingError("nothing is left to show: no accuracy fits all of these filters. Leave one out")
        return kept


EVERYTHING = Selection()
"""Selection without filters."""


def leave_out_old_versions(records: Sequence[Record], say: Callable[[str], None]) -> list[Record]:
    """Return the records without those of a plug-in's versions that are older than its newest one."""
    newest: dict[tuple[str, ...], tuple[str, str]] = {}
    for record in records:
        key, found = _identify_plugin(record), (record.timing.finished_at, record.identity.model.version)
        newest[key] = max(newest.get(key, found), found)
    kept = [one for one in records if newest[_identify_plugin(one)][1] == one.identity.model.version]
    old = {(one.identity.model.label, one.identity.model.version) for one in records} - {
        (one.identity.model.label, one.identity.model.version) for one in kept
    }
    for label in dict.fromkeys(label for label, _ in sorted(old)):
        number = sum(other == label for other, _ in old)
        versions = "1 older version" if number == 1 else f"{number} older versions"
        say(f"{versions} of {label} left out: --all-versions shows {'it' if number == 1 else 'them'}")
    return kept


def _identify_plugin(record: Record) -> tuple[str, ...]:
    """Return what the versions of one plug-in have in common; the encoder of a translation run is no plug-in."""
    identity = record.identity
    run = identity.model.version if identity.translator else ""
    return (identity.model.name, repr(flatten_settings(record)), identity.data.name, identity.preset, run)


def _name_models(records: Sequence[Record]) -> dict[int, list[str]]:
    """Return the names by which each record's model can be chosen, by the record's id()."""
    names: dict[int, list[str]] = {}
    for group in group_results(records):
        for model in group.models:
            spelled = [model.label, model.name, remove_layer(model.label), remove_layer(model.name)]
            names |= {id(record): spelled for record in (*model.records, *model.other_records)}
    return names


def _filter(
    records: Sequence[Record], kind: str, values: Sequence[str], list_names: Callable[[Record], Iterable[str]]
) -> list[Record]:
    """Return the records of which a name is among the values; without values, all."""
    if not values:
        return list(records)
    names = {id(record): list(list_names(record)) for record in records}
    known = {name.lower(): found[0] for found in names.values() for name in found}
    wanted = {one for value in values for one in _split(value, known, kind)}
    return [record for record in records if not wanted.isdisjoint(name.lower() for name in names[id(record)])]


def _split(value: str, known: Mapping[str, str], kind: str) -> list[str]:
    """Return the names of a value: itself if it is one, for a name can hold a comma, or else its parts."""
    parts = [value.strip()] if value.strip().lower() in known else [part.strip() for part in value.split(",")]
    for part in parts:
        if part.lower() not in known:
            raise unknown(kind, part, dict.fromkeys(known.values()))
    return [part.lower() for part in parts]
