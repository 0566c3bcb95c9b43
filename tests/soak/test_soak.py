"""A minute of the soak; `make soak` takes an hour of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.soak.soak import Soak


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_runs_that_are_disturbed_end_as_if_nothing_had_happened(tmp_path: Path, cache_home: Path) -> None:
    """Each kind of disturbance once."""
    said: list[str] = []
    Soak(tmp_path, seed=0, say=said.append, cache=cache_home).check(lambda number: number < 10)
    assert len(said) == 10
