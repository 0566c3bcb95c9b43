from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from probing.errors import ProbingError
from probing.experiments.description_length import FRACTIONS, Stage, count_bits, cut_pieces, describe_labels, soften
from probing.tasks.subsets import Subset

SCORES = st.lists(st.lists(st.floats(-30, 30), min_size=3, max_size=3), min_size=1, max_size=20)


class Model:
    """Knows a share of the labels, and says so with a certainty; blocks of seven sentences."""

    def __init__(self, certainty, wrong=frozenset(), num_classes=4):
        self.certainty, self.wrong, self.num_classes = certainty, wrong, num_classes

    def scores(self, part):
        rows = np.arange(len(part)) if part.rows is None else part.rows
        known = [(label + (row in self.wrong)) % self.num_classes for row, label in zip(rows, part.labels, strict=True)]
        scores = self.certainty * torch.nn.functional.one_hot(torch.tensor(known), self.num_classes).float()
        return scores.split(7)


def code(fit, *, size=1000, num_classes=4, dev=100):
    labels = np.arange(size) % num_classes
    return describe_labels(Subset("tr", labels), Subset("va", labels[:dev]), num_classes=num_classes, fit=fit)


def surprise(scores, label):
    """Return -log2 of the softmax, in plain Python."""
    largest = max(scores)
    return math.log2(sum(math.exp(score - largest) for score in scores)) - (scores[label] - largest) / math.log(2)


@given(SCORES, st.integers(0, 10**6), st.floats(0, 1))
@settings(max_examples=60, deadline=None)
def test_bits_are_the_logarithms_of_the_probabilities(rows, seed, factor):
    labels = np.random.default_rng(seed).integers(0, 3, len(rows))
    expected = math.fsum(surprise([factor * s for s in row], label) for row, label in zip(rows, labels, strict=True))
    bits = count_bits(torch.tensor(rows, dtype=torch.float64), torch.from_numpy(labels), factor)
    assert bits == pytest.approx(expected, rel=1e-12, abs=1e-9)


def test_a_class_that_is_next_to_impossible_takes_many_bits_but_not_infinitely_many():
    scores = torch.tensor([[0.0, 1e4]])  # a probability that even float64 does not have
    assert count_bits(scores, torch.tensor([0])) == pytest.approx(1e4 / math.log(2))
    assert count_bits(scores, torch.tensor([1])) == 0.0


@given(SCORES, st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_the_softest_code_is_found(rows, seed):
    scores = torch.tensor(rows, dtype=torch.float64)
    labels = torch.from_numpy(np.random.default_rng(seed).integers(0, 3, len(rows)))
    factor = soften(scores, labels)
    assert 0 <= factor <= 1
    best = min(count_bits(scores, labels, step / 500) for step in range(501))
    assert count_bits(scores, labels, factor) <= best + 1e-3 * (1 + best)


def test_who_is_always_wrong_is_not_believed_and_who_is_always_right_is():
    labels = torch.arange(40) % 4
    right = 5.0 * torch.nn.functional.one_hot(labels, 4)
    assert soften(right, labels) == 1.0
    assert soften(-right, labels) == 0.0


@pytest.mark.parametrize(
    ("size", "ends"),
    [
        (100_000, [100, 200, 400, 800, 1600, 3200, 6250, 12_500, 25_000, 50_000, 100_000]),
        (1000, [1, 2, 4, 8, 16, 32, 62, 125, 250, 500, 1000]),
        (10, [1, 2, 5, 10]),
        (2, [1, 2]),
        (1, [1]),
    ],
)
def test_pieces_end_where_the_fractions_say(size, ends):
    assert cut_pieces(size) == ends


@given(st.integers(1, 10**6))
def test_pieces_are_never_empty_and_hold_all(size):
    ends = cut_pieces(size)
    assert ends[-1] == size
    assert all(first < second for first, second in pairwise([0, *ends]))
    assert len(ends) <= len(FRACTIONS)


def test_a_model_that_knows_nothing_compresses_nothing():
    coded = code(lambda part, stage: Model(0.0))
    assert coded.description.compression == pytest.approx(1.0, abs=1e-12)
    assert coded.description.bits == pytest.approx(coded.description.uniform_bits) == pytest.approx(2000.0)


def test_a_model_that_is_certain_and_wrong_is_as_good_as_none():
    """The factor of the scores makes it the uniform code."""
    everything = frozenset(range(1000))
    description = code(lambda part, stage: Model(50.0, wrong=everything)).description
    assert description.compression == pytest.approx(1.0, abs=1e-3)


def test_the_codelength_is_the_sum_over_pieces_by_brute_force():
    """Each model knows what it was trained on and nothing else; the factor is found on dev."""
    order, fits = [], []

    def fit(part, stage):
        assert part.rows is not None
        order.append(part.rows.tolist())
        fits.append(stage)
        known = {*part.rows.tolist()}
        return Model(3.0, wrong=frozenset(row for row in range(1000) if row not in known or row % 5 == 0))

    coded = code(fit, dev=1000)
    description = coded.description
    ends = cut_pieces(1000)
    assert [len(rows) for rows in order] == ends[:-1]
    assert all(later[: len(rows)] == rows for rows, later in pairwise(order))
    assert order[-1] != sorted(order[-1])
    expected = [2.0 * ends[0]]
    for piece, start, end in zip(description.pieces[1:], ends[:-1], ends[1:], strict=True):
        assert (piece["trained"], piece["coded"]) == (start, end - start)
        scores = [piece["factor"] * score for score in (3.0, 0.0, 0.0, 0.0)]
        expected.append((end - start) * surprise(scores, 1))  # all of a piece are new, so all are wrong
        assert piece["bits"] == pytest.approx(expected[-1], rel=1e-6)
    assert description.bits == pytest.approx(math.fsum(expected), rel=1e-6)
    assert description.compression == description.uniform_bits / description.bits
    assert coded.subset.rows is not None
    assert coded.subset.rows.tolist() == order[-1]
    assert fits[0].done == 0
    assert fits[-1].done + fits[-1].share == pytest.approx(1.0)
    assert [str(stage) for stage in fits][:2] == ["piece 1/10", "piece 2/10"]
    assert str(Stage()) == ""


def test_who_knows_more_needs_fewer_bits():
    shares = [
        code(
            lambda part, stage, wrong=wrong: Model(9.0, wrong=frozenset(range(0, 1000, wrong)))
        ).description.compression
        for wrong in (2, 3, 10, 1001)
    ]
    assert shares == sorted(shares)
    assert shares[0] > 1.0
    assert shares[-1] > 50  # but for the first piece, which is sent by the uniform code


def test_one_class_takes_no_bits():
    description = code(lambda part, stage: Model(1.0, num_classes=1), num_classes=1).description
    assert (description.bits, description.uniform_bits, description.compression) == (0.0, 0.0, 1.0)


def test_one_sentence_has_no_description_length():
    with pytest.raises(ProbingError, match=r"^a description length needs at least 2 training sentences\. Got 1$"):
        code(lambda part, stage: Model(1.0), size=1)
