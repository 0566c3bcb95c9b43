"""Batches of pairs are those of a slow, obvious version, and go on after any batch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from probing.translation import pair_batches
from probing.translation.pair_batches import ParallelSplit
from probing.translation.subwords import BEGIN, END
from tests.tasks.instances import QUICK

sentences = st.lists(st.integers(3, 99), max_size=6)
pair_lists = st.lists(st.tuples(sentences, sentences), min_size=1, max_size=15)


def make_split(pairs, dtype=np.uint16):
    sides = []
    for sentences in zip(*pairs, strict=True):
        ended = [[*sentence, END] for sentence in sentences]
        sides += [np.array([token for each in ended for token in each], dtype), np.cumsum([0, *map(len, ended)])]
    return ParallelSplit(*sides)


def fill_slowly(pairs, order, max_tokens):
    batches, size = [[]], 0
    for row in order:
        longer = max(len(side) for side in pairs[row]) + 1
        if batches[-1] and size + longer > max_tokens:
            batches.append([])
            size = 0
        batches[-1].append(row)
        size += longer
    return batches


def check_batch(batch, pairs):
    sources, targets = zip(*pairs, strict=True)
    assert len(batch) == len(pairs)
    assert batch.source.tokens.tolist() == [token for each in sources for token in (*each, END)]
    assert batch.target.tokens_in.tolist() == [token for each in targets for token in (BEGIN, *each)]
    assert batch.target.tokens_out.tolist() == [token for each in targets for token in (*each, END)]
    for side, texts in ((batch.source, sources), (batch.target, targets)):
        assert side.lengths.tolist() == [len(each) + 1 for each in texts]
        assert side.rows.tolist() == [row for row, each in enumerate(texts) for _ in range(len(each) + 1)]
        assert side.positions.tolist() == [place for each in texts for place in range(len(each) + 1)]
    arrays = (batch.source.tokens, batch.target.tokens_in, batch.target.tokens_out, batch.target.rows)
    assert all(array.dtype == np.int64 for array in arrays)


@given(pair_lists, st.integers(1, 30), st.integers(1, 9), st.data())
@QUICK
def test_batches_are_filled_to_a_number_of_tokens(pairs, max_tokens, window, data):
    order = data.draw(st.lists(st.integers(0, len(pairs) - 1), max_size=40))
    split = make_split(pairs, data.draw(st.sampled_from([np.uint16, np.int32])))
    assert len(split) == len(pairs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pair_batches, "WINDOW", window)
        batches = list(split.batches(np.array(order, np.int64), max_tokens))
        expected = fill_slowly(pairs, order, max_tokens) if order else []
        assert len(batches) == len(expected)
        consumed = 0
        for number, (batch, rows) in enumerate(zip(batches, expected, strict=True)):
            check_batch(batch, [pairs[row] for row in rows])
            consumed += len(batch)
            rest = list(split.batches(np.array(order[consumed:], np.int64), max_tokens))
            assert [len(each) for each in rest] == [len(each) for each in batches[number + 1 :]]
            if rest:
                assert np.array_equal(rest[0].target.tokens_in, batches[number + 1].target.tokens_in)


def test_a_batch_of_named_pairs():
    pairs = [([3, 4], [5]), ([], [6, 7, 8]), ([9], [])]
    split = make_split(pairs)
    check_batch(split.batch(np.array([2, 0, 1, 0])), [pairs[2], pairs[0], pairs[1], pairs[0]])
    assert split.count_tokens(np.array([0, 1, 2])).tolist() == [3, 4, 2]
