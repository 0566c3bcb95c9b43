"""Results folders become one; contradictions and damage are named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from probing.errors import ProbingError
from probing.results.merging import Merged, merge
from probing.results.record import Record
from probing.results.store import Store, translator_folder
from tests.translations import BASE, Run, fail, make_translation, save


def seeds(folder: Path) -> list[int]:
    return [result.identity.seed for result in Store(folder).load(pytest.fail)]


@pytest.fixture
def fill(tmp_path: Path, make_record: Callable[..., Record]) -> Callable[..., Path]:
    def write(name: str, *results: int | Record) -> Path:
        for result in results:
            Store(tmp_path / name).save(make_record(seed=result) if isinstance(result, int) else result)
        return tmp_path / name

    return write


def test_all_records_come_together(fill: Callable[..., Path], tmp_path: Path) -> None:
    first, second = fill("first", 0, 1), fill("second", 1, 2)
    before = {path: path.read_bytes() for path in [*first.iterdir(), *second.iterdir()]}
    assert merge([first, second], tmp_path / "all") == Merged(written=3, there=0, damaged=0)
    assert seeds(tmp_path / "all") == [0, 1, 2]
    assert {path.read_bytes() for path in (tmp_path / "all").iterdir()} == set(before.values())
    assert merge([first, second], tmp_path / "all") == Merged(written=0, there=3, damaged=0)
    assert {path: path.read_bytes() for path in before} == before


def test_a_folder_can_take_up_another(fill: Callable[..., Path]) -> None:
    first, second = fill("first", 0), fill("second", 1)
    assert merge([second], first) == Merged(written=1, there=1, damaged=0)
    assert merge([first / ".." / "second", first], first) == Merged(written=0, there=2, damaged=0)


def test_a_contradiction_is_refused_and_nothing_written(
    fill: Callable[..., Path], make_record: Callable[..., Record], tmp_path: Path
) -> None:
    first, second = fill("first", 0, 1), fill("second", make_record(seed=1, accuracy=79.0), 2)
    with pytest.raises(ProbingError) as caught:
        merge([first, second], tmp_path / "all")
    (one, two) = (make_record(seed=1).path(folder) for folder in (first, second))
    assert str(caught.value) == (
        f"{one} and {two} are of the same cell and contradict each other (test accuracy 80.00 and 79.00). "
        "Nothing was written. Find out which is right, and remove the other"
    )
    assert not (tmp_path / "all").exists()
    with pytest.raises(ProbingError, match="contradict each other"):
        merge([second], first)
    assert seeds(first) == [0, 1]


def test_times_and_places_are_no_contradiction(
    fill: Callable[..., Path], make_record: Callable[..., Record], tmp_path: Path
) -> None:
    usual = make_record(seed=0)
    slower = structs.replace(usual, timing=structs.replace(usual.timing, seconds=99.0), where={"device": "x"})
    assert merge([fill("first", usual), fill("second", slower)], tmp_path / "all").written == 1
    assert Store(tmp_path / "all").load(pytest.fail) == [usual]


@pytest.mark.parametrize("order", [1, -1])
def test_a_success_is_preferred_to_a_failure(
    fill: Callable[..., Path], make_record: Callable[..., Record], tmp_path: Path, order: int
) -> None:
    folders = [fill("good", make_record(seed=0)), fill("failed", make_record(seed=0, accuracy=None))]
    assert merge(folders[::order], tmp_path / "all").written == 1
    (result,) = Store(tmp_path / "all").load(pytest.fail)
    assert result.status == "finished"
    assert merge([folders[0]], folders[1]).written == 1
    assert Store(folders[1]).load(pytest.fail) == [result]


def test_damaged_files_are_named_and_left_out(fill: Callable[..., Path], tmp_path: Path) -> None:
    first = fill("first", 0, 1)
    (path, _) = sorted(first.iterdir())
    path.write_text("{", encoding="utf-8")
    named: list[str] = []
    assert merge([first], tmp_path / "all", on_damaged=named.append) == Merged(written=1, there=0, damaged=1)
    assert seeds(tmp_path / "all") == [1]
    assert named == [f"{path}: not a whole JSON file. Delete it and run the cell again"]


def test_a_folder_without_records_is_a_mistake(fill: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name, what in (("typo", "there is no such folder"), ("empty", "there are no records")):
        with pytest.raises(ProbingError, match=f"{name}: {what}. Name folders that `probe run --results` wrote"):
            merge([fill("first", 0), tmp_path / name], tmp_path / "all")
    assert not (tmp_path / "all").exists()


@settings(deadline=None, max_examples=25)
@given(st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=6), min_size=1, max_size=4))
def test_merging_is_the_union_in_any_order(
    make_record: Callable[..., Record], tmp_path_factory: pytest.TempPathFactory, folders: list[list[int]]
) -> None:
    folder = tmp_path_factory.mktemp("merging")
    for number, numbers in enumerate(folders):
        for seed in numbers:
            Store(folder / str(number)).save(make_record(seed=seed))
    paths = [folder / str(number) for number in range(len(folders))]
    merge(paths, folder / "forth")
    merge(paths[::-1], folder / "back")
    assert seeds(folder / "forth") == seeds(folder / "back") == sorted({seed for part in folders for seed in part})


def test_a_translation_brings_its_folder(tmp_path: Path) -> None:
    run = Run("em", ("enc-self",))
    source = save(tmp_path / "source", [run, BASE])
    (translator_folder(make_translation(run).path(source)) / "link").symlink_to("/etc/hostname")
    target = tmp_path / "all"
    assert merge([source], target) == Merged(written=2, there=0, damaged=0)
    for one in (run, BASE):
        own, copied = (translator_folder(make_translation(one).path(folder)) for folder in (source, target))
        files = {file.name: file.read_bytes() for file in own.iterdir() if not file.is_symlink()}
        assert len(files) == 3
        assert {file.name: file.read_bytes() for file in copied.iterdir()} == files
    assert not list(target.glob(".*"))


def test_a_folder_that_is_there_stays_and_one_that_is_missing_comes(tmp_path: Path) -> None:
    source, target = save(tmp_path / "source", [BASE]), save(tmp_path / "all", [BASE], texts=False)
    copied = translator_folder(make_translation(BASE).path(target))
    assert merge([source], target) == Merged(written=0, there=1, damaged=0)
    assert len(list(copied.iterdir())) == 3
    for file in copied.iterdir():
        file.write_text("mine", encoding="utf-8")
    merge([source], target)
    assert {file.read_text(encoding="utf-8") for file in copied.iterdir()} == {"mine"}


def test_translations_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    first = save(tmp_path / "first", [BASE])
    record = make_translation(BASE)
    assert record.translation is not None
    test = structs.replace(record.translation.test, bleu=12.0)
    changed = structs.replace(record.translation, tests={"newstest2014": test})
    Store(tmp_path / "second").save(structs.replace(record, outcome=changed))
    with pytest.raises(ProbingError, match=r"contradict each other \(test BLEU 58.81 and 12.00\). Nothing was written"):
        merge([first, tmp_path / "second"], tmp_path / "all")
    assert not (tmp_path / "all").exists()


def test_a_finished_translation_replaces_a_failed_one(tmp_path: Path) -> None:
    Store(tmp_path / "first").save(fail(BASE))
    assert merge([tmp_path / "first", save(tmp_path / "second", [BASE])], tmp_path / "all").written == 1
    (record,) = Store(tmp_path / "all").load(pytest.fail)
    assert record.translation is not None
