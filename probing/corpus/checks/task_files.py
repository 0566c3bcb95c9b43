"""The check of task files that `probe data check` runs: format, sizes, repeated sentences, and the task's rules.

An error makes a file unusable, a warning makes its scores doubtful, a note is worth knowing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

from probing.corpus.baselines import find_majority
from probing.corpus.checks.content import Content, read_content
from probing.corpus.checks.cues import check_cues
from probing.corpus.checks.findings import Finding, Severity
from probing.corpus.checks.rules import check_rules
from probing.corpus.source import read_datasheet
from probing.errors import ProbingError, as_one_line
from probing.storage import hash_file
from probing.tasks import COUNTERPARTS, SPLITS, TASKS, own_task

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReport:
    """The result of the check of one task file."""

    path: str
    task: str
    """Name of the task."""
    asks: str
    """Question that the task asks about a sentence."""
    blob: str
    """Git's SHA-1 of the file."""
    senteval: bool | None
    """Whether the file is identical to SentEval's; None for a task that SentEval does not have."""
    datasheet: bool | None
    """Whether the datasheet in the same folder describes this version of the file; None if none lists the file."""
    counts: dict[str, dict[str, int]]
    """Split -> label -> instances."""
    shortest: int
    """Smallest number of tokens."""
    longest: int
    """Largest number of tokens."""
    majority_label: str | None
    """Most frequent label of the training split."""
    majority_accuracy: dict[str, float]
    """Split -> accuracy in percent of always guessing the majority label."""
    findings: tuple[Finding, ...]

    def count(self, severity: Severity) -> int:
        """Return the number of findings of a severity."""
        return sum(finding.severity == severity for finding in self.findings)


def check(paths: Sequence[Path], *, report: Callable[[str], None], as_json: bool = False, strict: bool = False) -> int:
    """Check files and folders, report on each file and the totals, and return the exit code."""
    files = [file for path in paths for file in _find_files(path)]
    reports = []
    for file in files:
        reports.append(check_file(file))
        if not as_json:
            report(render(reports[-1]) + "\n")
    totals = {severity: sum(one.count(severity) for one in reports) for severity in SEVERITIES}
    if as_json:
        report(json.dumps({"files": [asdict(one) for one in reports], "totals": totals}, indent=2, ensure_ascii=False))
    else:
        numbers = ", ".join(_count(totals[severity], severity) for severity in SEVERITIES)
        report(f"{_count(len(reports), 'file')}: {numbers}")
    if totals["error"]:
        return 2
    return 1 if strict and totals["warning"] else 0


def _find_files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if path.exists() and not path.is_dir():  # a file is read more than once
        raise ProbingError(f"{path}: a pipe or a device, not a file. Save its output as a file, and name that")
    if not path.is_dir():
        raise ProbingError(f"{path}: there is no such file or folder. Name task files, or a folder of them")
    names = [task.file_name for task in TASKS + COUNTERPARTS]
    files = [path / name for name in names if (path / name).is_file()]
    if not files:
        raise ProbingError(f"{path}: no task file there. Expected some of {', '.join(names)}; or name the files")
    return files


def check_file(path: Path) -> FileReport:
    """Check one task file."""
    task = next((task for task in TASKS + COUNTERPARTS if task.file == path.stem), None) or own_task(path)
    sha256, blob = hash_file(path)
    sheet = read_datasheet(path.parent, partial(_find_entry, name=path.name))
    described = None if sheet is None else sheet.get("sha256") == sha256
    sheet = sheet if sheet is not None and described else {}
    content = read_content(path, task, sheet.get("targets"))
    majority = find_majority(content.counts["tr"]) if content.counts["tr"] else None
    lengths = [length for _, length in content.sizes]
    findings = [*_find(content)]
    if described is False:
        message = "describes another version of this file (another SHA-256). Build again, or remove the datasheet"
        findings.append(Finding("warning", "datasheet", message))
    imbalance = sheet.get("settings", {}).get("imbalance", 1)
    severity: Severity = "note" if blob == task.blob else "warning"
    findings += check_rules(content, severity, imbalance=imbalance)
    findings += check_cues(content, severity)
    return FileReport(
        path=str(path),
        task=task.name,
        asks=task.asks,
        blob=blob,
        senteval=None if task.blob is None else blob == task.blob,
        datasheet=described,
        counts={split: dict(sorted(counts.items())) for split, counts in content.counts.items()},
        shortest=min(lengths, default=0),
        longest=max(lengths, default=0),
        majority_label=majority,
        majority_accuracy={
            split: round(100 * counts[majority] / counts.total(), 2)
            for split, counts in content.counts.items()
            if majority is not None and counts
        },
        findings=tuple(sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))),
    )


