"""Records are verified: the figures of each against its own predictions, its key, its name and the data.

A checksum is no signature: whoever forges a record as a whole is not found out by this.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from probing.corpus.mini import SETS, ensure_embedded
from probing.corpus.source import DATA_DIR
from probing.errors import ProbingError
from probing.results import (
    DataIdentity,
    Record,
    Scores,
    Store,
    TestScores,
    TranslationScores,
    read_record,
    read_sentences,
    translation_path,
)
from probing.storage import hash_file
from probing.translation.scoring import combine, count_ngrams, find_tokenizer

TOLERANCE = 1e-9
"""Largest difference of a percentage from its recomputed value, relative to 100."""


def verify(folder: Path, data: Path | None, report: Callable[[str], None]) -> tuple[int, int]:
    """Report every contradiction in a folder's records; return the numbers of records and of those with one.

    The task files are looked for in the folder `data`, or where the data sets mini and senteval are.
    """
    if data is not None and not data.is_dir():
        raise ProbingError(f"--data {data}: there is no such folder")
    paths = Store(folder).list_paths()
    if not paths:
        raise ProbingError(f"{folder}: there are no records. Name a folder that `probe run --results` wrote")
    wrong = 0
    for path in paths:
        try:
            record = read_record(path)
            problems = [f"{path}: {problem}" for problem in find_contradictions(record, path)]
            if record.identity.measure != "translation":  # their data are several files, which no checksum is of
                problems += [f"{path}: {problem}" for problem in _check_data(record.identity.data, data)]
        except ProbingError as error:
            problems = [str(error)]
        for problem in problems:
            report(problem)
        wrong += bool(problems)
    return len(paths), wrong


def find_contradictions(record: Record, path: Path) -> Iterator[str]:
    """Yield what does not add up within a record."""
    if record.key != record.identity.key:
        yield f"its key is {record.key[:12]}, but its settings give {record.identity.key[:12]}"
    if path.name != record.path(path.parent).name:
        yield f"its name should be {record.path(path.parent).name}"
    if record.scores is not None:
        yield from _check_scores(record.scores)
    if record.translation is not None:
        yield from _check_translation(record.translation, path)


def _check_scores(scores: Scores) -> Iterator[str]:
    gold, predictions = np.asarray(scores.gold), np.asarray(scores.predictions)
    right = gold == predictions
    if _differs(scores.test_accuracy, 100 * float(right.mean())):
        yield f"test_accuracy is {scores.test_accuracy}, but {100 * float(right.mean()):.6g} % of the answers are right"
    counts = list(scores.classes.values())
    size = len(counts)
    if [count.test for count in counts] != np.bincount(gold, minlength=size).tolist():
        yield "the numbers of test instances by class are not those of the labels"
    if [count.right for count in counts] != np.bincount(gold[right], minlength=size).tolist():
        yield "the numbers of right answers by class are not those of the answers"
    majority = max(range(size), key=lambda place: counts[place].train)  # the first among equals
    if _differs(scores.majority_accuracy, 100 * float(np.mean(gold == majority))):
        yield f"majority_accuracy is {scores.majority_accuracy}, which is not that of the most frequent training label"
    accuracies = [point["dev_accuracy"] for point in scores.curve]
    best = max(accuracies, default=scores.dev_accuracy)
    # Averaged weights were taken because they were no worse on dev than the best epoch.
    fits = scores.dev_accuracy >= best if scores.averaged else scores.dev_accuracy == best
    if accuracies and not (fits and 1 <= scores.best_epoch <= len(accuracies)):
        yield f"dev_accuracy is {scores.dev_accuracy}, but the best of its curve is {best}"
    elif accuracies and accuracies.index(best) + 1 != scores.best_epoch:
        yield f"best_epoch is {scores.best_epoch}, but the curve is best in {accuracies.index(best) + 1}"
    code = scores.description
    if code is not None:
        total = math.fsum(piece["bits"] for piece in code.pieces)
        if not math.isclose(code.bits, total, rel_tol=TOLERANCE):
            yield f"the codelength is {code.bits}, but its pieces sum to {total}"
        if code.bits and not math.isclose(code.compression, code.uniform_bits / code.bits, rel_tol=TOLERANCE):
            yield f"compression is {code.compression}, but the codelengths give {code.uniform_bits / code.bits}"


def _check_translation(scores: TranslationScores, path: Path) -> Iterator[str]:
    """Yield what does not add up in a translation: BLEU against its statistics, and these against the texts."""
    for test, stated in scores.tests.items():
        if _differs(stated.bleu, bleu := combine(stated.statistics)):
            yield f"BLEU on {test} is {stated.bleu}, but its statistics give {bleu:.6g}"
        if (number := scores.pairs.tests.get(test)) not in (None, len(stated.statistics)):
            yield f"{test} has {number} sentences, but there are statistics of {len(stated.statistics)}"
        yield from _check_texts(stated, test, path)
    if scores.curve and not 1 <= scores.best_epoch <= len(scores.curve):
        yield f"best_epoch is {scores.best_epoch}, but the curve has {len(scores.curve)} looks at dev"


def _check_texts(scores: TestScores, test: str, path: Path) -> Iterator[str]:
    """Yield what does not add up between the statistics of a test set and its texts, if they lie beside the record."""
    if not all(translation_path(path, test, kind).is_file() for kind in ("output", "reference")):
        return
    outputs, references = (read_sentences(path, test, kind) for kind in ("output", "reference"))
    tokenizer = find_tokenizer(scores.signature)
    if not len(outputs) == len(references) == len(scores.statistics):
        yield f"the texts of {test} beside it have {len(outputs)} translations, {len(references)} references"
    elif tokenizer and count_ngrams(outputs, references, tokenizer=tokenizer) != scores.statistics:
        yield f"the translations of {test} beside it give other statistics"


def _differs(stated: float, computed: float) -> bool:
    return abs(stated - computed) > 100 * TOLERANCE


def _check_data(identity: DataIdentity, data: Path | None) -> Iterator[str]:
    folder = data or (DATA_DIR if identity.name == "senteval" else None)
    if folder is None and identity.name in SETS:
        folder = ensure_embedded(identity.name)
    if folder is not None and (folder / identity.file).is_file():
        path = folder / identity.file
        if hash_file(path)[0] != identity.sha256:
            yield f"its data were another file than {path}"
    elif data is not None:
        yield f"there is no {identity.file} in {data}"
