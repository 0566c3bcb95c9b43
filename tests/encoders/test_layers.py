"""Layers by number, from the end, as ranges and lists."""

from __future__ import annotations

import pytest

from probing.encoders.layers import check_layer, choose_layers
from probing.errors import ProbingError


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        ("last", (6,)),
        ("-1", (6,)),
        ("-7", (0,)),
        ("0", (0,)),
        ("0-2", (0, 1, 2)),
        ("5, 0-1", (0, 1, 5)),
        ("3,3", (3,)),
        ("all", tuple(range(7))),
        ("mix", tuple(range(7))),
    ],
)
def test_layers_of_a_model_with_six(layer: str, expected: tuple[int, ...]) -> None:
    check_layer(layer)
    assert choose_layers("x", layer, 6) == expected


@pytest.mark.parametrize("layer", ["7", "-8", "4-2", "0-7"])
def test_layers_that_a_model_does_not_have(layer: str) -> None:
    with pytest.raises(ProbingError) as error:
        choose_layers("x", layer, 6)
    assert str(error.value) == (
        f"encoder 'x': --layer must be 0 to 6, -1 to -7, a range or list of them, all, last or mix. Got {layer!r}"
    )


@pytest.mark.parametrize("layer", ["", "first", "1.5", "0-", "1,,2"])
def test_what_can_be_no_layer(layer: str) -> None:
    with pytest.raises(ProbingError, match="--layer must be a number from 0"):
        check_layer(layer)
