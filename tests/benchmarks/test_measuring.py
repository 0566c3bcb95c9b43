from __future__ import annotations

import numpy as np
import pytest

from benchmarks.measuring import draw_sentences, median_ratio, take_turns


def test_sentences_are_as_long_as_sentevals():
    lengths = np.diff(draw_sentences(20_000).offsets)
    assert (lengths.min(), lengths.max()) == (5, 28)
    assert lengths.mean() == pytest.approx(12, abs=0.5)


def test_candidates_take_turns_in_both_orders():
    ran = []
    ticks = iter(range(100))
    candidates = {name: lambda name=name: ran.append(name) for name in ("a", "b")}
    seconds = take_turns(candidates, rounds=2, clock=lambda: next(ticks), title="test")
    assert "".join(ran) == "ab" + "ba" + "ab"
    assert seconds == {"a": [1, 1], "b": [1, 1]}


def test_ratios_are_taken_within_a_round():
    assert median_ratio([2, 40, 9], [1, 10, 3]) == 3
