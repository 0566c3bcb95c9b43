"""Instances become the lines of a task file."""

from __future__ import annotations

from probing.corpus.instances import Instance, format_splits


def test_splits_are_written_in_their_order() -> None:
    splits = {"tr": [Instance("A", ("a", "b")), Instance("B", ["c"], "c")], "va": [], "te": [Instance("A", ("d",))]}
    assert format_splits(splits) == "tr\tA\ta b\ntr\tB\tc\nte\tA\td\n"
