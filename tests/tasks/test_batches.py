"""Batches are sentences end to end, each sentence once."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from probing.tasks.batches import PackedSplit
from tests.tasks.instances import QUICK

sentence_lists = st.lists(st.lists(st.integers(1, 99), min_size=1, max_size=6), min_size=1, max_size=12)


def pack(sentences):
    lengths = [len(sentence) for sentence in sentences]
    return PackedSplit(
        tokens=np.array([token for sentence in sentences for token in sentence], np.int64),
        offsets=np.cumsum([0, *lengths]),
        labels=np.arange(len(sentences)) % 3,
    )


@given(sentence_lists, st.data())
@QUICK
def test_a_packed_batch_is_the_sentences_end_to_end(sentences, data):
    split = pack(sentences)
    chosen = data.draw(st.lists(st.integers(0, len(sentences) - 1), min_size=1))
    batch = split.batch(np.array(chosen))
    assert batch.tokens.tolist() == [token for i in chosen for token in sentences[i]]
    assert batch.rows.tolist() == [row for row, i in enumerate(chosen) for _ in sentences[i]]
    assert batch.positions.tolist() == [place for i in chosen for place in range(len(sentences[i]))]
    assert batch.lengths.tolist() == [len(sentences[i]) for i in chosen]
    assert batch.labels.tolist() == [i % 3 for i in chosen]


@given(sentence_lists, st.integers(1, 15), st.booleans(), st.randoms(use_true_random=False))
@QUICK
def test_batches_have_every_sentence_once(sentences, batch_size, shuffled, random):
    split = pack(sentences)
    order = list(range(len(sentences)))
    if shuffled:
        random.shuffle(order)
    batches = list(split.batches(batch_size, np.array(order) if shuffled else None))
    assert [len(batch.labels) for batch in batches[:-1]] == [batch_size] * (len(batches) - 1)
    assert 1 <= len(batches[-1].labels) <= batch_size
    found = [part.tolist() for batch in batches for part in np.split(batch.tokens, np.cumsum(batch.lengths)[:-1])]
    assert found == [sentences[i] for i in order]
    assert np.concatenate([batch.labels for batch in batches]).tolist() == [i % 3 for i in order]
