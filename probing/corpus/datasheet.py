"""The datasheet of a data set: where it comes from, what is in it, and what can be had without reading a sentence.

The baselines are computed from the files as written: the most frequent label, the best label for a sentence's length,
the best label for the target form's frequency (where a label hangs on one word), and a bag of words (naive Bayes).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from probing import __version__
from probing.tasks import Task


class Labelled(Protocol):
    """An instance as the builders make it."""

    @property
    def label(self) -> str: ...
    @property
    def tokens(self) -> Sequence[str]: ...
    @property
    def target(self) -> str | None: ...


Instances = Mapping[str, Sequence[Labelled]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSheet:
    """What is to be known of one task file, or why there is none."""

    task: str
    file: str
    reason: str | None = None
    """Why the corpus does not give the task."""
    sha256: str | None = None
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    """Split -> label -> instances."""
    settings: dict[str, Any] = field(default_factory=dict)
    baselines: dict[str, float] = field(default_factory=dict)
    """Test accuracy in percent of what does not read the sentence."""
    correlations: dict[str, float] = field(default_factory=dict)
    """Pearson's r of the label (a number, or 0 and 1) with the length, by split."""
    targets: dict[str, list[str]] = field(default_factory=dict)
    """The target forms of each split, for the tasks that keep them apart."""
    dropped: dict[str, int] = field(default_factory=dict)

    def size(self, split: str) -> int:
        return sum(self.counts.get(split, {}).values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Datasheet:
    """What is to be known of a folder of task files."""

    source: dict[str, Any]
    options: dict[str, Any]
    corpus: dict[str, Any]
    tasks: list[TaskSheet]

    @property
    def identity(self) -> str:
        """A checksum of all task files, by which results name the data."""
        lines = sorted(f"{sheet.file} {sheet.sha256}\n" for sheet in self.tasks if sheet.sha256)
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    def to_json(self) -> str:
        content = {"identity": self.identity, "probing": __version__, **asdict(self)}
        return json.dumps(content, indent=1, ensure_ascii=False) + "\n"

    def to_markdown(self) -> str:
        return ""


def describe_task(
    task: Task,
    path: Path,
    splits: Instances,
    settings: Mapping[str, Any],
    dropped: Mapping[str, int],
    frequencies: Mapping[str, int],
) -> TaskSheet:
    """Return the sheet of a task file just written."""
    return TaskSheet(
        task=task.name,
        file=path.name,
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        counts={split: dict(sorted(Counter(i.label for i in found).items())) for split, found in splits.items()},
        settings=dict(settings),
        baselines=measure_baselines(splits, frequencies),
        correlations={},
        targets={},
        dropped=dict(sorted(dropped.items())),
    )


def measure_baselines(splits: Instances, frequencies: Mapping[str, int]) -> dict[str, float]:
    """Return the test accuracy in percent of predictors that see little of a sentence."""
    train, test = splits["tr"], splits["te"]
    baselines = {
        "majority": _best_label_by(train, test, lambda _: 0),
        "length": _best_label_by(train, test, lambda i: len(i.tokens)),
    }
    return baselines


def _best_label_by(train: Sequence[Labelled], test: Sequence[Labelled], key: Any) -> float:
    """Learn the most frequent label of each key, and score it on the test split."""
    counts: defaultdict[Hashable, Counter[str]] = defaultdict(Counter)
    overall: Counter[str] = Counter()
    for instance in train:
        counts[key(instance)][instance.label] += 1
        overall[instance.label] += 1
    best = {value: min(found, key=lambda label: (-found[label], label)) for value, found in counts.items()}
    default = min(overall, key=lambda label: (-overall[label], label))
    hits = sum(best.get(key(instance), default) == instance.label for instance in test)
    return round(100 * hits / len(test), 2)
