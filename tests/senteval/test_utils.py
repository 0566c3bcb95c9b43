"""SentEval's small functions, against what they return there."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

from probing.errors import ProbingError
from probing.senteval import utils


def test_dotdict() -> None:
    params = utils.dotdict({"a": 1})
    params.b = 2
    assert (params["b"], params.a, params.c, "c" in params) == (2, 1, None, False)
    del params.b
    assert params == {"a": 1}
    with pytest.raises(KeyError):
        params["c"]


def test_a_copy_of_a_dotdict_is_one() -> None:
    params = utils.dotdict({"classifier": {"nhid": 0}})
    copied = copy.deepcopy(params)
    copied.classifier["nhid"] = 5
    assert params.classifier == {"nhid": 0}
    assert type(copied) is utils.dotdict


def test_a_dictionary_has_the_marks_first_and_then_frequent_words() -> None:
    words, numbers = utils.create_dictionary([["b", "a", "</s>"], ["c", "a"]])
    assert words == ["<s>", "</s>", "<p>", "a", "b", "c"]
    assert numbers == {"<s>": 0, "</s>": 1, "<p>": 2, "a": 3, "b": 4, "c": 5}
    assert utils.create_dictionary([])[0] == ["<s>", "</s>", "<p>"]


def test_the_cosine() -> None:
    assert utils.cosine([1, 0], [1, 1]) == pytest.approx(0.5**0.5)
    assert utils.cosine(np.array([2.0, 0]), np.array([-3.0, 0])) == -1


@pytest.mark.parametrize(
    ("text", "kind", "settings"),
    [
        ("adam", torch.optim.Adam, {}),
        ("sgd,lr=0.1", torch.optim.SGD, {"lr": 0.1}),
        ("rmsprop,lr=0.01,alpha=0.5", torch.optim.RMSprop, {"lr": 0.01, "alpha": 0.5}),
        ("adagrad", torch.optim.Adagrad, {}),
    ],
)
def test_an_optimiser_is_a_class_of_torch_and_its_settings(text: str, kind: type, settings: dict[str, float]) -> None:
    assert utils.get_optimizer(text) == (kind, settings)


def test_an_optimiser_without_what_it_needs() -> None:
    with pytest.raises(ProbingError, match="optim 'sgd' needs a learning rate, e.g. sgd,lr=0.1"):
        utils.get_optimizer("sgd")
