from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probing.results.schema import builder


@dataclass(frozen=True)
class Inner:
    name: str
    sizes: list[int]


@dataclass(frozen=True)
class Outer:
    inner: Inner
    kind: Literal["a", "b"]
    share: float
    on: bool | None
    counts: dict[str, dict[str, int]]
    notes: dict[str, Any] = field(default_factory=dict)
    points: list[dict[str, float]] = field(default_factory=list)


SOUND: dict[str, Any] = {
    "inner": {"name": "x", "sizes": [1, 2]},
    "kind": "a",
    "share": 0.5,
    "on": None,
    "counts": {"x": {"y": 1}},
}


def test_what_fits_becomes_a_dataclass() -> None:
    built = builder(Outer)(SOUND, "it")
    assert built == Outer(Inner("x", [1, 2]), "a", 0.5, None, {"x": {"y": 1}})
    assert builder(Outer)(dataclasses.asdict(built), "it") == built


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"inner": None}, "inner must have exactly the fields name, sizes"),
        ({"inner": {"name": "x"}}, "inner must have exactly the fields name, sizes"),
        ({"inner": {"name": "x", "sizes": [], "more": 1}}, "inner must have exactly the fields name, sizes"),
        ({"inner": {"name": 1, "sizes": []}}, "name is not of type str"),
        ({"inner": {"name": "x", "sizes": [1.0]}}, "sizes is not of type list[int]"),
        ({"inner": {"name": "x", "sizes": [2**63]}}, "sizes is not of type list[int]"),
        ({"inner": {"name": "x", "sizes": [None]}}, "sizes is not of type list[int]"),
        ({"inner": {"name": "x", "sizes": "12"}}, "sizes is not of type list[int]"),
        ({"kind": "c"}, "kind is not of type Literal['a', 'b']"),
        ({"kind": ["a"]}, "kind is not of type Literal['a', 'b']"),
        ({"share": True}, "share is not of type float"),
        ({"share": float("inf")}, "share is not of type float"),
        ({"share": 10**400}, "share is not of type float"),
        ({"on": 1}, "on is not of type bool"),
        ({"counts": {"x": 1}}, "counts is not of type dict[str, dict[str, int]]"),
        ({"counts": {"x": {"y": 2**63}}}, "counts is not of type dict[str, dict[str, int]]"),
        ({"notes": {"x": float("nan")}}, "notes is not of type dict[str, Any]"),
        ({"notes": {"x": [[[[[[[[[[[1]]]]]]]]]]]}}, "notes is not of type dict[str, Any]"),
        ({"points": [{"loss": "1"}]}, "points is not of type list[dict[str, float]]"),
    ],
)
def test_what_does_not_fit_is_named(change: dict[str, Any], text: str) -> None:
    with pytest.raises(TypeError) as caught:
        builder(Outer)(SOUND | change, "it")
    assert str(caught.value) == text


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "sizes", "x"]), inner),
)


@given(anything)
def test_anything_is_built_or_refused(value: Any) -> None:
    try:
        built = builder(Inner)(value, "it")
    except TypeError:
        return
    assert value == {"name": built.name, "sizes": built.sizes}
