"""Vectors are computed once, kept as safetensors, and an interrupted embedding goes on where it stopped."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from probing.encoders import blocks, cached_vectors
from probing.encoders.cached_vectors import clear_cached, list_cached
from probing.encoders.embedding import embed
from probing.encoders.encoder import Recipe
from probing.encoders.precomputed import PrecomputedVectors
from probing.encoders.senteval import BatcherEncoder
from probing.encoders.vector_cache import VectorEntry
from probing.errors import ProbingError
from probing.tasks.index import IndexedTask, load_task
from probing.tasks.table import get_task, own_task

RECIPE = Recipe(name="mine.py:Mine", label="Mine", version="1", load=lambda device: None)
TASK = own_task(Path("words.txt"))


class Lengths:
    """Encodes a sentence by the lengths of its first and last word."""

    def __init__(self) -> None:
        self.batches: list[int] = []

    def encode(self, sentences: list[list[str]]) -> Any:
        self.batches.append(len(sentences))
        return [[len(tokens[0]), len(tokens[-1])] for tokens in sentences]


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK", 4)


@pytest.fixture
def data(task_file: Callable[..., Path]) -> IndexedTask:
    lines = [f"{split}\t{'AB'[n % 2]}\t{'x' * n} {'y' * (n + 2)}" for n in range(1, 7) for split in ("te", "tr", "va")]
    return load_task(task_file(lines, "words.txt"))


def fill(data: IndexedTask, encoder: Any, recipe: Recipe = RECIPE, dtype: str = "float32") -> VectorEntry:
    entry = VectorEntry.build(recipe, data, dtype)
    embed(entry, recipe, encoder, TASK, data)
    return entry


def test_rows_are_the_sentences_of_each_split_in_order(data: IndexedTask) -> None:
    entry = fill(data, Lengths())
    expected = [[n, n + 2] for n in range(1, 7)]
    opened = entry.open(None)
    assert {name: tensor.tolist() for name, tensor in opened.items()} == dict.fromkeys(("tr", "va", "te"), expected)
    assert opened["tr"].dtype == torch.float32
    assert load_file(entry.folder / "vectors.safetensors")["va"].tolist() == expected
    assert not entry.partial.exists()


def test_vectors_are_computed_once(data: IndexedTask) -> None:
    encoder = Lengths()
    fill(data, encoder)
    assert encoder.batches == [4, 4, 2, 4, 2, 4, 2]  # the second time to see whether its vectors are the same
    fill(data, encoder)
    assert len(encoder.batches) == 7


@pytest.mark.parametrize(
    "change",
    [{"name": "other"}, {"version": "2"}, {"settings": {"pooling": "max"}}, {"layers": (1,)}, {"weights_seed": 0}],
)
def test_what_can_change_the_vectors_is_another_entry(data: IndexedTask, change: dict[str, Any]) -> None:
    entry = VectorEntry.build(RECIPE, data, "float32")
    assert VectorEntry.build(dataclasses.replace(RECIPE, **change), data, "float32").folder != entry.folder
    assert VectorEntry.build(RECIPE, data, "float16").folder != entry.folder
    assert VectorEntry.build(RECIPE, dataclasses.replace(data, sha256="0"), "float32").folder != entry.folder
    assert VectorEntry.build(dataclasses.replace(RECIPE, label="other"), data, "float32").folder == entry.folder


class Interrupted(Lengths):
    def encode(self, sentences: list[list[str]]) -> Any:
        if len(self.batches) == 4:
            raise KeyboardInterrupt
        return super().encode(sentences)


def test_an_interrupted_embedding_goes_on_where_it_stopped(data: IndexedTask) -> None:
    with pytest.raises(KeyboardInterrupt):
        fill(data, Interrupted())
    (left,) = list_cached()
    assert (left.encoder, left.rows, left.sentences, left.is_complete) == ("mine.py:Mine", 10, 18, False)
    assert cached_vectors.describe_cached()[0][:4] == ("mine.py:Mine", "words", "10 of 18", 2)
    encoder = Lengths()
    resumed = fill(data, encoder)
    assert encoder.batches == [10, 2, 4, 2]  # those that are there are checked first
    assert resumed.open(None)["te"].tolist() == [[n, n + 2] for n in range(1, 7)]


def test_half_precision(data: IndexedTask) -> None:
    opened = fill(data, Lengths(), dtype="float16").open(None)
    assert opened["tr"].dtype == torch.float16
    assert opened["tr"].tolist()[0] == [1, 3]


def test_layers_are_embedded_once_and_read_one_by_one(data: IndexedTask) -> None:
    class Layers(Lengths):
        def encode(self, sentences: list[list[str]]) -> Any:
            rows = np.array(super().encode(sentences))
            return np.stack([rows, 10 * rows], 1)

    encoder = Layers()
    entry = fill(data, encoder, dataclasses.replace(RECIPE, layers=(0, 3)))
    assert len(encoder.batches) == 7
    assert entry.open(0)["va"].tolist()[1] == [2, 4]
    assert entry.open(3)["va"].tolist()[1] == [20, 40]


def test_all_layers_serve_for_one(data: IndexedTask) -> None:
    one = dataclasses.replace(RECIPE, layers=(3,), all_layers=(0, 3))
    everything = dataclasses.replace(one, layers=(0, 3))
    assert VectorEntry.build(one, data, "float32").folder != VectorEntry.build(everything, data, "float32").folder
    entry = fill(data, encoder_of(lambda rows, number: np.stack([rows, np.array(rows) * 10], 1)), everything)
    assert VectorEntry.build(one, data, "float32") == entry
    assert entry.open(3)["te"].tolist()[0] == [10, 30]
    assert not VectorEntry.build(one, data, "float16").is_complete
    assert not VectorEntry.build(dataclasses.replace(one, settings={"pooling": "max"}), data, "float32").is_complete


def encoder_of(rows: Callable[[list[list[str]], int], Any]) -> Any:
    class Broken(Lengths):
        def encode(self, sentences: list[list[str]]) -> Any:
            vectors = super().encode(sentences)
            return rows(vectors, len(self.batches))

    return Broken()


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        (lambda v, n: v[:-1] if n == 4 else v, "encode was given 4 sentences and returned 3 rows"),
        (lambda v, n: [[*row, 1] for row in v] if n == 4 else v, "vectors of dimension 3, but 2 before"),
        (lambda v, n: [*v[:-1], [1]] if n == 4 else v, "Its rows cannot be put together: "),
        (
            lambda v, n: [*v[:-1], [1, float("nan")]] if n == 4 else v,
            "the vector of its sentence 4 is not finite (it holds NaN or infinity)",
        ),
        (
            lambda v, n: np.array(v)[:, 0] if n == 4 else v,
            "encode must return an array (n, dim). Got ndarray of shape (4,)",
        ),
        (lambda v, n: None if n == 4 else v, "encode must return an array (n, dim) of numbers. Got NoneType"),
        (lambda v, n: [["a", "b"]] * 4 if n == 4 else v, "encode must return an array (n, dim) of numbers. Got list"),
        (
            lambda v, n: np.array(v, complex) if n == 4 else v,
            "an array (n, dim) of numbers. Got ndarray of shape (4, 2) and type complex128",
        ),
        (
            lambda v, n: np.array(v, object) if n == 4 else v,
            "an array (n, dim) of numbers. Got ndarray of shape (4, 2) and type object",
        ),
        (lambda v, n: {"a": v} if n == 4 else v, "of numbers. Got dict of shape () and type object"),
        (lambda v, n: torch.tensor(v).to_sparse() if n == 4 else v, "Its rows cannot be put together: "),
        (lambda v, n: np.full((4, 2), 1e39) if n == 4 else v, "a vector holds a number too large for float32"),
        (lambda v, n: np.zeros((4, 0)) if n == 4 else v, "encode returned vectors of dimension 0"),
        (lambda v, n: v[9] if n == 4 else v, "encode failed: IndexError: list index out of range"),
    ],
)
def test_a_wrong_return_names_the_encoder_and_the_batch(data: IndexedTask, rows: Any, text: str) -> None:
    with pytest.raises(ProbingError) as error:
        fill(data, encoder_of(rows))
    message = str(error.value)
    assert message.startswith("encoder 'mine.py:Mine', batch 3 of 6 of words: ")
    assert text in message


def test_a_number_too_large_for_half_precision(data: IndexedTask) -> None:
    with pytest.raises(ProbingError, match="batch 1 .*: a vector holds a number too large for float16"):
        fill(data, encoder_of(lambda v, n: [[1e6, 0]] * len(v)), dtype="float16")


def test_tensors_of_any_kind_are_taken(data: IndexedTask) -> None:
    def tensors(rows: Any, number: int) -> Any:
        tensor = torch.tensor(rows, dtype=torch.bfloat16, requires_grad=True)
        return tensor if number % 2 else list(tensor)

    assert fill(data, encoder_of(tensors)).open(None)["tr"].tolist()[-1] == [6, 8]


def test_an_encoder_is_prepared_with_all_sentences(data: IndexedTask) -> None:
    class Prepared(Lengths):
        def prepare(self, sentences: list[list[str]]) -> None:
            self.all = sentences

    encoder = Prepared()
    fill(data, encoder)
    assert len(encoder.all) == 18
    assert encoder.all[0] == ["x", "yyy"]


def test_a_batcher_knows_its_task_by_sentevals_name(data: IndexedTask) -> None:
    seen = []

    def prepare(params: Any, samples: Any) -> None:
        seen.append(params.current_task)

    def batcher(params: Any, batch: list[list[str]]) -> Any:
        seen.append(params.current_task)
        return [[len(tokens)] for tokens in batch]

    encoder = BatcherEncoder(batcher, prepare, {})
    embed(VectorEntry.build(RECIPE, data, "float32"), RECIPE, encoder, get_task("SeLen"), data)
    assert {*seen} == {"Length"}
    embed(
        VectorEntry.build(RECIPE, data, "float16"), RECIPE, BatcherEncoder(batcher, None, {}), get_task("Tense"), data
    )
    assert seen[-1] == "Tense"


def test_an_encoder_that_cannot_be_prepared_is_named(data: IndexedTask) -> None:
    class Unprepared(Lengths):
        def prepare(self, sentences: list[list[str]]) -> None:
            raise KeyError("vocabulary")

    with pytest.raises(ProbingError, match=r"^encoder 'mine.py:Mine', words: prepare failed: KeyError: 'vocabulary'$"):
        fill(data, Unprepared())


def test_rows_of_a_file_follow_its_lines(data: IndexedTask, tmp_path: Path) -> None:
    np.save(tmp_path / "lines.npy", np.arange(36.0).reshape(18, 2))
    opened = fill(data, PrecomputedVectors(tmp_path / "lines.npy")).open(None)
    assert opened["te"][:, 0].tolist() == [0, 6, 12, 18, 24, 30]
    assert opened["tr"][:, 0].tolist() == [2, 8, 14, 20, 26, 32]
    np.save(tmp_path / "short.npy", np.zeros((17, 2)))
    with pytest.raises(ProbingError, match=r"words.txt has 18 lines, but there are vectors for 17"):
        fill(data, PrecomputedVectors(tmp_path / "short.npy"), dataclasses.replace(RECIPE, version="short"))


def test_a_row_that_is_not_finite_is_named_by_its_line(data: IndexedTask, tmp_path: Path) -> None:
    rows = np.zeros((18, 2))
    rows[4, 1] = np.inf
    np.save(tmp_path / "lines.npy", rows)
    with pytest.raises(ProbingError, match=r"encoder 'mine.py:Mine': the vector of .*words.txt:5 is not finite"):
        fill(data, PrecomputedVectors(tmp_path / "lines.npy"))


def test_list_and_clear(data: IndexedTask) -> None:
    fill(data, Lengths())
    fill(data, Lengths(), dataclasses.replace(RECIPE, name="other"))
    (first, _) = list_cached()
    assert (first.task, first.sentences, first.dim, first.layers, first.dtype) == ("words", 18, 2, 1, "float32")
    assert first.is_complete
    assert first.size > 18 * 2 * 4
    with pytest.raises(ProbingError, match="no cached vectors of encoder 'none'. Cached: mine.py:Mine, other"):
        clear_cached("none")
    assert clear_cached("other")[0] == 1
    assert [row[0] for row in cached_vectors.describe_cached()] == ["mine.py:Mine"]
    assert clear_cached()[0] == 1
    assert list_cached() == []


def test_what_is_being_embedded_is_not_deleted(data: IndexedTask) -> None:
    class Clearing(Lengths):
        def encode(self, sentences: list[list[str]]) -> Any:
            with pytest.raises(ProbingError, match="words mine.py:Mine is being embedded by another process. Wait for"):
                clear_cached()
            return super().encode(sentences)

    assert fill(data, Clearing()).open(None)["te"].tolist()[0] == [1, 3]


def test_what_is_left_of_a_deleted_entry_is_replaced(data: IndexedTask) -> None:
    entry = fill(data, Lengths())
    (entry.folder / "about.json").unlink()
    assert not entry.is_complete
    assert fill(data, Lengths()).open(None)["te"].tolist()[0] == [1, 3]


SLOW_ENCODER = """
import sys
from pathlib import Path
from probing.encoders import blocks
from probing.encoders.embedding import embed
from probing.encoders.vector_cache import VectorEntry
from probing.encoders.encoder import Recipe
from probing.tasks import load_task, own_task
import logging
logging.basicConfig(level=logging.INFO)
blocks.BLOCK = 1

