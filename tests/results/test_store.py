"""Records are saved whole or not at all, under names that are safe, and loaded in a stable order."""

from __future__ import annotations

import json
import os
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from probing.errors import ProbingError
from probing.results.record import read_record
from probing.results.store import (
    Store,
    find_record,
    read_sentences,
    translation_path,
    translator_folder,
)

HOSTILE = ["../../x", "/etc/passwd", "..", ".", "", "a/b\\c", "a\0b", "a\nb", "*?[a]", "~", "-rf", "x" * 300, "語" * 99]


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "results")


@pytest.mark.parametrize("accuracy", [80.123456789012345, 0.0, 100.0, None])
def test_a_record_comes_back_as_it_was(store, make_record, accuracy):
    result = make_record(accuracy=accuracy)
    path = store.save(result)
    assert path == result.path(store.folder)
    assert read_record(path) == result
    assert store.load(pytest.fail) == [result]


@given(st.text(), st.text(), st.floats(0, 100), st.integers(0, 2**40))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_and_number_comes_back(tmp_path, make_record, change, label, error, accuracy, seed):
    store = Store(tmp_path)
    result = change(make_record(accuracy=accuracy, seed=seed), model__label=label, error=error)
    path = store.save(result)
    assert read_record(path) == result
    path.unlink()


def test_a_record_can_be_read_by_people_and_programs(store, make_record, change):
    path = store.save(change(make_record(), data__name="Bücher"))
    content = json.loads(path.read_text(encoding="utf-8"))
    assert "Bücher" in path.read_text(encoding="utf-8")
    assert list(content) == [
        *("task", "family", "seed", "preset", "data", "model", "settings"),
        *("status", "error", "scores", "timing", "where", "key", "measure", "format"),
    ]
    assert content["scores"]["test_accuracy"] == 80.0
    assert path.read_bytes().endswith(b"}\n")


def test_bytes_that_are_no_unicode_come_back_too(store, make_record, change):
    result = change(make_record(), data__name=os.fsdecode(b"caf\xe9"))
    assert read_record(store.save(result)) == result


def test_a_file_is_as_readable_as_the_umask_says(store, make_record):
    assert oct(store.save(make_record()).stat().st_mode & 0o777) == oct(0o666 & ~current_umask())


def current_umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_leaves_the_folder(store, make_record, change, name):
    result = change(make_record(), data__name=name, task=name, model__name=name, preset=name)
    path = store.save(result)
    assert path.resolve().parent == store.folder.resolve()
    assert re.fullmatch(r"[\w.+-]+", path.name)
    assert os.listdir(store.folder) == [path.name]
    assert store.load(pytest.fail) == [result]


def test_names_that_are_cut_stay_apart_by_their_keys(store, make_record, change):
    results = [change(make_record(), data__name="x" * 100 + end, key=end * 64) for end in "ab"]
    assert len({store.save(result) for result in results}) == 2


def test_a_second_save_replaces_the_first(store, make_record):
    store.save(make_record(accuracy=None))
    store.save(make_record(accuracy=70.0))
    assert [result.status for result in store.load(pytest.fail)] == ["finished"]


def test_a_record_that_is_not_a_number_is_refused(store, make_record):
    for number in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="not JSON compliant"):
            store.save(make_record(accuracy=number))
    assert store.load(pytest.fail) == []


def test_a_folder_that_is_not_there_has_no_records(store):
    assert store.load(pytest.fail) == []


def test_records_come_in_a_stable_order_and_other_files_are_left_alone(store, make_record):
    for seed in (2, 1):
        for model in ("em", "base"):
            store.save(make_record(seed=seed, model=model))
    (store.folder / "README.md").write_text("x")
    (store.folder / "notes.json").write_text("x")
    (store.folder / ".mini--Tense--em.json.ab12cd").write_text("half a record")
    loaded = [result.identity for result in store.load(pytest.fail)]
    assert [(found.model.name, found.seed) for found in loaded] == [("base", 1), ("base", 2), ("em", 1), ("em", 2)]


def test_a_damaged_record_is_named_and_left_alone(store, make_record):
    good, bad = store.save(make_record()), store.save(make_record(seed=1))
    bad.write_text(bad.read_text()[:100])
    said = []
    assert store.load(said.append) == [read_record(good)]
    assert said == [f"{bad}: not a whole JSON file. Delete it and run the cell again"]
    assert len(bad.read_text()) == 100


@pytest.mark.parametrize("step", ["fsync", "replace", "chmod"])
@pytest.mark.parametrize("problem", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_in_the_middle_leaves_the_old_record(store, make_record, monkeypatch, step, problem):
    path = store.save(make_record(accuracy=70.0))
    before = path.read_bytes()

    def fail(*args):
        raise problem

    monkeypatch.setattr(os, step, fail)
    expected = ProbingError if isinstance(problem, OSError) else KeyboardInterrupt
    with pytest.raises(expected) as caught:
        store.save(make_record(accuracy=80.0))
    if expected is ProbingError:
        assert str(caught.value) == f"{path}: the result cannot be written (No space left on device)"
    assert path.read_bytes() == before
    assert os.listdir(store.folder) == [path.name]


def test_a_folder_that_cannot_be_made(tmp_path, make_record):
    (tmp_path / "file").write_text("")
    store = Store(tmp_path / "file")
    with pytest.raises(ProbingError, match=r"\.json: the result cannot be written \("):
        store.save(make_record())


def test_a_record_is_found_by_its_path_and_key(store, make_record):
    result = make_record()
    path, said = store.save(result), []
    assert find_record(path, result.key, pytest.fail) == result
    assert find_record(path, "0" * 64, pytest.fail) is None
    path.write_text("{")
    assert find_record(path, result.key, said.append) is None
    assert said == [f"{path}: not a whole JSON file. Its cell counts as not run yet"]


def test_the_folder_of_a_translation_lies_beside_its_record(tmp_path):
    record = tmp_path / "a--b.c--1.json"
    assert translator_folder(record) == tmp_path / "a--b.c--1.translator"
    assert translation_path(record, "test", "source") == tmp_path / "a--b.c--1.translator" / "test.source.txt"
    assert translation_path(record, "../../x", "output").parent == translator_folder(record)


@pytest.mark.parametrize(
    ("content", "lines"), [(b"a\nb\n", ["a", "b"]), (b"a\r\xe2\x80\xa8b", ["a\r\u2028b"]), (b"\n", [""])]
)
def test_sentences_are_split_at_line_feeds_only(tmp_path, content, lines):
    path = translation_path(tmp_path / "a--b.json", "test", "output")
    path.parent.mkdir()
    path.write_bytes(content)
    assert read_sentences(tmp_path / "a--b.json", "test", "output") == lines
