from __future__ import annotations

import json
import pickle

import pytest

from probing.errors import ProbingError, as_lines, as_one_line, escape_json, escape_rows, unknown


@pytest.mark.parametrize(
    ("received", "known", "text"),
    [
        ("tens", ["SeLen", "Tense"], "unknown task 'tens'. Did you mean 'Tense'? Known: SeLen, Tense"),
        ("TENSE!", ["SeLen", "Tense"], "unknown task 'TENSE!'. Did you mean 'Tense'? Known: SeLen, Tense"),
        ("zzz", ["SeLen", "Tense"], "unknown task 'zzz'. Known: SeLen, Tense"),
        ("", ["Tense"], "unknown task ''. Known: Tense"),
        ("a\nb", ["Tense"], "unknown task 'a\\nb'. Known: Tense"),
        ("x", [], "unknown task 'x'. Known: none"),
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


def test_lines_stay_lines_and_other_control_characters_are_escaped() -> None:
    assert as_lines("a\x1b[2J\n\tb\x9b\u202e") == "a\\x1b[2J\n\\tb\\x9b\\u202e"
    assert escape_rows([("a\nb", 1.5, None)]) == [["a\\nb", 1.5, None]]


def test_json_means_the_same_after_it_was_escaped() -> None:
    content = {"a\x1b": ["\x9b\u202e\U000e0001 é", 1]}
    text = escape_json(json.dumps(content, ensure_ascii=False, indent=1))
    assert json.loads(text) == content
    assert text.replace("\n", "").isprintable()
    assert "é" in text
