"""A drop-in for SentEval's probing tasks: `from probing import senteval` in the place of `import senteval`.

`senteval.engine.SE(params, batcher, prepare).eval(['Length', 'WordContent'])` takes the same params, calls the same
functions and returns the same dictionaries, on a CPU or a GPU.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from probing import probes
from probing.encoders import DotDict, as_matrix, make_params
from probing.errors import ProbingError, unknown
from probing.storage import check_path
from probing.tasks import SPLITS, TASKS, Split, Task, read_task_file
from probing.training import pick_device

DOWNSTREAM = (
    *("CR", "MR", "MPQA", "SUBJ", "SST2", "SST5", "TREC", "MRPC", "SICKRelatedness", "SICKEntailment"),
    *("STSBenchmark", "SNLI", "ImageCaptionRetrieval", "STS12", "STS13", "STS14", "STS15", "STS16"),
)
"""SentEval's other tasks, which are not here."""

CLASSIFIER_KEYS = ("nhid", "optim", "batch_size", "tenacity", "epoch_size", "max_epoch", "dropout")
"""Keys of params['classifier'] that count; SentEval ignores the rest."""

logger = logging.getLogger(__name__)


class SE:
    """SentEval's engine, for the ten probing tasks."""

    def __init__(
        self,
        params: dict[str, Any],
        batcher: Callable[..., Any],
        prepare: Callable[..., Any] | None = None,
    ) -> None:
        self.params = make_params(params)
        self.batcher = batcher
        self.prepare = prepare or (lambda params, samples: None)
        self.list_tasks = [task.senteval for task in TASKS]
        self.results: dict[str, Any] = {}
        for key in self.params.classifier:
            if key not in CLASSIFIER_KEYS:
                logger.warning("ignored: %s", unknown("key of params['classifier']", str(key), CLASSIFIER_KEYS))

    def eval(self, name: str | list[str] | tuple[str, ...]) -> dict[str, Any]:
        """Return the scores of a task, or of each of several."""
        if not isinstance(name, str):
            tasks = {item: self._find_task(item) for item in name}  # all names are checked before the first is run
            self.results = {item: self._evaluate(task) for item, task in tasks.items()}
        else:
            self.results = self._evaluate(self._find_task(name))
        return self.results

    def _find_task(self, name: str) -> Task:
        if name in DOWNSTREAM:
            raise ProbingError(
                f"{name!r} is one of SentEval's downstream tasks; only its probing tasks are here: "
                f"{', '.join(self.list_tasks)}"
            )
        found = [task for task in TASKS if task.senteval == name]
        if not found:
            raise unknown("task", str(name), self.list_tasks)
        return found[0]

    def _evaluate(self, task: Task) -> dict[str, Any]:
        data = read_task_file(self._find_file(task))
        splits = {name: _sort_by_length(split) for name, split in data.splits.items()}
        self.params.current_task = task.senteval
        self.prepare(self.params, [tokens for name in SPLITS for tokens in data.splits[name].sentences])
        vectors = {name: self._embed(task, split) for name, split in splits.items()}
        classes = {label: number for number, label in enumerate(data.labels)}
        labels = {name: np.array([classes[label] for label in split.labels]) for name, split in splits.items()}
        embedded = Embedded(task, len(classes), vectors, labels)
        score = _score_torch if self.params.usepytorch else _score_sklearn
        dev_accuracy, test_accuracy = score(embedded, self.params)
        logger.debug("%s: dev accuracy %.1f, test accuracy %.1f", task.senteval, dev_accuracy, test_accuracy)
        return {
            "devacc": dev_accuracy,
            "acc": test_accuracy,
            "ndev": len(labels["va"]),
            "ntest": len(labels["te"]),
        }

    def _find_file(self, task: Task) -> Path:
        """Return a task's file: below `probing/` in the task path as in SentEval, or in the task path itself."""
        if not self.params.task_path:
            raise ProbingError("params['task_path'] must be the folder of SentEval's data. It is not set")
        folder = check_path(self.params.task_path)
        places = [folder / "probing" / f"{task.file}.txt", folder / f"{task.file}.txt"]
        found = [path for path in places if path.is_file()]
        if not found:
            raise ProbingError(
                f"no file for task {task.senteval!r}: looked for {' and '.join(map(str, places))}. "
                f"`probe data fetch --data-dir {folder / 'probing'}` gets SentEval's files"
            )
        return found[0]

    def _embed(self, task: Task, split: Split) -> NDArray[Any]:
        size = self.params.batch_size
        blocks: list[NDArray[Any]] = []
        for number, start in enumerate(range(0, len(split.sentences), size), 1):
            sentences = split.sentences[start : start + size]
            where = f"batch {number} of {task.senteval}"
            vectors = self.batcher(self.params, sentences)
            dim = blocks[0].shape[1] if blocks else None
            blocks.append(as_matrix("batcher", where, len(sentences), vectors, layers=None, dim=dim)[:, 0])
        return np.concatenate(blocks)


def _sort_by_length(split: Split) -> Split:
    """Return a split from short to long sentences, as batchers written for SentEval expect it."""
    order = sorted(range(len(split.labels)), key=lambda row: (len(split.sentences[row]), split.labels[row]))
    return Split([split.sentences[row] for row in order], [split.labels[row] for row in order])


@dataclass(frozen=True, slots=True)
class Embedded:
    """A task's vectors and classes, by split."""

    task: Task
    num_classes: int
    vectors: Mapping[str, NDArray[Any]]
    labels: Mapping[str, NDArray[Any]]

    def percentage(self, predictions: NDArray[Any], split: str) -> float:
        """Return how many predictions are right, as SentEval rounds it."""
        return round(100 * float(np.mean(predictions == self.labels[split])), 2)


def _score_torch(embedded: Embedded, params: DotDict) -> tuple[float, float]:
    """Train SentEval's classifier and return its dev and test accuracy."""
    given = {key: value for key, value in params.classifier.items() if key in CLASSIFIER_KEYS}
    probe = probes.senteval_probe(**given)
    if embedded.task.name in probes.LINEAR_TASKS:
        probe = probe.without_hidden_layer()
    splits = {
        name: probes.Vectors.build(torch.from_numpy(embedded.vectors[name]), embedded.labels[name]) for name in SPLITS
    }
    device = pick_device("auto")
    fitted = probes.fit(
        probe, splits["tr"], splits["va"], num_classes=embedded.num_classes, seed=params.seed, device=device
    )
    predictions = fitted.predict(splits["te"].vectors)
    return round(fitted.chosen.best.score, 2), embedded.percentage(predictions, "te")


def _score_sklearn(embedded: Embedded, params: DotDict) -> tuple[float, float]:
    """Choose the strength of scikit-learn's logistic regression on dev, and return its dev and test accuracy."""
    from sklearn.linear_model import LogisticRegression

    best: tuple[float, Any] | None = None
    for power in range(-2, 4):
        classifier = LogisticRegression(C=2.0**power, random_state=params.seed, max_iter=1000)
        classifier.fit(embedded.vectors["tr"], embedded.labels["tr"])
        accuracy = embedded.percentage(classifier.predict(embedded.vectors["va"]), "va")
        if best is None or accuracy > best[0]:
            best = accuracy, classifier
    assert best is not None
    return best[0], embedded.percentage(best[1].predict(embedded.vectors["te"]), "te")


engine = SimpleNamespace(SE=SE)
utils = SimpleNamespace(dotdict=DotDict)
