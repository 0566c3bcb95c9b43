"""A small share of the long run (`python -m tests.fuzzing`), and single inputs that are known to be nasty."""

from __future__ import annotations

import gzip
import io
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

from probing.errors import ProbingError
from tests.fuzzing.fuzzer import attempt_once, fuzz
from tests.fuzzing.targets import TASK, Target, make_targets

NAMES = (
    "task",
    "index",
    "settings",
    "setting",
    "npy",
    "npz",
    "safetensors",
    "checkpoint",
    "record",
    "translation",
    "explanation",
    "datasheet",
    "lease",
    "parallel",
    "checks",
    "subwords",
    "brackets",
    "conllu",
)
JSON = ("record", "translation", "explanation", "datasheet", "lease")
INPUTS = 1500
"""For all targets together."""


@pytest.fixture(scope="module")
def targets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Target]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("samples")))
        return make_targets()


def test_the_names_are_those_of_the_targets(targets: dict[str, Target]) -> None:
    assert tuple(targets) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_any_input_is_read_or_refused(targets: dict[str, Target], name: str) -> None:
    shares = sum(target.share for target in targets.values())
    tally = fuzz(targets[name], INPUTS * targets[name].share // shares)
    assert tally.failure is None, tally.failure
    assert tally.total > 0


EXTREMES = {
    "empty": b"",
    "NUL bytes": b"\0" * 100_000,
    "byte order mark": b"\xef\xbb\xbf",
    "byte order mark, twice": b"\xef\xbb\xbf\xef\xbb\xbf" + TASK,
    "carriage returns": TASK.replace(b"\n", b"\r"),
    "UTF-16": TASK.decode().encode("utf-16"),
    "surrogate": b"tr\tA\t\xed\xa0\x80\n" + TASK,
    "a million tokens": b"tr\tA\t" + b"ab " * 1_000_000,
    "a long word": b"tr\tA\t" + b"w" * 5_000_000,
    "a line without an end": b"x" * (17 << 20),
    "tabs": b"\t" * 5_000_000,
    "open brackets": b"(" * 100_000,
    "nested brackets": b"(A " * 100_000 + b"b" + b")" * 100_000,
    "nested brackets on lines": b"(A\n" * 100_000 + b"b" + b")\n" * 100_000,
    "closed brackets": b")" * 100_000,
    "JSON nested deeply": b"[" * 100_000 + b"]" * 100_000,
    "objects nested deeply": b'{"a":' * 100_000,
    "TOML nested deeply": b"a = " + b"[" * 100_000,
    "TOML keys nested deeply": b"a." * 20_000 + b"b = 1",
    "a number of many digits": b"9" * 1_000_000,
    "a field of many digits": b'{"format": ' + b"9" * 10_000 + b"}",
    "an infinite number": b'{"format": 1e999}',
    "not a number": b'{"format": NaN}',
    "equal keys": b'{"format": 1, "format": 2, "tasks": [], "tasks": 3}',
    "a word far down": b"1\ta\t_\t_\t_\t_\t" + b"9" * 6000 + b"\troot\t_\t_\n\n",
    "a long chain": b"".join(b"%d\ta\t_\tX\t_\t_\t%d\troot\t_\t_\n" % (n, n - 1) for n in range(1, 3001)),
}


@pytest.mark.parametrize("extreme", EXTREMES)
@pytest.mark.parametrize("name", NAMES)
def test_extremes_are_read_or_refused(targets: dict[str, Target], name: str, extreme: str) -> None:
    attempt_once(targets[name].attempt, EXTREMES[extreme])  # raises what is neither success nor refusal


def test_an_archive_that_grows_without_bounds_is_refused(targets: dict[str, Target]) -> None:
    """Of a few kilobytes that stand for gigabytes, no more is unpacked than the reader can bear."""
    bomb = gzip.compress(bytes(200 << 20), 9)
    for name in ("brackets", "conllu", "parallel"):
        assert not attempt_once(targets[name].attempt, bomb)


def test_an_array_that_promises_more_than_there_is_is_refused(targets: dict[str, Target]) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (1 << 40, 1 << 10)})
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("Tense.npy", header.getvalue())
    assert not attempt_once(targets["npy"].attempt, header.getvalue())
    assert not attempt_once(targets["npz"].attempt, archive.getvalue())


def test_a_fault_is_found_and_told() -> None:
    def attempt(folder: Path, content: bytes) -> None:
        if b"\0" in content:
            raise KeyError("a fault")
        raise ProbingError("refused")

    tally = fuzz(Target(attempt, st.binary(max_size=3)), 300)
    assert tally.refused > 0
    assert tally.failure is not None
    assert "KeyError: 'a fault'" in tally.failure
    assert "content=b'\\x00'" in tally.failure


def test_folders_and_pipes_are_not_files(tmp_path: Path) -> None:
    from collections import Counter

    from probing.config import resolve_config
    from probing.corpus.checks.task_files import check_file
    from probing.corpus.readers.parsed_text import read_sentences
    from probing.results.record import read_record
    from probing.tasks.index import load_task
    from probing.translation.parallel_text import inspect_text
    from probing.translation.subwords import read_subwords

    os.mkfifo(tmp_path / "pipe")
    readers = (
        load_task,
        check_file,
        read_record,
        inspect_text,
        read_subwords,
        lambda path: resolve_config("mini", config_file=path),
        lambda path: list(read_sentences(path, "penn", skipped=Counter())),
    )
    for read in readers:
        with pytest.raises(ProbingError, match=r"pipe: cannot be read \(not a regular file\)"):
            read(tmp_path / "pipe")
        with pytest.raises(ProbingError, match=r"cannot be read \(Is a directory\)"):
            read(tmp_path)
