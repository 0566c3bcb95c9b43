"""Scores of translations by sacrebleu: BLEU with its signature, BLEU without case, and chrF.

Texts are detokenised and cased, one string a sentence. The n-grams of a sentence are counted once, by sacrebleu; BLEU
of all sentences, of a sample of them and of a single one are computed from these counts. Nothing here imports torch,
starts a process or needs a network.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sacrebleu.metrics import BLEU, CHRF

from probing.results import TestScores

ORDER = 4
"""Length of the longest n-grams that BLEU counts."""
CHARACTERS = ("bo", "ja", "km", "lo", "my", "th")
"""Target languages without spaces between words: BLEU counts n-grams of characters, as its signature says."""


def score_translations(outputs: Sequence[str], references: Sequence[str], *, language: str = "") -> TestScores:
    """Return the scores of one test set; the target language matters only if it is written without spaces."""
    tokenizer = choose_tokenizer(language)
    statistics = count_ngrams(outputs, references, tokenizer=tokenizer)
    lowercase = count_ngrams(outputs, references, tokenizer=tokenizer, lowercase=True)
    chrf = CHRF()
    score = chrf.corpus_score(outputs, [references]).score
    return TestScores(
        bleu=combine(statistics),
        signature=str(BLEU(tokenize=tokenizer, references=[[""]]).get_signature()),
        bleu_lowercase=combine(lowercase),
        chrf=min(score, 100.0),
        chrf_signature=str(chrf.get_signature()),
        statistics=statistics,
    )


def compute_bleu(outputs: Sequence[str], references: Sequence[str], *, language: str = "") -> float:
    """Return the BLEU of some translations."""
    return combine(count_ngrams(outputs, references, tokenizer=choose_tokenizer(language)))


def count_ngrams(
    outputs: Sequence[str], references: Sequence[str], *, tokenizer: str = "13a", lowercase: bool = False
) -> list[list[int]]:
    """Return for each sentence the lengths of translation and reference, the matches and the totals of 1- to 4-grams.

    There must be as many references as translations, and at least one.
    """
    if not len(outputs) == len(references) > 0:
        raise ValueError(f"there are {len(outputs)} translations and {len(references)} references")
    metric = BLEU(lowercase=lowercase, force=True, tokenize=tokenizer, effective_order=True)
    scores = map(metric.sentence_score, outputs, ([reference] for reference in references))
    return [[score.sys_len, score.ref_len, *score.counts, *score.totals] for score in scores]


def combine(statistics: Sequence[Sequence[int]]) -> float:
    """Return the BLEU of the sentences that these statistics are of: sacrebleu's, though never above 100."""
    return _compute(np.asarray(statistics, dtype=np.int64).sum(axis=0).tolist())


def compute_sentence_bleu(statistics: Sequence[Sequence[int]]) -> list[float]:
    """Return the BLEU of each sentence; one of fewer than four words is scored by the n-grams that it has."""
    return [_compute(list(row), effective_order=True) for row in statistics]


def choose_tokenizer(language: str) -> str:
    """Return the name of sacrebleu's tokeniser for a target language, given by its code."""
    code = language.lower().replace("_", "-").partition("-")[0]
    if code == "zh":
        return "zh"
    return "char" if code in CHARACTERS else "13a"


def find_tokenizer(signature: str) -> str | None:
    """Return the name of the tokeniser in a signature of BLEU, if it is one that needs nothing else."""
    names = [part.removeprefix("tok:") for part in signature.split("|") if part.startswith("tok:")]
    return names[0] if names and names[0] in ("13a", "zh", "char") else None


def _compute(numbers: list[int], *, effective_order: bool = False) -> float:
    """Return the BLEU that lengths, matches and totals give; rounding must not lift it above 100."""
    length, reference, *counts = numbers
    score = BLEU.compute_bleu(
        counts[:ORDER], counts[ORDER:], length, reference, smooth_method="exp", effective_order=effective_order
    )
    return min(float(score.score), 100.0)
