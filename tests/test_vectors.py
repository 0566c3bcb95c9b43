"""Vectors are computed once, kept as safetensors, and an interrupted embedding goes on where it stopped."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from probing import vectors
from probing.dataset import IndexedTask, load_task
from probing.encoders.encoder import Recipe
from probing.encoders.precomputed import PrecomputedVectors
from probing.errors import ProbingError
from probing.tasks import own_task
from probing.vectors import Entry, clear_cached, embed, list_cached

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
    monkeypatch.setattr(vectors, "BATCH", 4)


@pytest.fixture
def data(task_file: Callable[..., Path]) -> IndexedTask:
    lines = [f"{split}\t{'AB'[n % 2]}\t{'x' * n} {'y' * (n + 2)}" for n in range(1, 7) for split in ("te", "tr", "va")]
    return load_task(task_file(lines, "words.txt"))


def fill(data: IndexedTask, encoder: Any, recipe: Recipe = RECIPE, dtype: str = "float32") -> Entry:
    entry = Entry.build(recipe, data, dtype)
    embed(entry, encoder, TASK, data)
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
    assert encoder.batches == [4, 4, 4, 4, 2]
    fill(data, encoder)
    assert len(encoder.batches) == 5


@pytest.mark.parametrize(
    "change",
    [{"name": "other"}, {"version": "2"}, {"settings": {"pooling": "max"}}, {"layers": (1,)}, {"weights_seed": 0}],
)
def test_what_can_change_the_vectors_is_another_entry(data: IndexedTask, change: dict[str, Any]) -> None:
    entry = Entry.build(RECIPE, data, "float32")
    assert Entry.build(dataclasses.replace(RECIPE, **change), data, "float32").folder != entry.folder
    assert Entry.build(RECIPE, data, "float16").folder != entry.folder
    assert Entry.build(RECIPE, dataclasses.replace(data, sha256="0"), "float32").folder != entry.folder
    assert Entry.build(dataclasses.replace(RECIPE, label="other"), data, "float32").folder == entry.folder


class Interrupted(Lengths):
    def encode(self, sentences: list[list[str]]) -> Any:
        if len(self.batches) == 2:
            raise KeyboardInterrupt
        return super().encode(sentences)


def test_an_interrupted_embedding_goes_on_where_it_stopped(data: IndexedTask) -> None:
    with pytest.raises(KeyboardInterrupt):
        fill(data, Interrupted())
    assert [(item.complete, item.encoder) for item in list_cached()] == [(False, "?")]
    encoder = Lengths()
    resumed = fill(data, encoder)
    assert encoder.batches == [4, 4, 2]
    assert resumed.open(None)["te"].tolist() == [[n, n + 2] for n in range(1, 7)]


@pytest.mark.parametrize("damage", ["", "{", '{"rows": 8}', "[]", '{"rows": "x", "dim": 2}'])
def test_a_damaged_note_of_progress_starts_anew(data: IndexedTask, damage: str) -> None:
    with pytest.raises(KeyboardInterrupt):
        fill(data, Interrupted())
    (Entry.build(RECIPE, data, "float32").partial / "progress.json").write_text(damage, encoding="utf-8")
    encoder = Lengths()
    fill(data, encoder)
    assert len(encoder.batches) == 5


def test_half_precision(data: IndexedTask) -> None:
    opened = fill(data, Lengths(), dtype="float16").open(None)
    assert opened["tr"].dtype == torch.float16
    assert opened["tr"].tolist()[0] == [1, 3]
    with pytest.raises(ProbingError, match="unknown dtype 'int8'. Known: float32, float16"):
        Entry.build(RECIPE, data, "int8")


def test_layers_are_embedded_once_and_read_one_by_one(data: IndexedTask) -> None:
    class Layers(Lengths):
        def encode(self, sentences: list[list[str]]) -> Any:
            rows = np.array(super().encode(sentences))
            return np.stack([rows, 10 * rows], 1)

    encoder = Layers()
    entry = fill(data, encoder, dataclasses.replace(RECIPE, layers=(0, 3)))
    assert len(encoder.batches) == 5
    assert entry.open(0)["va"].tolist()[1] == [2, 4]
    assert entry.open(3)["va"].tolist()[1] == [20, 40]


def encoder_of(rows: Callable[[list[list[str]], int], Any]) -> Any:
    class Broken(Lengths):
        def encode(self, sentences: list[list[str]]) -> Any:
            vectors = super().encode(sentences)
            return rows(vectors, len(self.batches))

    return Broken()


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        (lambda v, n: v[:-1] if n == 2 else v, "encode was given 4 sentences and returned 3 rows"),
        (lambda v, n: [[*row, 1] for row in v] if n == 2 else v, "vectors of dimension 3, but 2 before"),
        (lambda v, n: [*v[:-1], [1]] if n == 2 else v, "Its rows cannot be put together: "),
        (
            lambda v, n: [*v[:-1], [1, float("nan")]] if n == 2 else v,
            "the vector of its sentence 4 is not finite (it holds NaN or infinity)",
        ),
        (
            lambda v, n: np.array(v)[:, 0] if n == 2 else v,
            "encode must return an array (n, dim). Got ndarray of shape (4,)",
        ),
        (lambda v, n: None if n == 2 else v, "encode must return an array (n, dim) of numbers. Got NoneType"),
        (lambda v, n: [["a", "b"]] * 4 if n == 2 else v, "encode must return an array (n, dim) of numbers. Got list"),
        (lambda v, n: np.zeros((4, 0)) if n == 2 else v, "encode returned vectors of dimension 0"),
        (lambda v, n: v[9] if n == 2 else v, "encode failed: IndexError: list index out of range"),
    ],
)
def test_a_wrong_return_names_the_encoder_and_the_batch(data: IndexedTask, rows: Any, text: str) -> None:
    with pytest.raises(ProbingError) as error:
        fill(data, encoder_of(rows))
    message = str(error.value)
    assert message.startswith("encoder 'mine.py:Mine', batch 2")
    assert "(sentences 5 to 8)" in message
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


def test_rows_of_a_file_follow_its_lines(data: IndexedTask, tmp_path: Path) -> None:
    np.save(tmp_path / "lines.npy", np.arange(36.0).reshape(18, 2))
    opened = fill(data, PrecomputedVectors(tmp_path / "lines.npy")).open(None)
    assert opened["te"][:, 0].tolist() == [0, 6, 12, 18, 24, 30]
    assert opened["tr"][:, 0].tolist() == [2, 8, 14, 20, 26, 32]
    np.save(tmp_path / "short.npy", np.zeros((17, 2)))
    with pytest.raises(ProbingError, match=r"words.txt has 18 lines, but there are vectors for 17"):
        fill(data, PrecomputedVectors(tmp_path / "short.npy"), dataclasses.replace(RECIPE, version="short"))


def test_list_and_clear(data: IndexedTask) -> None:
    fill(data, Lengths())
    fill(data, Lengths(), dataclasses.replace(RECIPE, name="other"))
    (first, _) = list_cached()
    assert (first.task, first.rows, first.dim, first.layers, first.dtype) == ("words", 18, 2, 1, "float32")
    assert first.size > 18 * 2 * 4
    with pytest.raises(ProbingError, match="no cached vectors of encoder 'none'. Cached: mine.py:Mine, other"):
        clear_cached("none")
    assert clear_cached("other")[0] == 1
    assert [row[0] for row in vectors.describe_cached()] == ["mine.py:Mine"]
    assert clear_cached()[0] == 1
    assert list_cached() == []


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
