"""A plug-in is called with the settings that it names; what it raises becomes one line."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

from probing.errors import ProbingError
from probing.model.factories import call_factory, explaining_size, is_too_large

SETTINGS = {"model_dim": 8, "num_heads": 2, "words": ("a", "b")}


def call(factory: Any, **options: Any) -> Any:
    return call_factory("aggregator", "my.py:Mine", factory, SETTINGS, **options)


def error_of(factory: Any, **options: Any) -> str:
    with pytest.raises(ProbingError) as caught:
        call(factory, **options)
    return str(caught.value)


def test_a_factory_gets_the_settings_that_it_names() -> None:
    assert call(lambda words, num_heads: (words, num_heads)) == (("a", "b"), 2)
    assert call(lambda model_dim, colour="red": (model_dim, colour)) == (8, "red")
    assert call(lambda: "nothing") == "nothing"
    assert call(functools.partial(lambda model_dim, colour: (model_dim, colour), colour="blue")) == (8, "blue")


def test_a_class_is_called_as_well() -> None:
    class Mine:
        def __init__(self, model_dim: int) -> None:
            self.width = model_dim

    assert call(Mine).width == 8


def test_what_a_signature_does_not_name_is_given_only_if_it_always_is() -> None:
    def take(**settings: Any) -> dict[str, Any]:
        return settings

    assert call(take) == {}
    assert call(take, always=("model_dim", "num_heads")) == {"model_dim": 8, "num_heads": 2}


def test_what_cannot_be_called_is_named() -> None:
    text = "aggregator 'my.py:Mine' is not a class or function"
    assert error_of(3) == text
    assert error_of("text") == text


def fail(error: BaseException) -> Callable[..., Any]:
    def factory(num_heads: int, model_dim: int) -> Any:
        raise error

    return factory


def test_an_error_names_what_was_given_and_why_it_failed() -> None:
    start = "aggregator 'my.py:Mine' could not be made with "
    assert error_of(fail(ValueError("too wide"))) == f"{start}model_dim, num_heads: ValueError: too wide"
    assert error_of(fail(TypeError("not that"))) == f"{start}model_dim, num_heads: not that"
    assert error_of(lambda: 1 / 0) == f"{start}no settings: ZeroDivisionError: division by zero"
    missing = "test_an_error_names_what_was_given_and_why_it_failed.<locals>.<lambda>() missing 1 required"
    assert error_of(lambda words, colour: None) == f"{start}words: {missing} positional argument: 'colour'"
    assert error_of(lambda model_dim: None, always=("words",)).startswith(f"{start}model_dim, words: ")


def test_the_cause_of_an_error_is_kept() -> None:
    cause = ValueError("too wide")
    with pytest.raises(ProbingError) as caught:
        call(fail(cause))
    assert caught.value.__cause__ is cause


def test_what_a_plug_in_says_itself_stays_as_it_is() -> None:
    assert error_of(fail(ProbingError("mine"))) == "mine"
    with pytest.raises(KeyboardInterrupt):
        call(fail(KeyboardInterrupt()))


@pytest.mark.parametrize(
    ("error", "large"),
    [
        (MemoryError(), True),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes"), True),
        (RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"), True),
        (RuntimeError("Storage size calculation overflowed with sizes=[1]"), True),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_a_model_that_no_memory_holds_is_one_line_with_the_settings_to_lower(error: Exception, large: bool) -> None:
    assert is_too_large(error) is large
    with pytest.raises(type(error) if not large else ProbingError) as caught, explaining_size():
        raise error
    if large:
        assert str(caught.value) == (
            "the model is larger than the memory. Lower model.model_dim, model.feed_forward_dim, model.head_dim or "
            "model.num_layers"
        )
        with pytest.raises(type(error)):  # left to explaining_size
            call(fail(error))
    else:
        assert caught.value is error
