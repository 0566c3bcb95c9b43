"""The paper's claims on translation: supported, contradicted, or not decided."""

from __future__ import annotations

from dataclasses import replace

import pytest

from probing.report.claims import Claim
from probing.report.translation.claims import check_translation_claims
from probing.report.translation.grouping import group_translations
from tests.translations import ALL, Run, make_translation, vary

EACH, ENCODER, THREE, TWO, SPEED = range(5)
BASE = Run(wrong=0.3, sentences=600, speeds=(1.92, 1.67))
SELF = Run("em", ("enc-self",), wrong=0.1, sentences=600, speeds=(1.2, 1.65))
CROSS = Run("em", ("enc-dec",), wrong=0.2, sentences=600)
DECODER = Run("em", ("dec-self",), wrong=0.2, sentences=600)


def check(*runs: Run) -> list[Claim]:
    (group,) = group_translations([make_translation(run) for run in runs])
    return check_translation_claims(group)


def copy(run: Run, wrong: float, **changes: object) -> Run:
    """Return a run with another share of wrong words, on the same sentences."""
    return replace(run, wrong=wrong, **changes)  # type: ignore[arg-type]


def test_all_claims_are_checked_in_order() -> None:
    claims = check(BASE, SELF, CROSS, DECODER)
    assert [claim.text for claim in claims] == [
        "EM routing beats Base in each of the three attentions",
        "encoder self-attention gains most from routing",
        "all three attentions gain little more than the encoder's alone (less than 0.3 BLEU)",
        "routing the two lowest layers is nearly as good as all (within 0.3 BLEU)",
        "decoding is hardly slower if only the encoder is routed (by less than 5 %)",
    ]
    assert [claim.answer for claim in claims] == [
        "supported",
        "supported",
        "cannot be decided",
        "cannot be decided",
        "supported",
    ]
    assert claims[THREE].numbers == "EM in enc-self + enc-dec + dec-self has not been measured"
    assert claims[TWO].numbers == "EM in enc-self, layers [1,2] has not been measured"
    assert claims[SPEED].numbers == "EM in enc-self decodes 0.988 times as fast as Base, one timing each"


def test_one_attention_that_is_worse_contradicts() -> None:
    claim = check(BASE, SELF, copy(CROSS, 0.5), DECODER)[EACH]
    assert claim.answer == "contradicted"
    assert "enc-dec -" in claim.numbers


def test_a_missing_attention_leaves_it_open() -> None:
    claims = check(BASE, SELF, CROSS)
    assert claims[EACH].answer == claims[ENCODER].answer == "cannot be decided"
    assert claims[EACH].numbers.endswith("; not measured: dec-self")


def test_another_attention_gains_more() -> None:
    assert check(BASE, SELF, copy(CROSS, 0.02), DECODER)[ENCODER].answer == "contradicted"


@pytest.mark.parametrize(("wrong", "answer"), [(0.3, "supported"), (0.02, "contradicted"), (0.1, "cannot be decided")])
def test_all_three(wrong: float, answer: str) -> None:
    assert check(BASE, SELF, Run("em", ALL, wrong=wrong, sentences=600))[THREE].answer == answer


@pytest.mark.parametrize(("wrong", "answer"), [(0.02, "supported"), (0.3, "contradicted"), (0.1, "cannot be decided")])
def test_two_layers(wrong: float, answer: str) -> None:
    claim = check(BASE, SELF, copy(SELF, wrong, layers=(1, 2)))[TWO]
    assert claim.answer == answer
    assert claim.numbers.startswith("[1,2] − [1-6] ")


def test_a_stack_of_two_layers_cannot_decide() -> None:
    shallow = (("model", "num_layers", 2),)
    claim = check(replace(BASE, settings=shallow), replace(SELF, settings=shallow))[TWO]
    assert (claim.answer, claim.numbers) == ("cannot be decided", "the encoder has only 2 layers")


@pytest.mark.parametrize(
    ("speeds", "answer", "numbers"),
    [
        ([1.65], "supported", "0.988 times as fast as Base, one timing each"),
        ([1.5], "contradicted", "0.898 times as fast as Base, one timing each"),
        ([1.65, 1.5], "cannot be decided", "0.898 to 0.988 times as fast as Base, 2 and 1 timings"),
    ],
)
def test_decoding_speed(speeds: list[float], answer: str, numbers: str) -> None:
    runs = [replace(SELF, seed=seed, speeds=(1.2, speed)) for seed, speed in enumerate(speeds)]
    claim = check(BASE, *runs)[SPEED]
    assert (claim.answer, claim.numbers) == (answer, f"EM in enc-self decodes {numbers}")


def test_speeds_of_different_machines_are_not_compared() -> None:
    claim = check(BASE, replace(SELF, threads=8))[SPEED]
    assert claim.answer == "cannot be decided"
    assert claim.numbers == "the speeds were measured in different places: threads 2, 8"
    assert check(BASE, replace(SELF, speeds=None))[SPEED].numbers == "no decoding speed has been measured"


def test_seeds_that_differ_much_decide_nothing() -> None:
    """Two seeds of BLEU far apart: the sentences alone would have been certain."""
    runs = [BASE, replace(BASE, seed=1, wrong=0.1), replace(SELF, wrong=0.2), replace(SELF, seed=1, wrong=0.05)]
    claim = check(*runs, *vary([CROSS, DECODER], 2))[EACH]
    assert claim.answer == "cannot be decided"


def test_two_ways_of_the_same_leave_it_open() -> None:
    claim = check(BASE, SELF, replace(SELF, settings=(("model", "iterations", 2),)))[TWO]
    assert claim.numbers.startswith("EM in enc-self has been measured in several ways: EM, enc-self (iterations=2), ")


def test_without_base_or_em_there_are_no_claims() -> None:
    assert check(BASE) == check(SELF) == check(BASE, Run("simple", ("enc-self",), sentences=600)) == []
