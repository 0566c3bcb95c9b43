"""The data of a run: SentEval's files, the embedded data, a folder, or a user's own files."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from probing.corpus.source import choose_source, own_files, read_datasheet_identity
from probing.errors import ProbingError
from probing.tasks.table import COUNTERPARTS, TASKS, get_task

TEN = [task.name for task in TASKS]


def error_of(function, *args, **options):
    with pytest.raises(ProbingError) as caught:
        function(*args, **options)
    return str(caught.value)


def names(source):
    return [task.name for task in source.files]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    """Make an empty folder the current one, below which SentEval's files are searched."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


@pytest.fixture
def mini(tmp_path, monkeypatch):
    """Replace the embedded data by a folder."""
    folder = tmp_path / "cache" / "embedded"
    module = ModuleType("probing.corpus.mini")
    module.ensure_embedded = lambda name: folder
    monkeypatch.setitem(sys.modules, "probing.corpus.mini", module)
    folder.mkdir(parents=True)
    (folder / "datasheet.json").write_text('{"identity": "abc123"}')
    return folder


@pytest.fixture
def fill():
    def write(folder, *tasks):
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for name in tasks:
            (folder / f"{get_task(name).file}.txt").write_text("tr\tA\ta\nva\tA\ta\nte\tA\ta\n")
        return folder

    return write


def test_without_files_it_is_mini_and_the_reason_is_stated(mini):
    source = choose_source(["all"])
    assert (source.name, source.preset, source.datasheet) == ("mini", "mini", "abc123")
    assert source.reason == "no SentEval files in data/senteval; `probe data fetch` gets them"
    assert names(source) == TEN
    assert source.files[get_task("Tense")] == mini / "past_present.txt"


def test_with_files_it_is_senteval_and_the_reason_is_stated(fill):
    fill("data/senteval", *TEN)
    source = choose_source(["all"])
    assert (source.name, source.preset, source.datasheet) == ("senteval", "paper", None)
    assert source.reason == "its files are in data/senteval"
    assert names(source) == TEN
    assert source.files[get_task("Tense")] == Path("data/senteval/past_present.txt")


def test_some_of_sentevals_files_are_no_reason_to_take_others(fill, mini):
    fill("data/senteval", "Tense")
    assert names(choose_source(["Tense"])) == ["Tense"]
    assert error_of(choose_source, ["Tense", "WC"]) == (
        "SentEval's files are not all there: missing data/senteval/word_content.txt. "
        "Run `probe data fetch`, name the tasks that are there with --task, or use --data mini"
    )


def test_what_is_asked_for_is_taken(fill, mini, tmp_path):
    fill("data/senteval", *TEN)
    source = choose_source(["Tense"], data="mini")
    assert (source.name, source.reason, names(source)) == ("mini", "asked for", ["Tense"])
    source = choose_source(["Tense"], data="senteval")
    assert (source.name, source.reason) == ("senteval", "asked for")
    elsewhere = fill(tmp_path / "elsewhere", "Tense")
    for data in (None, "senteval"):
        source = choose_source(["Tense"], data=data, data_dir=elsewhere)
        assert (source.name, source.preset) == ("senteval", "paper")
        assert source.files == {get_task("Tense"): elsewhere / "past_present.txt"}


def test_senteval_is_never_swapped_for_mini_when_it_was_asked_for(mini, tmp_path):
    text = f"SentEval's files are not all there: missing {tmp_path}/past_present.txt. Run `probe data fetch`"
    assert error_of(choose_source, ["Tense"], data_dir=tmp_path).startswith(text)
    assert "missing data/senteval/past_present.txt" in error_of(choose_source, ["Tense"], data="senteval")


def test_a_place_for_sentevals_files_does_not_go_with_other_data(tmp_path):
    text = "--data-dir says where SentEval's files are; it does not go with --data mini"
    assert error_of(choose_source, ["all"], data="mini", data_dir=tmp_path) == text


def test_an_unknown_task_is_reported_before_anything_else():
    assert error_of(choose_source, ["tens"], data="nowhere").startswith("unknown task 'tens'. Did you mean 'Tense'?")


def test_mini_has_no_tasks_of_dependency_treebanks(mini):
    text = "data set mini has no task DepDepth, RootDep: that needs a dependency treebank"
    assert error_of(choose_source, ["DepDepth,RootDep,WC"], data="mini") == text


