"""Frequency bounds scale with the corpus; a sentence with two different trees is drawn once."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from probing.corpus.builders.drawing import Sampler, SamplingDesign, scale_bounds, widen_bounds
from probing.corpus.builders.survey import Survey
from probing.corpus.readers.brackets import parse_tree


@pytest.mark.parametrize(
    ("tokens", "bounds"),
    [(100_000_000, (100, 5000)), (10_000_000_000, (100, 5000)), (10_000_000, (10, 500)), (1000, (2, 20))],
)
def test_bounds_scale_with_the_corpus_down_to_a_floor(tokens: int, bounds: tuple[int, int]) -> None:
    assert scale_bounds(100, 5000, tokens) == bounds


def test_the_upper_bound_is_doubled_until_there_is_enough() -> None:
    assert widen_bounds(2, 20, 1_000_000, lambda low, high: (high >= 150, 1.0)) == (2, 160)


def test_the_upper_bound_stops_at_a_thousandth_of_the_corpus() -> None:
    assert widen_bounds(2, 20, 100_000, lambda low, high: (False, 0.3)) == (2, 100)
    assert widen_bounds(2, 20, 100, lambda low, high: (False, 0.3)) == (2, 20)


def test_the_upper_bound_goes_on_where_words_are_few() -> None:
    assert widen_bounds(2, 20, 100_000, lambda low, high: (False, high / 1000)) == (2, 400)
    assert widen_bounds(2, 20, 1000, lambda low, high: (False, 0.0)) == (2, 1000)


def test_a_sentence_with_two_trees_is_drawn_once(take: Callable[..., Survey]) -> None:
    one = parse_tree("(S (NP (NNS Dogs)) (VP (VBP chase) (NP (DT the) (NN cat))) (. .))")
    two = parse_tree("(S (NNS Dogs) (VP (VBP chase) (NP (DT the) (NN cat))) (. .))")
    assert one.tokens == two.tokens
    design = SamplingDesign(
        classify=lambda annotations: annotations.top, capacity=lambda _: 5, assemble=lambda drawn, random: {}
    )
    sampler = Sampler("task", design)
    survey = take([one, two])
    for record in survey.records():
        sampler.offer(*record)
    drawn = sampler.draw(survey)
    assert sorted(map(len, drawn.values())) == [0, 1]
    assert [annotations.tokens for sample in drawn.values() for annotations in sample] == [one.tokens]
    assert design.assemble(drawn, Random(0)) == {}
