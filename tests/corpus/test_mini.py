"""The embedded data set: made once, whole or not at all, and the same for everyone."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from click.testing import CliRunner

import cli
from probing.corpus import builders, grammar, mini
from probing.corpus.datasheet import Datasheet, TaskSheet
from probing.corpus.readers import ParsedSentence
from probing.errors import ProbingError
from probing.tasks.table import TASKS
from probing.tasks.task_file import read_task_file


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A separate cache, and a data set that is small enough for a test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(mini, "cache_folder", lambda name: tmp_path / "probing" / name)
    monkeypatch.setitem(mini.SETS, "mini", mini.EmbeddedSet(160, 40, 40, 2500))
    monkeypatch.setitem(mini.SETS, "midi", mini.EmbeddedSet(200, 40, 40, 3000))
    return tmp_path / "probing" / "mini"


def forbid(*_: object, **__: object) -> Iterator[ParsedSentence]:
    raise AssertionError("nothing should be generated")


def test_all_ten_tasks_are_there_and_kept(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = mini.ensure_embedded()
    for task in TASKS:
        data = read_task_file(folder / f"{task.file}.txt")
        assert len(data.splits["tr"].labels) > 100
    assert (folder / "datasheet.json").is_file()
    monkeypatch.setattr(mini, "generate", forbid)
    assert mini.ensure_embedded() == folder
    assert list(cache.iterdir()) == [folder]


def test_the_files_are_the_same_each_time(cache: Path) -> None:
    first = mini.ensure_embedded()
    contents = {path.name: path.read_bytes() for path in first.iterdir()}
    first.rename(cache / "other")
    again = mini.ensure_embedded()
    assert {path.name: path.read_bytes() for path in again.iterdir()} == contents


def test_an_interruption_leaves_nothing(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(seed: int, count: int) -> Iterator[ParsedSentence]:
        yield from grammar.generate(seed, count // 2)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(mini, "generate", stop)
        with pytest.raises(KeyboardInterrupt):
            mini.ensure_embedded()
    assert list(cache.iterdir()) == []
    assert mini.ensure_embedded().is_dir()


def test_two_at_once_give_one_folder(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = Barrier(2, timeout=120)
    build = builders.build

    def build_together(*arguments: object, **options: object) -> object:
        both.wait()
        sheet = build(*arguments, **options)  # type: ignore[arg-type]
        both.wait()
        return sheet

    monkeypatch.setattr(builders, "build", build_together)
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: mini.ensure_embedded(), range(2))
    assert first == second
    assert list(cache.iterdir()) == [first]
    assert len(list(first.glob("*.txt"))) == len(TASKS)


@pytest.mark.parametrize("name", ["GRAMMAR_VERSION", "SEED"])
def test_other_settings_have_another_folder(cache: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    sizes = mini.SETS["mini"]
    before = mini._name_version(sizes)
    monkeypatch.setattr(mini, name, getattr(mini, name) + 1)
    assert mini._name_version(sizes) != before


@pytest.mark.parametrize("field", mini.EmbeddedSet._fields)
def test_other_sizes_have_another_folder(field: str) -> None:
    sizes = mini.SETS["mini"]
    assert mini._name_version(sizes._replace(**{field: 7})) != mini._name_version(sizes)


def test_midi_is_a_set_of_its_own(cache: Path) -> None:
    folder = mini.ensure_embedded("midi")
    assert folder.parent == cache.parent / "midi"
    for task in TASKS:
        assert len(read_task_file(folder / task.file_name).splits["tr"].labels) > 120
    assert not cache.exists(), "only what was asked for is made"


def test_every_task_of_mini_reaches_its_sizes(tmp_path: Path) -> None:
    sizes = mini.SETS["mini"]
    sheet = builders.build(
        grammar.generate(mini.SEED, sizes.sentences),
        tmp_path,
        train=sizes.train,
        dev=sizes.dev,
        test=sizes.test,
        seed=mini.SEED,
        source={},
    )
    wanted = {"tr": sizes.train, "va": sizes.dev, "te": sizes.test}
    for task in sheet.tasks:
        for split, by_label in task.counts.items():
            assert sum(by_label.values()) > 0.99 * wanted[split], (task.task, split)


def test_the_sizes_that_the_documents_state() -> None:
    assert mini.SETS["mini"][:3] == (3000, 500, 1000)
    assert mini.SETS["midi"][:3] == (20_000, 2000, 4000)


def test_the_folder_depends_on_the_code_of_all_packages() -> None:
    code = {f"{path.parent.name}/{path.name}" for path in mini._list_code()}
    parts = ("readers/brackets", "builders/surface", "grammar/verbs", "corpus/lengths", "statistics/correlation")
    assert {f"{part}.py" for part in parts} <= code


def test_a_task_that_fails_is_an_error_and_nothing_is_kept(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = TaskSheet(task="WC", file="word_content.txt", reason="too few words")
    sheet = Datasheet(source={}, options={}, corpus={}, tasks=[failed])
    monkeypatch.setattr(builders, "build", lambda *_, **__: sheet)
    with pytest.raises(RuntimeError, match=r"the embedded grammar cannot build WC \(too few words\)"):
        mini.ensure_embedded()
    assert list(cache.iterdir()) == []


def test_sample_prints_instances_of_a_task(cache: Path) -> None:
    result = CliRunner().invoke(cli.main, ["data", "sample", "--task", "tense", "--count", "5"])
    assert result.exit_code == 0
    lines = [line.split("\t") for line in result.stdout.splitlines()]
    assert len(lines) == 5
    assert {label for label, _ in lines} <= {"PAST", "PRES"}
    everything = mini.sample_task("Tense", 10_000)
    assert len(everything) == 160, "no more than there is"
    assert mini.sample_task("Tense", 5) == [(label, text.split()) for label, text in lines]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--task", "tens"], "probe: unknown task 'tens'. Did you mean 'Tense'?"),
        (["--task", "DepDepth"], "probe: the embedded data has no DepDepth. It has SeLen, WC,"),
        (["--task", "WC", "--trees"], "probe: --trees and --task exclude each other: a task's instances have no trees"),
    ],
)
def test_sample_explains_a_mistake(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(cli.main, ["data", "sample", *arguments])
    assert result.exit_code == 2
    assert result.stderr.startswith(message)


def test_an_unknown_task_is_refused_before_anything_is_made(cache: Path) -> None:
    with pytest.raises(ProbingError, match="unknown task 'x'"):
        mini.sample_task("x", 1)
    assert not cache.exists()


def test_a_cache_that_cannot_be_written_is_one_line(cache: Path) -> None:
    cache.parent.write_text("not a folder", encoding="utf-8")
    with pytest.raises(
        ProbingError, match=r"files cannot be written \(.*\). Make room or set XDG_CACHE_HOME to another"
    ):
        mini.ensure_embedded()
