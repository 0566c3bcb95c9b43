"""Existing task files are copied byte by byte, or extended by sentences that they do not contain."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probing.corpus.builders import build
from probing.corpus.builders.annotations import bag_of_words
from probing.corpus.builders.given import Given, read_given
from probing.corpus.datasheet import TaskSheet
from probing.corpus.instances import Instance, Splits
from probing.corpus.readers import ParsedSentence
from probing.errors import ProbingError
from probing.tasks.table import get_tasks
from probing.tasks.task_file import SPLITS, read_task_file

TENSE = get_tasks(["Tense"])
SIZES = {"train": 100, "dev": 20, "test": 20}
MIXED = b"te\tPAST\tthe  dog slept\r\ntr\tPRES\tdogs sleep\r\nva\tPAST\tcats slept\r\ntr\tPAST\tThe cat slept"
"""A file with unsorted splits, two spaces, line ends as on Windows, and none at the end."""


@pytest.fixture
def corpus(make_corpus: Callable[[int, int], list[ParsedSentence]]) -> list[ParsedSentence]:
    return make_corpus(0, 1200)


def write(folder: Path, content: bytes, name: str = "past_present.txt") -> Path:
    path = folder / "given" / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return path


def build_tense(corpus: list[ParsedSentence], output: Path, *, taken: Path, extend: bool) -> TaskSheet:
    ready = read_given(*(([], [taken]) if extend else ([taken], [])), TENSE)
    (sheet,) = build(corpus, output, tasks=["Tense"], given=ready, **SIZES).tasks
    return sheet


def test_a_given_file_is_taken_to_the_byte(corpus: list[ParsedSentence], tmp_path: Path) -> None:
    sheet = build_tense(corpus, tmp_path / "out", taken=write(tmp_path, MIXED), extend=False)
    assert (tmp_path / "out" / "past_present.txt").read_bytes() == MIXED
    assert sheet.settings == {"lines_taken_from": "past_present.txt"}
    assert sheet.counts == {"tr": {"PAST": 1, "PRES": 1}, "va": {"PAST": 1}, "te": {"PAST": 1}}
    assert (sheet.reason, sheet.dropped) == (None, {})


def test_the_others_are_built_as_without_it(corpus: list[ParsedSentence], tmp_path: Path) -> None:
    tasks = ["Tense", "BShif"]
    taken = read_given([write(tmp_path, MIXED)], [], get_tasks(tasks))
    build(corpus, tmp_path / "with", tasks=tasks, given=taken, **SIZES)
    build(corpus, tmp_path / "without", tasks=tasks, **SIZES)
    with_it, without = ((tmp_path / name / "bigram_shift.txt").read_bytes() for name in ("with", "without"))
    assert with_it == without


def test_an_extended_file_keeps_its_lines_and_gets_new_sentences_for_training(
    corpus: list[ParsedSentence], tmp_path: Path
) -> None:
    build(corpus, tmp_path / "all", tasks=["Tense"], **SIZES)
    built = read_task_file(tmp_path / "all" / "past_present.txt")
    known = [" ".join(reversed(tokens)).upper() for split in SPLITS for tokens in built.splits[split].sentences[:7]]
    lines = [f"{split}\tPAST\t{text}" for split, text in zip(["tr"] * 7 + ["va"] * 7 + ["te"] * 7, known, strict=True)]
    taken = write(tmp_path, "".join(f"{line}\n" for line in lines).encode())
    sheet = build_tense(corpus, tmp_path / "out", taken=taken, extend=True)
    data = read_task_file(tmp_path / "out" / "past_present.txt")
    assert [" ".join(tokens) for split in ("va", "te") for tokens in data.splits[split].sentences] == known[7:]
    assert [" ".join(tokens) for tokens in data.splits["tr"].sentences[:7]] == known[:7]
    added = data.splits["tr"].sentences[7:]
    assert len(added) == sum(len(built.splits[split].sentences) for split in SPLITS) - 21
    assert not {bag_of_words(tokens) for tokens in added} & {bag_of_words(text.split()) for text in known}
    assert sheet.settings == {
        "lines_taken_from": "past_present.txt",
        "training_instances_added_from_the_trees": len(added),
    }
    assert sheet.size("tr") == 7 + len(added)


def test_a_file_that_the_trees_cannot_extend_says_why(corpus: list[ParsedSentence], tmp_path: Path) -> None:
    questions = [sentence for sentence in corpus if sentence.tree and "VBD" not in str(sentence.tree)]
    sheet = build_tense(questions, tmp_path / "out", taken=write(tmp_path, MIXED), extend=True)
    assert sheet.reason is None
    assert sheet.settings == {
        "lines_taken_from": "past_present.txt",
        "training_instances_added_from_the_trees": 0,
        "none_added_because": "no sentence with the label PAST",
    }
    assert read_task_file(tmp_path / "out" / "past_present.txt").splits["te"].sentences == [["the", "dog", "slept"]]


WORDS = st.lists(st.sampled_from(["a", "b", "A", "c"]), min_size=1, max_size=3)
INSTANCES = st.lists(st.builds(Instance, st.sampled_from("xy"), WORDS, st.none() | st.just("b")), max_size=8)
ANY_SPLITS = st.fixed_dictionaries(dict.fromkeys(SPLITS, INSTANCES))


@settings(deadline=None)
@given(own=ANY_SPLITS, built=ANY_SPLITS)
def test_extending_adds_to_training_all_that_is_new_and_nothing_else(own: Splits, built: Splits) -> None:
    extended = Given(Path("past_present.txt"), own, extended=True).extend(built)
    assert {split: extended[split] for split in ("va", "te")} == {split: own[split] for split in ("va", "te")}
    assert extended["tr"][: len(own["tr"])] == own["tr"]
    bags = {bag_of_words(one.tokens) for split in SPLITS for one in own[split]}
    fresh = [one for split in SPLITS for one in built[split] if bag_of_words(one.tokens) not in bags]
    assert [(one.label, one.tokens) for one in extended["tr"][len(own["tr"]) :]] == [
        (one.label, one.tokens) for one in fresh
    ]


def test_a_given_file_of_one_label_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, b"tr\tPAST\ta\nva\tPAST\ta\nte\tPAST\ta\n")
    with pytest.raises(
        ProbingError, match=r"past_present\.txt: all lines have the label 'PAST'\. A task needs two labels"
    ):
        read_given([path], [], TENSE)
    assert read_given([], [path], TENSE)["Tense"].extended, "the trees may add another label"


def test_files_are_known_by_any_name_of_their_task(tmp_path: Path) -> None:
    good = b"tr\tPAST\ta\ntr\tPRES\tb\nva\tPAST\ta\nte\tPAST\ta\n"
    found = read_given([write(tmp_path, good, "Tense.tsv")], [], TENSE)
    assert list(found) == ["Tense"]
    assert not found["Tense"].extended


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "my_task.txt",
            MIXED,
            "my_task.txt: the file's name must be that of its task, as in past_present.txt: unknown",
        ),
        ("word_content.txt", MIXED, "task WC is not among those to be built. Add --task WC, or leave it out"),
        ("past_present.txt", b"tr\tPAST\n", "past_present.txt:1: expected 3 tab-separated fields, got 2"),
        ("past_present.txt", b"", "past_present.txt: the file is empty. Expected lines of"),
        ("past_present.txt", b"tr\tPAST\ta\n", "past_present.txt: no line of split va, te. All of tr, va, te are"),
    ],
)
def test_mistakes_name_the_file(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = write(tmp_path, content, name)
    for arguments in (([path], []), ([], [path])):
        with pytest.raises(ProbingError) as caught:
            read_given(*arguments, TENSE)
        assert message in str(caught.value)


def test_a_task_has_one_file(tmp_path: Path) -> None:
    first, second = write(tmp_path, MIXED), write(tmp_path, MIXED, "Tense.txt")
    with pytest.raises(ProbingError) as caught:
        read_given([first], [second], TENSE)
    assert str(caught.value) == f"{second}: there is another file for task Tense, {first}. Name one of them"


def test_the_datasheet_names_what_was_taken(corpus: list[ParsedSentence], tmp_path: Path) -> None:
    build_tense(corpus, tmp_path / "out", taken=write(tmp_path, MIXED), extend=True)
    text = (tmp_path / "out" / "datasheet.md").read_text(encoding="utf-8")
    assert "- lines taken from: past_present.txt\n- training instances added from the trees: " in text
    (sheet,) = json.loads((tmp_path / "out" / "datasheet.json").read_text(encoding="utf-8"))["tasks"]
    assert sheet["settings"]["training_instances_added_from_the_trees"] > 0
