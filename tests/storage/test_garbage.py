from __future__ import annotations

import gc

import pytest

from probing.storage import pausing_garbage_collection


def test_the_search_for_garbage_goes_on_afterwards() -> None:
    with pausing_garbage_collection():
        assert not gc.isenabled()
        with pausing_garbage_collection():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_goes_on_after_an_error() -> None:
    with pytest.raises(ValueError, match="stop"), pausing_garbage_collection():
        raise ValueError("stop")
    assert gc.isenabled()
