"""The datasheet of a data set: its source, its content, what was left out and why, and the baselines."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from probing import __version__
from probing.corpus.baselines import correlate_with_length, measure_baselines
from probing.corpus.instances import Splits
from probing.errors import as_one_line, escape_rows
from probing.tasks import SPLITS, Task

MAX_LABELS_LISTED = 30
"""Largest number of labels that the Markdown lists one by one; the JSON always lists all."""
BASELINES = ("majority", "length", "target_frequency", "bag_of_words", "word_order")
"""Names of the baselines, the columns of tables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSheet:
    """The description of one task file, or the reason why there is none."""

    task: str
    """Name of the task."""
    file: str
    """Name of the file."""
    reason: str | None = None
    """Reason why the task could not be built."""
    sha256: str | None = None
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    """Split -> label -> instances."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Bounds and choices that the task was built with."""
    baselines: dict[str, float] = field(default_factory=dict)
    """Baseline -> test accuracy in percent."""
    length_correlation: dict[str, float] = field(default_factory=dict)
    """Split -> Pearson's r of label and length, if the labels are numbers or there are two of them."""
    targets: dict[str, list[str]] = field(default_factory=dict)
    """Split -> target forms, for the tasks whose splits share none."""
    dropped: dict[str, int] = field(default_factory=dict)
    """Reason -> number of sentences that the task could not use."""

    def size(self, split: str) -> int:
        """Return the number of instances of a split."""
        return sum(self.counts.get(split, {}).values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Datasheet:
    """The description of a folder of task files."""

    source: dict[str, Any]
    """Files or grammar that the sentences come from."""
    options: dict[str, Any]
    """Sizes and seed of the build."""
    corpus: dict[str, Any]
    """Numbers of sentences and tokens."""
    tasks: list[TaskSheet]

    @property
    def identity(self) -> str:
        """SHA-256 over the checksums of all task files, by which results name the data."""
        lines = sorted(f"{sheet.sha256}  {sheet.file}\n" for sheet in self.tasks if sheet.sha256)
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    def to_json(self) -> str:
        """Return the whole datasheet as JSON."""
        content = {"identity": self.identity, "probing": __version__, **asdict(self)}
        return json.dumps(content, indent=1, ensure_ascii=False) + "\n"

    def to_table(self, style: str = "simple") -> str:
        """Return a table with a row for each task: its size and baselines, or the reason why it was not built."""
        from tabulate import tabulate

        asked = {split: self.options[name] for split, name in SPLITS.items()}
        header = ["task", "classes", *SPLITS, *(name.replace("_", " ") for name in BASELINES), "remark"]
        rows = [
            [
                sheet.task,
                len(sheet.counts.get("tr", ())) or "",
                *(sheet.size(split) or "" for split in SPLITS),
                *(sheet.baselines.get(name, "") for name in BASELINES),
                _remark(sheet, asked),
            ]
            for sheet in self.tasks
        ]
        return tabulate(escape_rows(rows), header, tablefmt=style, floatfmt=".1f")

    def to_markdown(self) -> str:
        """Return the datasheet as Markdown, with long lists summarised."""
        return "\n".join([*_introduce(self), *(line for sheet in self.tasks for line in _describe(sheet))]) + "\n"


def _remark(sheet: TaskSheet, asked: Mapping[str, int]) -> str:
    if sheet.reason is not None:
        return f"not built: {sheet.reason}"
    share = sum(map(sheet.size, SPLITS)) / sum(asked.values())
    # WC and the six bins of SeLen do not always divide the size evenly.
    size = [] if share > 0.99 else [f"{100 * share:.2g} % of the size asked for: the corpus gives no more"]
    return "; ".join([*size, *([sheet.settings["chosen"]] if "chosen" in sheet.settings else [])])


def _introduce(sheet: Datasheet) -> Iterator[str]:
    yield "# Datasheet\n"
    yield f"Built by probing {__version__}. Identity of the data (SHA-256 over the task files): `{sheet.identity}`\n"
    for title, content in (("Source", sheet.source), ("Options", sheet.options), ("Corpus", sheet.corpus)):
        if content:
            yield f"## {title}\n"
            yield from _list(content)
            yield ""
    yield "## Tasks\n"
    yield "Baselines are test accuracies in percent, learned on tr: the most frequent label, the best label for the"
    yield "sentence's length, the best label for the target form's frequency, naive Bayes on the bag of words, and"
    yield "logistic regression on the ordered pairs of words (of at most 10,000 training sentences).\n"
    yield sheet.to_table("github")
    yield ""


def _describe(sheet: TaskSheet) -> Iterator[str]:
    yield f"### {sheet.task}\n"
    if sheet.reason is not None:
        yield f"Not built: {sheet.reason}.\n"
        return
    yield f"`{sheet.file}`, SHA-256 `{sheet.sha256}`\n"
    yield from _list(sheet.settings)
    if sheet.length_correlation:
        values = ", ".join(f"{value:.3f} ({split})" for split, value in sheet.length_correlation.items())
        yield f"- Pearson's r of label and length: {values}"
    if sheet.targets:
        yield f"- target forms: {', '.join(f'{len(found)} ({split})' for split, found in sheet.targets.items())}"
    yield ""
    yield _tabulate_counts(sheet.counts)
    if sheet.dropped:
        yield "\nOf no use to the task:\n"
        yield from _list(sheet.dropped)
    yield ""


def _tabulate_counts(counts: Mapping[str, Mapping[str, int]]) -> str:
    from tabulate import tabulate

    labels = sorted({label for by_label in counts.values() for label in by_label}, key=_label_order)
    if len(labels) <= MAX_LABELS_LISTED:
        rows = [[_quote(label), *(counts[split].get(label, 0) for split in counts)] for label in labels]
    else:
        rows = [
            [title, *(pick([counts[split].get(label, 0) for label in labels]) for split in counts)]
            for title, pick in ((f"fewest of {len(labels)} labels", min), ("most", max))
        ]
    rows.append(["all", *(sum(by_label.values()) for by_label in counts.values())])
    return tabulate(rows, ["label", *counts], tablefmt="github", disable_numparse=[0])


def _quote(label: str) -> str:
    """Return a label as code in a Markdown table, whatever it holds."""
    ticks = "`" * (1 + max(map(len, re.findall("`+", label)), default=0))
    space = " " * (len(ticks) > 1)
    return f"{ticks}{space}{as_one_line(label)}{space}{ticks}".replace("|", "\\|")


def _label_order(label: str) -> tuple[int, str]:
    return (int(label), "") if label.isdecimal() else (0, label)


def _list(content: Mapping[str, Any]) -> Iterator[str]:
    """Yield a Markdown list of names and values."""
    for name, value in content.items():
        yield f"- {name.replace('_', ' ')}: {as_one_line(_say(value))}"


def _say(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_say(inner)}" for name, inner in value.items()) or "none"
    if isinstance(value, Sequence) and not isinstance(value, str):
        if all(isinstance(inner, int) for inner in value):
            return " to ".join(map(str, value)) if len(value) == 2 else ", ".join(map(str, value))
        return "; ".join(map(_say, value)) or "none"
    return str(value)


def describe_task(
    task: Task,
    path: Path,
    splits: Splits,
    *,
    settings: Mapping[str, Any],
    dropped: Mapping[str, int],
    frequencies: Mapping[str, int],
) -> TaskSheet:
    """Return the description of a task file that was just written."""
    targets = {split: sorted({i.target for i in found if i.target is not None}) for split, found in splits.items()}
    correlations = {split: correlate_with_length(found) for split, found in splits.items()}
    return TaskSheet(
        task=task.name,
        file=path.name,
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        counts={split: dict(sorted(Counter(i.label for i in found).items())) for split, found in splits.items()},
        settings=dict(settings),
        baselines=measure_baselines(splits, frequencies),
        length_correlation={split: value for split, value in correlations.items() if value is not None},
        targets=targets if any(targets.values()) else {},
        dropped=dict(sorted(dropped.items())),
    )
