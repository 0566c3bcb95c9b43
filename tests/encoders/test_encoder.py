"""Vectors of any kind become one array, or an error that names the encoder, the batch and what is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from probing.encoders.encoder import Recipe, as_matrix, list_parameters, round_to_bfloat16
from probing.errors import ProbingError

ROWS = [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize(
    "vectors",
    [
        ROWS,
        np.array(ROWS),
        np.array(ROWS, np.float16),
        torch.tensor(ROWS, requires_grad=True),
        torch.tensor(ROWS, dtype=torch.bfloat16),
        [torch.tensor(row, requires_grad=True) for row in ROWS],
        [np.array(row) for row in ROWS],
    ],
    ids=["lists", "array", "half", "tensor", "bfloat16", "tensors", "arrays"],
)
def test_vectors_of_any_kind(vectors: Any) -> None:
    matrix = as_matrix("E", "batch 1", 2, vectors, layers=None)
    assert matrix.dtype == np.float32
    assert matrix.tolist() == [[row] for row in ROWS]
    assert as_matrix("E", "batch 1", 2, np.array([ROWS, ROWS]), layers=2, dtype="float16").shape == (2, 2, 2)


@pytest.mark.parametrize(
    ("vectors", "text"),
    [
        ([[1.0], [1.0, 2.0]], "encode must return an array (n, dim). Its rows cannot be put together: "),
        ([["a"], ["b"]], "encode must return an array (n, dim) of numbers. Got list of shape (2, 1) and type <U1"),
        ([1.0, 2.0], "encode must return an array (n, dim). Got list of shape (2,) and type float64"),
        ([[1.0]], "encode was given 2 sentences and returned 1 rows"),
        (np.empty((2, 0)), "encode returned vectors of dimension 0"),
        ([[1.0, 2.0], [np.nan, 1.0]], "the vector of its sentence 2 is not finite (it holds NaN or infinity)"),
        ([[1.0], [2.0]], "vectors of dimension 1, but 2 before"),
        ([[1e39, 1.0], [1.0, 1.0]], "a vector holds a number too large for float32"),
    ],
)
def test_what_cannot_be_used_is_named(vectors: Any, text: str) -> None:
    with pytest.raises(ProbingError) as error:
        as_matrix("E", "batch 3", 2, vectors, layers=None, dim=2)
    assert str(error.value).startswith(f"encoder 'E', batch 3: {text}")


def test_layers_must_be_there() -> None:
    with pytest.raises(ProbingError, match=r"must return an array \(n, 3, dim\)\. Got ndarray of shape \(2, 2\)"):
        as_matrix("E", "batch 1", 2, np.array(ROWS), layers=3)


def test_bfloat16_has_eight_bits() -> None:
    assert round_to_bfloat16(np.array([1.0, 1.001, 257.0])).tolist() == [1.0, 1.0, 256.0]


def test_an_untrained_encoder_has_the_seed_of_its_cell() -> None:
    made: list[Any] = []
    recipe = Recipe(
        name="my.py:E",
        label="E",
        version="1",
        load=lambda device: made.append("trained"),
        load_untrained=lambda device, seed: made.append(seed),
    )
    untrained = recipe.untrained(7)
    untrained.load(torch.device("cpu"))
    assert made == [7]
    assert (untrained.label, untrained.version, untrained.weights_seed) == ("E untrained", "1", 7)
    with pytest.raises(ProbingError, match=r"encoder 'my\.py:E untrained' has no untrained form"):
        untrained.untrained(7)


def test_parameters_of_compiled_code_need_not_be_known() -> None:
    assert list_parameters(lambda path, dim=3: None) == ["path", "dim"]
    assert list_parameters(max) == []
