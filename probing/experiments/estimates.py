"""An estimate of a run: its cells, and the time that they take, from existing records or from a short trial."""

from __future__ import annotations

import dataclasses
import json
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Protocol, TypeVar

import torch

from probing.display import Status, format_seconds
from probing.errors import escape_rows
from probing.execution import Leases, RunWork, Waiting
from probing.results import CellIdentity, Record, Store

TRIAL = "a trial of some steps"
SECONDS_OF_A_TRIAL = 1.0


class PlannedCell(Protocol):
    """A cell of whatever measure, as a plan sees it."""

    @property
    def name(self) -> str:
        """Name in messages."""

    @property
    def key(self) -> str:
        """Key of the cell's identity."""

    @property
    def identity(self) -> CellIdentity:
        """Everything that can change the cell's numbers."""

    def record_path(self, results: Path) -> Path:
        """Return the file of the record in a results folder."""

    def count_training(self) -> int:
        """Return the number of training sentences."""

    def count_work(self, sentences: int) -> float:
        """Return a number that is proportional to the time of this cell, if it had so many training sentences."""


AnyCell = TypeVar("AnyCell", bound=PlannedCell)
Trial = Callable[[Any], float | None]
"""Function that returns the seconds that a cell takes, or None if that cannot be tried."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A cell of a plan."""

    cell: str
    state: str
    """`finished`, `to run`, or `being run`."""
    seconds: float | None
    """Estimated time; None if the cell is finished, or if no similar cell is recorded and it cannot be tried."""
    judged_by: str | None
    record: str


@dataclass(frozen=True, slots=True)
class RunPlan:
    """All cells of a run."""

    cells: list[Planned]
    at_a_time: int

    def as_dict(self) -> dict[str, Any]:
        """Return the plan as JSON can hold it."""
        return {**dataclasses.asdict(self), "summary": self.summary()}

    def text(self) -> str:
        """Return the plan as a table, with the summary below."""
        from tabulate import tabulate  # a run that is not only planned prints no table

        headers = ["cell", "state", "estimate", "judged by"]
        rows = [
            (item.cell, item.state, "" if item.seconds is None else format_seconds(item.seconds), item.judged_by or "")
            for item in self.cells
        ]
        return f"{tabulate(escape_rows(rows), headers, disable_numparse=True)}\n\n{self.summary()}"

    def summary(self) -> str:
        """Return a summary in a sentence."""
        ahead = [item for item in self.cells if item.state != "finished"]
        known = [item.seconds for item in ahead if item.seconds is not None]
        total = f"{len(self.cells)} cell{'s' * (len(self.cells) != 1)}"
        text = f"{total}: {len(self.cells) - len(ahead)} finished, {len(ahead)} to run."
        if not ahead:
            return text
        if known:
            longest, sum_of_all = max(known), sum(known)
            whole = max(longest, sum_of_all / self.at_a_time)
            text += f" About {format_seconds(whole)} for {len(known)} of them, {self.at_a_time} at a time"
            text += f" ({format_seconds(sum_of_all)} one after another), "
            tried = any(item.judged_by == TRIAL for item in ahead)
            text += "if all epochs are needed." if tried else "as long as records of the same model took."
        if unknown := len(ahead) - len(known):
            text += f" Unknown for {unknown}: no record is like them here. Run one, and ask again."
        return text


def make_plan(
    cells: Sequence[PlannedCell],
    waiting: Sequence[Waiting[Any]],
    store: Store,
    *,
    device: str,
    at_a_time: int,
    trial: Trial,
) -> RunPlan:
    """Return the plan of a run of the cells; nothing is written, and trials leave nothing behind."""
    leases, ahead = Leases.of(store.folder), {item.path for item in waiting}
    tried: dict[str, tuple[float | None, int]] = {}
    recorded: dict[str, list[Record]] = defaultdict(list)
    for record in store.load(on_damaged=lambda line: None):
        if record.outcome is not None and str(record.where.get("device")) == device:
            recorded[_describe_kind(record.identity)].append(record)

    def plan_one(cell: PlannedCell) -> Planned:
        path = cell.record_path(store.folder)
        if path not in ahead:
            return Planned(cell.name, "finished", None, None, path.name)
        kind = _describe_kind(cell.identity)
        seconds, judged_by = _judge(cell, recorded[kind])
        if seconds is None:
            if kind not in tried:
                sentences = cell.count_training()  # first: it prepares the data, which is no part of the trial
                tried[kind] = trial(cell), sentences
            seconds, judged_by = _scale(cell, *tried[kind])
        return Planned(cell.name, "being run" if leases.is_taken(cell.key) else "to run", seconds, judged_by, path.name)

    return RunPlan([plan_one(cell) for cell in cells], at_a_time)


def _describe_kind(cell: CellIdentity) -> str:
    """Return a text that is the same for cells which take the same time, but for the size of their data."""
    facts = [cell.model.name, cell.model.version, cell.preset, cell.measure, cell.settings]
    return json.dumps(facts, sort_keys=True)


def _judge(cell: PlannedCell, alike: Sequence[Record]) -> tuple[float | None, str | None]:
    """Return the estimated seconds of a cell, and the records that they are estimated from."""
    ours = (cell.identity.task, cell.identity.data.sha256)
    same = [record for record in alike if (record.identity.task, record.identity.data.sha256) == ours]
    if same:
        return fmean(result.timing.seconds for result in same), _count(same, "this task")
    if alike:
        rate = fmean(result.timing.seconds / cell.count_work(_count_training(result)) for result in alike)
        return rate * cell.count_work(cell.count_training()), _count(alike, "other tasks, by their size")
    return None, None


def _scale(cell: PlannedCell, seconds: float | None, sentences: int) -> tuple[float | None, str | None]:
    """Return the seconds of a cell from those of a trial on other data."""
    if seconds is None:
        return None, None
    return seconds * cell.count_work(cell.count_training()) / cell.count_work(sentences), TRIAL


def try_out(cell: AnyCell, run_cell: RunWork[Any], device: torch.device, threads: int) -> float:
    """Return the seconds of a cell that needs all its epochs, from its first seconds."""
    first: tuple[float, float] | None = None

    def watch(status: Status) -> None:
        nonlocal first
        now = time.monotonic()
        if first is None:
            first = now, status.fraction
        elif status.fraction > first[1] and now - first[0] >= SECONDS_OF_A_TRIAL:
            raise _Enough((now - first[0]) / (status.fraction - first[1]))

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        return run_cell(cell, device, watch).timing.seconds
    except _Enough as enough:
        return enough.seconds
    finally:
        torch.set_num_threads(before)


class _Enough(Exception):  # noqa: N818 - it is no error
    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


def _count(records: Sequence[Record], whose: str) -> str:
    return f"{len(records)} record{'s' if len(records) > 1 else ''} of {whose}"


def _count_training(result: Record) -> int:
    if result.translation is not None:
        return max(1, result.translation.pairs.train)
    assert result.scores is not None
    if result.scores.description is not None:
        return max(1, round(sum(piece["coded"] for piece in result.scores.description.pieces)))
    return max(1, sum(counts.train for counts in result.scores.classes.values()))
