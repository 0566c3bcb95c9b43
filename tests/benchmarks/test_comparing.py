"""Figures that got worse are found, in the direction that each has, and times on the same processor only."""

from __future__ import annotations

from typing import Any

from benchmarks.comparing import list_slower, render_slower


def make(processor: str = "One", **figures: Any) -> dict[str, Any]:
    return {"conditions": {"machine": {"processor": processor}}, "figures": figures}


def test_what_got_slower_is_named() -> None:
    before = make(small={"em": {"speedup": 3.0, "milliseconds": 50.0, "time_ratio": 1.2, "sentences": 10}})
    now = make(small={"em": {"speedup": 2.5, "milliseconds": 60.0, "time_ratio": 1.25, "sentences": 5}})
    found = list_slower(before, now)
    assert found == [("small em speedup", 3.0, 2.5), ("small em milliseconds", 50.0, 60.0)]


def test_what_got_faster_or_hardly_slower_is_not() -> None:
    before = make(large=[{"trees_per_second": 100.0}, {"seconds": 2.0}])
    assert not list_slower(before, make(large=[{"trees_per_second": 140.0}, {"seconds": 2.1}]))


def test_times_of_another_processor_say_nothing() -> None:
    before = make(base={"milliseconds": 10.0, "share": 0.8})
    found = list_slower(before, make("Two", base={"milliseconds": 99.0, "share": 0.4}, em={"share": 0.1}))
    assert found == [("base share", 0.8, 0.4)]


def test_it_is_said_if_nothing_did() -> None:
    assert render_slower("routing", []) == (
        "routing: nothing got slower than in the repository's figures by more than 10 %"
    )
