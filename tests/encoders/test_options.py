"""Options of encoders: what was given, what is refused, and sentences as texts."""

from __future__ import annotations

from typing import Any

import pytest

from probing.encoders.options import EncoderOptions, check_prompt, detokenise_sentence, spell, spell_text
from probing.errors import ProbingError


def test_only_what_was_given() -> None:
    options = EncoderOptions(layer="3", batch_size=0, detokenise=True)
    assert options.given == {"layer": "3", "detokenise": True}
    assert options.only(["layer", "pooling"]) == EncoderOptions(layer="3")
    assert spell("trust_remote_code") == "--trust-remote-code"


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"model_dtype": "float8"}, "unknown model dtype 'float8'"),
        ({"device_map": "cuda:0"}, "--device-map must be auto. Got 'cuda:0'"),
        ({"batch_size": -1}, "--batch-size must be a number from 1, or auto. Got -1"),
    ],
)
def test_options_that_are_wrong(values: dict[str, Any], text: str) -> None:
    with pytest.raises(ProbingError) as error:
        EncoderOptions(**values)
    assert str(error.value).startswith(text)


def test_a_prompt_has_a_place_for_the_sentence() -> None:
    check_prompt(None)
    check_prompt("query: {text}")
    with pytest.raises(ProbingError, match="--prompt must have {text} where the sentence stands. Got 'query:'"):
        check_prompt("query:")


def test_sentences_as_texts() -> None:
    tokens = ["I", "ca", "n't", "go", "-LRB-", "yet", "-RRB-", "."]
    assert spell_text(tokens) == "I ca n't go -LRB- yet -RRB- ."
    assert detokenise_sentence(tokens) == "I can't go (yet)."
    assert spell_text(["a", "{text}"], prompt="<{text}>") == "<a {text}>"
