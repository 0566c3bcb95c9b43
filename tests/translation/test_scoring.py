"""Scores of translations: sacrebleu's own, from statistics that are counted once."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from probing.translation.scoring import (
    combine,
    compute_bleu,
    compute_sentence_bleu,
    count_ngrams,
    find_tokenizer,
    score_translations,
)

TEXT = "Der Hund sieht den kleinen Vogel , der heute im Garten singt ; niemand hört ihn . 3,5 Äpfel & « Öl »"


def make_texts(count: int = 60, seed: int = 0) -> tuple[list[str], list[str]]:
    """Return translations and references that share most of their words."""
    chance = random.Random(seed)
    references = [" ".join(chance.choices(TEXT.split(), k=chance.randint(1, 14))) for _ in range(count)]
    outputs = [" ".join(chance.choice([word, word, word.lower(), "x"]) for word in r.split()) for r in references]
    return [*outputs, ""], [*references, "Ein Satz ohne Übersetzung."]


def test_the_scores_are_those_of_sacrebleu() -> None:
    outputs, references = make_texts()
    scores = score_translations(outputs, references)
    metric = sacrebleu.BLEU()
    assert scores.bleu == metric.corpus_score(outputs, [references]).score
    assert scores.signature == str(metric.get_signature())
    assert scores.signature.startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")
    assert scores.bleu_lowercase == sacrebleu.corpus_bleu(outputs, [references], lowercase=True).score
    assert scores.bleu_lowercase > scores.bleu
    chrf = sacrebleu.CHRF()
    assert scores.chrf == chrf.corpus_score(outputs, [references]).score
    assert scores.chrf_signature == str(chrf.get_signature())
    scores.check()


def test_a_case_counted_by_hand() -> None:
    rows = count_ngrams(["the cat sat on the mat", "no"], ["the cat is on the mat", "yes"])
    assert rows[0] == [6, 6, 5, 3, 1, 0, 6, 5, 4, 3]
    assert rows[1] == [1, 1, 0, 0, 0, 0, 1, 0, 0, 0]
    # (5/6 * 3/5 * 1/4 * 1/6)^(1/4): the precision of 4-grams, of which none matches, is half of one in three.
    assert combine(rows[:1]) == pytest.approx(100 * (5 / 6 * 3 / 5 * 1 / 4 * 1 / 6) ** 0.25)


@given(st.integers(0, 10_000), st.integers(1, 30))
def test_statistics_alone_give_the_corpus_bleu(seed: int, count: int) -> None:
    outputs, references = make_texts(count, seed)
    expected = min(sacrebleu.corpus_bleu(outputs, [references]).score, 100.0)
    assert combine(score_translations(outputs, references).statistics) == expected
    assert compute_bleu(outputs, references) == expected


def test_sentence_bleu_has_sacrebleus_effective_order() -> None:
    outputs, references = make_texts()
    scores = compute_sentence_bleu(count_ngrams(outputs, references))
    metric = sacrebleu.BLEU(effective_order=True)
    expected = [metric.sentence_score(one, [other]).score for one, other in zip(outputs, references, strict=True)]
    assert scores == [min(score, 100.0) for score in expected]


def test_a_perfect_translation_has_exactly_100() -> None:
    _, references = make_texts()
    scores = score_translations(references, references)
    assert (scores.bleu, scores.bleu_lowercase, scores.chrf) == (100.0, 100.0, 100.0)
    assert set(compute_sentence_bleu(scores.statistics)) == {100.0}


def test_nothing_translated_has_0() -> None:
    scores = score_translations(["", ""], ["Ein Hund.", "Zwei Hunde."])
    assert (scores.bleu, scores.bleu_lowercase, scores.chrf) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(("language", "tokenizer"), [("zh", "zh"), ("zh_CN", "zh"), ("ja", "char"), ("de", "13a")])
def test_languages_without_spaces_have_a_tokenizer_of_their_own(language: str, tokenizer: str) -> None:
    outputs, references = ["我 爱 你", "他在家。"], ["我爱你", "他不在家。"]
    scores = score_translations(outputs, references, language=language)
    assert f"|tok:{tokenizer}|" in scores.signature
    assert scores.bleu == sacrebleu.corpus_bleu(outputs, [references], tokenize=tokenizer).score
    assert scores.bleu == compute_bleu(outputs, references, language=language)
    assert find_tokenizer(scores.signature) == tokenizer


@pytest.mark.parametrize("signature", ["", "nrefs:1|tok:flores200|version:2", "tok:", "tok:ja-mecab"])
def test_other_tokenizers_are_left_alone(signature: str) -> None:
    assert find_tokenizer(signature) is None


@pytest.mark.parametrize(("outputs", "references"), [(["a"], ["a", "b"]), ([], [])])
def test_lists_of_different_lengths(outputs: list[str], references: list[str]) -> None:
    with pytest.raises(ValueError, match=f"there are {len(outputs)} translations and {len(references)} references"):
        score_translations(outputs, references)


def test_many_lines_that_look_tokenised_cause_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    score_translations(["Ein Hund ."] * 200, ["Ein Hund."] * 200)
    assert caplog.text == ""


def test_scoring_needs_no_torch() -> None:
    code = "import sys, probing.translation.scoring; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