class Slow:
    def encode(self, sentences):
        print("encode", flush=True)
        sys.stdin.read()  # until the other process waits
        return [[len(tokens[0]), len(tokens[-1])] for tokens in sentences]

data = load_task(Path(sys.argv[1]))
recipe = Recipe(name="slow", label="Slow", version="1", load=lambda device: None)
entry = VectorEntry.build(recipe, data, "float32")
embed(entry, recipe, Slow(), own_task(data.path), data)
print(entry.open(None)["te"].tolist())
"""


def test_two_processes_do_not_embed_the_same_twice(data: IndexedTask) -> None:
    command = [sys.executable, "-c", SLOW_ENCODER, str(data.path)]
    pipe = subprocess.PIPE
    first = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
    with first:
        assert first.stdout is not None
        assert first.stdout.readline() == "encode\n"
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as second:
            assert second.stderr is not None
            assert "another process is embedding the same sentences; waiting for it" in second.stderr.readline()
            outputs = first.communicate()[0], second.communicate()[0]
    expected = f"{[[float(n), float(n + 2)] for n in range(1, 7)]}\n"
    assert outputs == ("encode\n" * 18 + expected, expected)
    assert [path.name for path in list_cached()[0].folder.parent.iterdir()] == [list_cached()[0].folder.name]


LITTLE_MEMORY = """
import resource, sys
from pathlib import Path
import numpy as np
from probing.encoders import blocks
from probing.encoders.embedding import embed
from probing.encoders.vector_cache import VectorEntry
from probing.encoders.encoder import Recipe
from probing.tasks import load_task, own_task