def test_midi_is_another_embedded_set(mini):
    source = choose_source(["Tense"], data="midi")
    assert (source.name, source.preset, source.reason, source.datasheet) == ("midi", "mini", "asked for", "abc123")
    assert source.files == {get_task("Tense"): mini / "past_present.txt"}
    text = "data set midi has no task DepDepth: that needs a dependency treebank"
    assert error_of(choose_source, ["DepDepth"], data="midi") == text


def test_a_folder_is_called_by_its_name(fill, tmp_path, monkeypatch):
    folder = fill(tmp_path / "books", *TEN)
    source = choose_source(["WC"], data=str(folder))
    assert (source.name, source.preset, source.reason, source.datasheet) == ("books", "small", "asked for", None)
    assert names(source) == ["WC"]
    monkeypatch.chdir(folder)
    assert choose_source(["WC"], data=".").name == "books"


@pytest.mark.parametrize("all_tasks", ["all", " ALL ", "Tense,all"])
def test_all_tasks_of_a_folder_are_those_that_it_has(fill, tmp_path, all_tasks):
    folder = fill(tmp_path / "books", "Tense", "WC", "DepDepth")
    source = choose_source([all_tasks], data=str(folder))
    assert names(source) == ["WC", "Tense", "DepDepth"]
    missing = [name for name in TEN if name not in ("Tense", "WC")]
    assert source.reason == f"asked for; it has no {', '.join(missing)}"


def test_a_task_named_that_the_folder_lacks(fill, tmp_path):
    folder = fill(tmp_path / "books", "Tense")
    text = f"--data {folder}: no file word_content.txt, dependency_depth.txt"
    assert error_of(choose_source, ["Tense", "WC", "DepDepth"], data=str(folder)) == text


def test_a_folder_without_task_files(tmp_path):
    files = ", ".join(f"{task.file}.txt" for task in TASKS)
    text = f"--data {tmp_path}: no task file there. Expected some of {files}"
    assert error_of(choose_source, ["all"], data=str(tmp_path)) == text


def test_no_such_folder(task_file):
    for data in ("minni", str(task_file())):
        text = f"--data {data}: there is no such data set or folder. Known: senteval, mini, midi, or a folder"
        assert error_of(choose_source, ["all"], data=data) == text


@pytest.mark.parametrize("name", ["mini", "midi", "senteval", "own", "Mini"])
def test_a_folder_does_not_pass_for_a_data_set_of_that_name(fill, tmp_path, name):
    folder = fill(tmp_path / name, "Tense")
    assert choose_source(["Tense"], data=str(folder)).name == f"folder {name}"


def test_a_folders_datasheet_is_its_identity(fill, tmp_path):
    folder = fill(tmp_path / "books", "Tense")
    (folder / "datasheet.json").write_text(json.dumps({"identity": "f00d", "other": 1}))
    assert choose_source(["Tense"], data=str(folder)).datasheet == "f00d"


@pytest.mark.parametrize("content", [b"", b"[]", b"3", b"{}", b'{"identity": null}', b"\xff", b"[" * 100_000])
def test_a_datasheet_that_is_none(tmp_path, content):
    path = tmp_path / "datasheet.json"
    path.write_bytes(content)
    text = f"{path}: not a datasheet of `probe data build`. Remove it or build again"
    assert error_of(read_datasheet_identity, tmp_path) == text


def test_a_users_own_files(tmp_path):
    paths = [tmp_path / "my_task.tsv", tmp_path / "past_present.txt", tmp_path / "dependency_depth.txt"]
    source = own_files(paths)
    assert (source.name, source.preset, source.datasheet) == ("own", "small", None)
    assert source.reason == f"task files {', '.join(map(str, paths))}"
    assert [(task.name, task.family) for task in source.files] == [
        ("my_task", "own"),
        ("Tense", "semantic"),
        ("DepDepth", "syntactic"),
    ]
    assert list(source.files.values()) == paths
    assert get_task("DepDepth") in COUNTERPARTS


def test_two_files_for_one_task(tmp_path):
    for first, second, name in (("a/x.txt", "b/x.tsv", "x"), ("tense.txt", "past_present.txt", "Tense")):
        text = f"--task-file {tmp_path / second}: there is another file for task {name!r}. Rename one of them"
        assert error_of(own_files, [tmp_path / first, tmp_path / second]) == text
