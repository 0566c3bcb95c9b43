from __future__ import annotations

import pickle

import pytest

from probing.errors import ProbingError, as_one_line, unknown


@pytest.mark.parametrize(
    ("received", "known", "text"),
    [
        ("tens", ["SeLen", "Tense"], "unknown task 'tens'. Did you mean 'Tense'? Known: SeLen, Tense"),
        ("TENSE!", ["SeLen", "Tense"], "unknown task 'TENSE!'. Did you mean 'Tense'? Known: SeLen, Tense"),
        ("zzz", ["SeLen", "Tense"], "unknown task 'zzz'. Known: SeLen, Tense"),
        ("", ["Tense"], "unknown task ''. Known: Tense"),
        ("a\nb", ["Tense"], "unknown task 'a\\nb'. Known: Tense"),
        ("x", [], "unknown task 'x'. Known: "),
        ("x", ["EM", "EM, untrained"], "unknown task 'x'. Known: EM, 'EM, untrained'"),
    ],
)
def test_an_unknown_name_is_shown_with_the_nearest_known_one(received, known, text):
    error = unknown("task", received, iter(known))
    assert isinstance(error, ProbingError)
    assert str(error) == text


def test_an_error_comes_back_whole_from_another_process():
    error = pickle.loads(pickle.dumps(ProbingError("a.txt:3: empty sentence")))  # noqa: S301
    assert isinstance(error, ProbingError)
    assert str(error) == "a.txt:3: empty sentence"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("plain text, naïve — 日本", "plain text, naïve — 日本"),
        ("two\nlines\r\n", r"two\nlines\r\n"),
        ("\x1b[31mred\x07", r"\x1b[31mred\x07"),
        ("stray \udcff", r"stray \udcff"),
    ],
)
def test_a_message_is_one_line(text: str, line: str) -> None:
    assert as_one_line(text) == line
