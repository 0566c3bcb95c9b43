"""SentEval's engine: it takes the same params, calls the same functions, logs the same lines and returns the same."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from probing import probes
from probing.encoders import DotDict, as_matrix, check_params, make_params
from probing.errors import ProbingError, unknown
from probing.storage import check_path
from probing.tasks import SPLITS, TASKS, Task, read_task_file
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
        self.evaluation: ProbingEvaluation | None = None
        """The task that was evaluated last."""

    def eval(self, name: str | Iterable[str]) -> dict[str, Any]:
        """Return the scores of a task, or of each of several; of several, downstream tasks are left out."""
        self._check_params()
        if isinstance(name, str):
            self.results = self._evaluate(self._find_task(name))
            return self.results
        names = list(name)
        kept = [item for item in names if item not in DOWNSTREAM]
        tasks = {item: self._find_task(item) for item in kept or names}  # all are checked before the first is run
        if left_out := [item for item in names if item in DOWNSTREAM]:
            logger.warning("left out: %s. Only SentEval's probing tasks are here", ", ".join(left_out))
        self.results = {item: self._evaluate(task) for item, task in tasks.items()}
        return self.results

    def _check_params(self) -> None:
        """Refuse params that cannot be used; name keys of the classifier that mean nothing."""
        check_params(self.params)
        for key in self.params.classifier:
            if key not in CLASSIFIER_KEYS:
                logger.warning("ignored: %s", unknown("key of params['classifier']", str(key), CLASSIFIER_KEYS))

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
        self.evaluation = ProbingEvaluation(task, _find_file(task, self.params), seed=self.params.seed)
        self.params.current_task = task.senteval
        self.evaluation.do_prepare(self.params, self.prepare)
        return self.evaluation.run(self.params, self.batcher)


def _find_file(task: Task, params: DotDict) -> Path:
    """Return a task's file: below `probing/` in the task path as in SentEval, or in the task path itself."""
    if not params.task_path:
        raise ProbingError("params['task_path'] must be the folder of SentEval's data. It is not set")
    folder = check_path(params.task_path)
    places = [folder / "probing" / f"{task.file}.txt", folder / f"{task.file}.txt"]
    found = [path for path in places if path.is_file()]
    if not found:
        raise ProbingError(
            f"no file for task {task.senteval!r}: looked for {' and '.join(map(str, places))}. "
            f"`probe data fetch --data-dir {folder / 'probing'}` gets SentEval's files"
        )
    return found[0]


class ProbingEvaluation:
    """One of SentEval's probing tasks, with the attributes and methods that it has there."""

    def __init__(self, task: Task, path: Path, *, seed: int) -> None:
        self.seed, self.task = seed, task.senteval
        logger.debug("***** (Probing) Transfer task : %s classification *****", self.task.upper())
        data = read_task_file(path)
        self.tok2label = {label: number for number, label in enumerate(data.labels)}
        self.nclasses = len(self.tok2label)
        self.task_data: dict[str, dict[str, list[Any]]] = {
            long: {
                "X": data.splits[short].sentences,
                "y": [self.tok2label[label] for label in data.splits[short].labels],
            }
            for short, long in SPLITS.items()
        }
        self._is_linear = task.name in probes.LINEAR_TASKS
        counts = [len(split["y"]) for split in self.task_data.values()]
        logger.info("Loaded %s train - %s dev - %s test for %s", *counts, self.task)

    def do_prepare(self, params: DotDict, prepare: Callable[..., Any]) -> Any:
        """Call the user's `prepare` with all sentences."""
        return prepare(params, [tokens for split in self.task_data.values() for tokens in split["X"]])

    def run(self, params: DotDict, batcher: Callable[..., Any]) -> dict[str, Any]:
        """Embed all sentences, train the classifiers and return the scores."""
        logger.info("Computing embeddings for train/dev/test")
        for split in self.task_data.values():
            _sort_by_length(split)
        vectors = {name: self._embed(params, batcher, split["X"]) for name, split in self.task_data.items()}
        logger.info("Computed embeddings")
        labels = {name: np.array(split["y"]) for name, split in self.task_data.items()}
        embedded = Embedded(self.nclasses, self._is_linear, vectors, labels)
        score = _score_torch if params.usepytorch else _score_sklearn
        dev_accuracy, test_accuracy = score(embedded, params)
        logger.debug(
            "Dev acc : %.1f Test acc : %.1f for %s classification", dev_accuracy, test_accuracy, self.task.upper()
        )
        return {
            "devacc": dev_accuracy,
            "acc": test_accuracy,
            "ndev": len(labels["dev"]),
            "ntest": len(labels["test"]),
        }

    def _embed(self, params: DotDict, batcher: Callable[..., Any], sentences: list[list[str]]) -> NDArray[Any]:
        blocks: list[NDArray[Any]] = []
        for number, start in enumerate(range(0, len(sentences), params.batch_size), 1):
            batch = sentences[start : start + params.batch_size]
            where = f"batch {number} of {self.task}"
            vectors = batcher(params, batch)
            dim = blocks[0].shape[1] if blocks else None
            blocks.append(as_matrix("batcher", where, len(batch), vectors, layers=None, dim=dim)[:, 0])
        return np.concatenate(blocks)


