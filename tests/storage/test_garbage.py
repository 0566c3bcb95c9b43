from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from probing.storage import collecting_garbage_rarely, importing_for_good, pausing_garbage_collection


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


@pytest.mark.parametrize(("first", "inside"), [(700, 20_000), (50_000, 50_000), (0, 0)])
def test_a_rare_search_is_as_rare_as_before_afterwards(first: int, inside: int) -> None:
    before = gc.get_threshold()
    gc.set_threshold(first, 7, 8)
    try:
        with collecting_garbage_rarely():
            assert gc.get_threshold() == (inside, 7, 8)
        assert gc.get_threshold() == (first, 7, 8)
    finally:
        gc.set_threshold(*before)


def test_what_a_program_imports_is_left_out_of_later_searches() -> None:
    code = (
        "import gc\n"
        "from probing.storage import importing_for_good\n"
        "with importing_for_good('decimal'):\n"
        "    import decimal\n"
        "    assert not gc.isenabled()\n"
        "print(gc.isenabled(), gc.get_freeze_count() > 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True True\n"


def test_a_library_that_is_there_already_changes_nothing() -> None:
    frozen = gc.get_freeze_count()
    with importing_for_good("gc"):
        pass
    assert gc.get_freeze_count() == frozen