DIM = 1 << 20
blocks.BLOCK = 1

class Wide:
    def encode(self, sentences):
        return np.full((1, DIM), len(sentences[0][0]), np.float32)

data = load_task(Path(sys.argv[1]))
recipe = Recipe(name="wide", label="Wide", version="1", load=lambda device: None)
entry = VectorEntry.build(recipe, data, "float32")
used = 1024 * int(next(line for line in open("/proc/self/status") if line.startswith("VmSize")).split()[1])
resource.setrlimit(resource.RLIMIT_AS, (used + 32 * DIM, resource.RLIM_INFINITY))
embed(entry, recipe, Wide(), own_task(data.path), data)
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(entry.open(None)["te"][:, 0].tolist(), (entry.folder / "vectors.safetensors").stat().st_size // DIM)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_vectors_may_be_larger_than_memory(data: IndexedTask) -> None:
    """72 MiB of vectors are written in an address space with room for 32 MiB."""
    command = [sys.executable, "-c", LITTLE_MEMORY, str(data.path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[1.0, 2.0, 3.0, 4.0, 5.0, 6.0] 72\n", "")


def test_vectors_that_were_deleted_are_named(data: IndexedTask) -> None:
    entry = fill(data, Lengths())
    (entry.folder / "vectors.safetensors").write_bytes(b"half")
    with pytest.raises(
        ProbingError, match=r"the cached vectors cannot be read .*`probe cache clear` and start the run"
    ):
        entry.open(None)


def test_about_says_what_the_vectors_are(data: IndexedTask) -> None:
    about = json.loads((fill(data, Lengths()).folder / "about.json").read_text(encoding="utf-8"))
    assert about["encoder"] == "mine.py:Mine"
    assert about["data"] == data.sha256


def test_a_cache_that_cannot_be_written_is_one_line(
    data: IndexedTask, cache_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cache_home / "file").write_text("not a folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_home / "file"))
    with pytest.raises(ProbingError) as error:
        fill(data, Lengths())
    assert str(error.value) == (
        f"{cache_home}/file/probing/vectors: vectors cannot be written (Not a directory). "
        "Make room or set XDG_CACHE_HOME to another folder, then start the same command again"
    )


@pytest.mark.parametrize("step", ["FileLock.acquire", "Path.mkdir", "Path.rename", "write_atomically"])
def test_a_cache_that_is_read_only_is_one_line(data: IndexedTask, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    def deny(*arguments: Any, **options: Any) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(f"probing.encoders.embedding.{step}", deny)
        with pytest.raises(
            ProbingError, match=r": vectors cannot be written \(Permission denied\). Make room or set XDG"
        ):
            fill(data, Lengths())
    fill(data, Lengths())


def test_a_cache_that_cannot_be_looked_into_has_nothing(data: IndexedTask, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = fill(data, Lengths())

    def deny(*arguments: Any, **options: Any) -> None:
        raise PermissionError(13, "Permission denied")

    for name in ("os.stat", "pathlib.Path.stat"):
        monkeypatch.setattr(name, deny)
    complete = entry.is_complete
    monkeypatch.undo()
    assert not complete


@pytest.mark.parametrize("level", ["all", "entry", "partial"])
def test_no_vectors_are_written_behind_a_link(data: IndexedTask, tmp_path: Path, level: str) -> None:
    entry, elsewhere = VectorEntry.build(RECIPE, data, "float32"), tmp_path / "elsewhere"
    elsewhere.mkdir()
    link = {"all": entry.folder.parent, "entry": entry.folder, "partial": entry.partial}[level]
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(elsewhere)
    with pytest.raises(ProbingError, match="a link or a file in place of a folder. Remove it"):
        embed(entry, RECIPE, Lengths(), TASK, data)
    assert list(elsewhere.iterdir()) == []