def _sort_by_length(split: dict[str, list[Any]]) -> None:
    """Sort a split from short to long sentences, as batchers written for SentEval expect it."""
    pairs = sorted(zip(split["X"], split["y"], strict=True), key=lambda pair: (len(pair[0]), pair[1]))
    split["X"], split["y"] = [tokens for tokens, _ in pairs], [label for _, label in pairs]


@dataclass(frozen=True, slots=True)
class Embedded:
    """A task's vectors and classes, by split."""

    num_classes: int
    is_linear: bool
    """Whether the classifier never has a hidden layer."""
    vectors: Mapping[str, NDArray[Any]]
    labels: Mapping[str, NDArray[Any]]

    def percentage(self, predictions: NDArray[Any], split: str) -> float:
        """Return how many predictions are right, as SentEval rounds it."""
        return round(100 * float(np.mean(predictions == self.labels[split])), 2)


def _score_torch(embedded: Embedded, params: DotDict) -> tuple[float, float]:
    """Train SentEval's classifier and return its dev and test accuracy."""
    given = {key: value for key, value in params.classifier.items() if key in CLASSIFIER_KEYS}
    probe = probes.senteval_probe(**given)
    if embedded.is_linear:
        probe = probe.without_hidden_layer()
    hidden = probe.configurations[0].hidden
    _log_training(f"pytorch-MLP-nhid{hidden}-{probe.optimizer}-bs{probe.batch_size}")
    splits = {
        name: probes.Vectors.build(torch.from_numpy(embedded.vectors[name]), embedded.labels[name])
        for name in SPLITS.values()
    }
    fitted = probes.fit(
        probe,
        splits["train"],
        splits["dev"],
        num_classes=embedded.num_classes,
        seed=params.seed,
        device=pick_device("auto"),
    )
    scores = {item.configuration.weight_decay: round(item.best.score, 2) for item in fitted.candidates}
    _log_scores(scores)
    predictions = fitted.predict(splits["test"].vectors)
    return round(fitted.chosen.best.score, 2), embedded.percentage(predictions, "test")


def _score_sklearn(embedded: Embedded, params: DotDict) -> tuple[float, float]:
    """Choose the strength of scikit-learn's logistic regression on dev, and return its dev and test accuracy."""
    from sklearn.linear_model import LogisticRegression

    _log_training("sklearn-LogReg")
    fitted: dict[float, Any] = {}
    for power in range(-2, 4):
        classifier = LogisticRegression(C=2.0**power, random_state=params.seed)  # with its own limit of iterations
        fitted[2.0**power] = classifier.fit(embedded.vectors["train"], embedded.labels["train"])
    scores = {
        strength: embedded.percentage(classifier.predict(embedded.vectors["dev"]), "dev")
        for strength, classifier in fitted.items()
    }
    best = _log_scores(scores)
    return scores[best], embedded.percentage(fitted[best].predict(embedded.vectors["test"]), "test")


def _log_training(name: str) -> None:
    logger.info("Training %s with standard validation..", name)


def _log_scores(scores: Mapping[float, float]) -> float:
    """Log the scores by regularisation as SentEval does, and return the best one, the first among equals."""
    best = max(scores, key=lambda reg: scores[reg])
    logger.info("%s", [(f"reg:{reg:g}", score) for reg, score in scores.items()])
    logger.info("Validation : best param found is reg = %g with score %s", best, scores[best])
    logger.info("Evaluating...")
    return best
