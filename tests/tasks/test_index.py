"""A task file's words and labels are numbered, and the numbers are kept in the cache."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given

from probing.errors import ProbingError
from probing.storage.cache import cache_folder
from probing.tasks import index as dataset
from probing.tasks import task_file as task_files
from probing.tasks.batches import UNKNOWN
from probing.tasks.index import index_file, load_task
from probing.tasks.task_file import SPLITS, read_task_file
from tests.tasks.instances import GOOD, QUICK, instances, write


def same(left, right):
    """Compare two indexed tasks, whose arrays have no truth value."""
    assert (left.sha256, left.blob, left.labels, left.words) == (right.sha256, right.blob, right.labels, right.words)
    assert np.array_equal(left.frequencies, right.frequencies)
    for name in SPLITS:
        for part in ("tokens", "offsets", "labels"):
            one, other = getattr(left.splits[name], part), getattr(right.splits[name], part)
            assert one.dtype == other.dtype == (np.int32 if part == "tokens" else np.int64)
            assert np.array_equal(one, other)
    return True


def test_while_a_file_is_read_its_share_is_told(task_file, monkeypatch):
    monkeypatch.setattr(task_files, "LINES_BETWEEN_SHARES", 2)
    path, shares = task_file(), list[float]()
    load_task(path, shares.append)
    assert len(shares) == len(path.read_text(encoding="utf-8").splitlines()) // 2
    assert shares == sorted(shares)
    assert 0 < shares[0] <= shares[-1] <= 1
    load_task(path, shares.append)
    assert len(shares) == len(path.read_text(encoding="utf-8").splitlines()) // 2, "the index is in the cache"


@given(instances())
@QUICK
def test_numbers_stand_for_what_was_written(tmp_path, rows):
    path = write(tmp_path / "task.txt", rows)
    task, data = index_file(path), read_task_file(path)
    for name in SPLITS:
        packed = task.splits[name]
        numbers = np.split(packed.tokens, packed.offsets[1:-1])
        assert [[task.words[i - 1] for i in sentence] for sentence in numbers] == data.splits[name].sentences
        assert [task.labels[i] for i in packed.labels] == data.splits[name].labels
    if len(task.labels) > 1:
        same(load_task(path), task)
        same(load_task(path), task)


def test_nul_bytes_come_back_from_the_cache(task_file):
    path = task_file(["tr\tA\0\ta\0b c", "tr\tB\tb", "va\tA\0\tc", "te\tA\0\t\0"])
    same(load_task(path), load_task(path))


def test_a_task_of_one_label_is_an_error(task_file):
    path = task_file(["tr\tA\ta b", "va\tA\tc", "te\tA\td"])
    for _ in range(2):  # read, and from the cache
        with pytest.raises(ProbingError) as caught:
            load_task(path)
        assert str(caught.value) == f"{path}: all lines have the label 'A'. A task needs two labels or more"


@pytest.fixture
def indexed(task_file):
    lines = ["tr\tB\td a b a", "tr\tB\ta b", "tr\tA\tc", "va\tA\tz a", "te\tB\ty z d", "te\tA\ta"]
    return index_file(task_file(lines))


def test_words_are_numbered_by_falling_frequency_then_by_alphabet(indexed):
    assert indexed.words == ("a", "b", "c", "d", "y", "z")
    assert indexed.frequencies.tolist() == [3, 2, 1, 1]
    assert indexed.splits["tr"].tokens.tolist() == [4, 1, 2, 1, 1, 2, 3]
    assert indexed.splits["tr"].offsets.tolist() == [0, 4, 6, 7]
    assert indexed.splits["te"].tokens.tolist() == [5, 6, 4, 1]


def test_labels_are_numbered_by_alphabet(indexed):
    assert indexed.labels == ("A", "B")
    assert indexed.splits["tr"].labels.tolist() == [1, 1, 0]


@pytest.mark.parametrize(
    ("min_frequency", "max_vocabulary", "size"),
    [(1, 50_000, 5), (2, 50_000, 3), (3, 50_000, 2), (4, 50_000, 1), (1, 3, 4), (1, 1, 2), (2, 1, 2)],
)
def test_the_vocabulary_has_limits(indexed, min_frequency, max_vocabulary, size):
    assert indexed.vocabulary_size(min_frequency=min_frequency, max_vocabulary=max_vocabulary) == size
    for name in SPLITS:
        everything = np.arange(len(indexed.splits[name]))
        limited, whole = indexed.limit(name, size).batch(everything), indexed.splits[name].batch(everything)
        assert limited.tokens.max() < size
        kept = limited.tokens != UNKNOWN
        assert (limited.tokens[kept] == whole.tokens[kept]).all()
        assert (whole.tokens[~kept] >= size).all()
        assert limited.lengths.tolist() == whole.lengths.tolist()
        assert limited.labels.tolist() == whole.labels.tolist()


def test_words_outside_the_training_split_are_always_unknown(indexed):
    size = indexed.vocabulary_size(min_frequency=1, max_vocabulary=50_000)
    (test,), (dev,) = (list(indexed.limit(name, size).batches(2)) for name in ("te", "va"))
    assert test.tokens.tolist() == [0, 0, 4, 1]
    assert dev.tokens.tolist() == [0, 1]


def test_a_batch_can_be_written_to(task_file):
    """Arrays from the cache are read-only views of its files; torch wants memory of its own."""
    path = task_file()
    load_task(path)
    task = load_task(path)
    batch = next(task.limit("tr", 3).batches(2))
    assert all(getattr(batch, name).flags.writeable for name in batch.__slots__)


def test_a_second_load_takes_the_index_from_the_cache(task_file, monkeypatch):
    path = task_file()
    first = load_task(path)
    monkeypatch.setattr(dataset, "index_file", lambda path: pytest.fail("the file was read again"))
    assert same(load_task(path), first)


def test_the_same_content_elsewhere_is_the_same_index_with_its_own_path(task_file):
    load_task(task_file())
    other = task_file(name="elsewhere/other.txt")
    assert load_task(other).path == other
    assert len(list(cache_folder("tasks").iterdir())) == 1


def test_a_changed_file_has_another_index(task_file):
    first = load_task(task_file())
    second = load_task(task_file([*GOOD, "tr\tC\tnew"]))
    assert first.sha256 != second.sha256
    assert "new" in second.words


def test_a_file_that_changes_while_it_is_read_is_not_cached(task_file, monkeypatch):
    path = task_file()
    index = index_file

    def change_and_index(path, on_share):
        task_file(GOOD)
        return index(path)

    monkeypatch.setattr(dataset, "index_file", change_and_index)
    with pytest.raises(ProbingError) as caught:
        load_task(path)
    assert str(caught.value) == f"{path}: the file changed while it was read. Try again when it is complete"
    assert not cache_folder("tasks").exists()


def empty(path):
    path.write_bytes(b"")


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def shorten(path):
    """Leave a sound file with too little in it."""
    if path.suffix != ".json":
        path.write_bytes(path.read_bytes()[:-8])
    else:
        content = json.loads(path.read_text())
        path.write_text(json.dumps(dict(list(content.items())[:1])))


def replace(path):
    if path.suffix != ".json":
        np.ones((2, 2)).tofile(path)
    else:
        path.write_text("[]")


def make_negative(path):
    if path.suffix != ".json":
        (-np.fromfile(path, np.int32 if "tokens" in path.name else np.int64) - 1).tofile(path)
    else:
        path.write_text("{}")


def remove(path):
    path.unlink()


def zero(path):
    path.write_bytes(bytes(path.stat().st_size))


@pytest.mark.parametrize("damage", [empty, cut, shorten, replace, make_negative, remove, zero])
def test_a_damaged_cache_is_made_again(task_file, damage):
    path = task_file()
    first = index_file(path)  # in memory of its own, unlike what comes from the cache that is damaged
    load_task(path)
    (folder,) = cache_folder("tasks").iterdir()
    files = sorted(folder.iterdir())
    assert len(files) == 12
    for file in files:
        damage(file)
        assert same(load_task(path), first), file.name
        assert same(load_task(path), first), file.name
        assert sorted(folder.iterdir()) == files


def test_a_cache_that_cannot_be_written_costs_nothing_else(task_file, cache_home, monkeypatch):
    path = task_file()
    first = load_task(path)
    blocked = cache_home / "a file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    assert same(load_task(path), first)
    assert blocked.read_text() == "not a folder"


def test_a_bad_file_is_not_cached(task_file):
    with pytest.raises(ProbingError):
        load_task(task_file(["tr\tA"]))
    assert not cache_folder("tasks").exists()