def _find_entry(datasheet: Any, name: str) -> dict[str, Any] | None:
    """Return the entry of a task file in a datasheet, if there is one."""
    sheets = [dict(sheet) for sheet in datasheet["tasks"]]
    found = next((sheet for sheet in sheets if sheet["file"] == name), {})
    if not all(isinstance(form, str) for forms in found.get("targets", {}).values() for form in forms):
        raise TypeError("target forms are words")
    return found or None


def _find(content: Content) -> Iterator[Finding]:
    yield from (Finding("error", "format", problem) for problem in content.problems)
    if rest := content.problem_count - len(content.problems):
        yield Finding("error", "format", f"further lines that break the format: {rest}")
    if content.read_to_end:
        yield from _find_gaps(content)
    yield from _find_repeats(content)


def _find_gaps(content: Content) -> Iterator[Finding]:
    missing = [split for split, counts in content.counts.items() if not counts]
    if missing:
        needed = ", ".join(SPLITS)
        yield Finding("error", "splits", f"no line of split {', '.join(missing)}. All of {needed} are needed")
    if "tr" in missing:
        return
    if len(content.counts["tr"]) == 1:
        yield Finding("error", "labels", f"all lines of tr have the label {next(iter(content.counts['tr']))!r}")
    for split, counts in content.counts.items():
        if unseen := [label for label in counts if label not in content.counts["tr"]]:
            line = content.first_lines[split, unseen[0]]
            message = f"labels of {split} that do not occur in tr: {len(unseen)}, e.g. {unseen[0]!r} (line {line})"
            yield Finding("error", "labels", message)


def _find_repeats(content: Content) -> Iterator[Finding]:
    """Yield the findings on sentences that occur more than once."""
    index = content.index
    found = {("contradiction", "sentences with more than one label"): index.contradictions()}
    for split in SPLITS:
        found["duplicates", f"lines of {split} that repeat a sentence of {split}"] = index.duplicates(split)
    for one, other in combinations(SPLITS, 2):
        found["leakage", f"sentences of {other} that also occur in {one}"] = index.leaks(one, other)
    for (check, what), repeats in sorted(found.items()):
        if repeats.count:
            first, second = repeats.lines
            yield Finding("warning", check, f"{what}: {repeats.count}, e.g. lines {first} and {second}")


def render(report: FileReport) -> str:
    """Return the report on one file as text."""
    known = {True: "SentEval's file, verified", False: "not SentEval's file", None: "not a task of SentEval"}
    described = "; described by datasheet.json" if report.datasheet else ""
    rows = [
        ("origin", f"{known[report.senteval]} (git blob {report.blob}){described}"),
        ("size", ", ".join(f"{split} {sum(counts.values())}" for split, counts in report.counts.items())),
        ("classes", f"{len(report.counts['tr'])}{_describe_shares(report)}"),
        ("majority", _describe_majority(report)),
        ("length", f"{report.shortest} to {report.longest} tokens"),
        *((finding.severity, f"{finding.check}: {finding.message}") for finding in report.findings),
    ]
    title = as_one_line(f"{report.path}  {report.task}: {report.asks}")
    return f"{title}\n" + "\n".join(f"  {head:9} {as_one_line(text)}" for head, text in rows)


def _describe_shares(report: FileReport) -> str:
    labels = report.counts["tr"].keys()
    shares = []
    for split, counts in report.counts.items():
        total = sum(counts.values())
        if labels and total:
            of_labels = [100 * counts.get(label, 0) / total for label in labels]
            shares.append(f"{split} {min(of_labels):.2f} to {max(of_labels):.2f} %")
    return f", each {'; '.join(shares)}" if shares else ""


def _describe_majority(report: FileReport) -> str:
    if report.majority_label is None:
        return "none"
    accuracy = ", ".join(f"{split} {value:.2f} %" for split, value in report.majority_accuracy.items())
    return f"{report.majority_label!r} gets {accuracy} right"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
