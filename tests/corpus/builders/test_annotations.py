"""What counts as a word, and as a sentence with words."""

from __future__ import annotations

import pytest

from probing.corpus.builders.annotations import has_words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("She left the house .", True),
        ('" Why ? "', True),
        ("At 8.30 we left for room 12 .", True),
        ("C'est l' été !", True),
        ("我们 走 吧 。", True),
        ("____ ___ ______ __ ___", False),
        ("_ _ _ _ _ _", False),
        ("The ___ ____ ___ sold", False),
        ("Tel. : 713 965 2158", False),
        ("1 2 3 4 5", False),
        (". . . — !", False),
    ],
)
def test_a_sentence_has_words_unless_it_is_masked_or_of_numbers_and_signs(text: str, expected: bool) -> None:
    assert has_words(tuple(text.split())) is expected
