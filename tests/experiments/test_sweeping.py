from __future__ import annotations

import pytest

from probing.errors import ProbingError
from probing.experiments.sweeping import list_variants


def test_all_combinations_or_a_list() -> None:
    settings = ["model.iterations=1,2", "training.patience=3", "model.num_capsules=8,32"]
    fixed, grid = list_variants(settings)
    assert fixed == ("training.patience=3",)
    assert grid == [
        (f"model.iterations={iterations}", f"model.num_capsules={capsules}")
        for iterations in (1, 2)
        for capsules in (8, 32)
    ]
    assert list_variants(settings, zipped=True)[1] == [
        ("model.iterations=1", "model.num_capsules=8"),
        ("model.iterations=2", "model.num_capsules=32"),
    ]


def test_items_of_a_list_are_joined_by_a_plus() -> None:
    _, variants = list_variants(["model.layers_with_aggregator=1,1+2,empty"])
    name = "model.layers_with_aggregator"
    assert variants == [(f"{name}=1",), (f"{name}=1,2",), (f"{name}=",)]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["model.iterations=3"], "a sweep needs a setting with several values"),
        (["model.iterations"], "is not of the form section.key=value,value,…"),
        (["model.iterations=1,,2"], "a value is missing between the commas"),
        (["model.iterations=1,1"], "a value is given twice"),
        (["model.iterations=1,2", "model.iterations=3"], "model.iterations is given twice"),
    ],
)
def test_mistakes_are_named(settings: list[str], message: str) -> None:
    with pytest.raises(ProbingError) as caught:
        list_variants(settings)
    assert message in str(caught.value)


def test_a_list_needs_as_many_values_of_each() -> None:
    with pytest.raises(ProbingError, match="model.iterations has 2, model.num_capsules has 3"):
        list_variants(["model.iterations=1,2", "model.num_capsules=8,16,32"], zipped=True)
