"""Translations into the constructed language, judged from the files that lie beside the test sets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from probing.corpus.language import LANGUAGE_CODE, PHENOMENA
from probing.corpus.parallel import TEST_SETS, prepare_parallel
from probing.errors import ProbingError
from probing.translation.parallel_files import ParallelFiles, find_parallel_files
from probing.translation.phenomena import judge_translations


@pytest.fixture(scope="module")
def folder() -> Path:
    return prepare_parallel(400)


@pytest.fixture(scope="module")
def corpus(folder: Path) -> ParallelFiles:
    return find_parallel_files(folder, f"en-{LANGUAGE_CODE}")


@pytest.mark.parametrize("name", TEST_SETS)
def test_the_references_have_everything_right(corpus: ParallelFiles, name: str) -> None:
    references = corpus.tests[name].read()[1]
    verdicts = judge_translations(corpus.checks[name], references)
    assert set(verdicts) <= set(PHENOMENA)
    assert len(verdicts) > len(PHENOMENA) // 2
    for letters in verdicts.values():
        assert len(letters) == len(references)
        assert set(letters) <= {"1", "-"}
        assert "1" in letters


def test_an_empty_translation_has_nothing_right(corpus: ParallelFiles) -> None:
    references = corpus.tests["test"].read()[1]
    right = judge_translations(corpus.checks["test"], references)
    wrong = judge_translations(corpus.checks["test"], [""] * len(references))
    assert wrong == {name: letters.replace("1", "0") for name, letters in right.items()}


def test_one_wrong_place_makes_the_sentence_wrong(corpus: ParallelFiles) -> None:
    """The first sentence is translated by the second's reference: only its letters change."""
    references = corpus.tests["test"].read()[1]
    right = judge_translations(corpus.checks["test"], references)
    changed = judge_translations(corpus.checks["test"], [references[1], *references[1:]])
    assert {letters[0] for letters in changed.values()} <= {"0", "-", "1"}
    assert "0" in {letters[0] for letters in changed.values()}
    assert {name: letters[1:] for name, letters in changed.items()} == {n: x[1:] for n, x in right.items()}


def test_a_sentence_is_needed_for_each_line(corpus: ParallelFiles) -> None:
    path = corpus.checks["test"]
    with pytest.raises(ProbingError, match=r"test.checks.jsonl: 20 lines for 1 test sentences. One is needed for each"):
        judge_translations(path, ["one"])


def test_checks_belong_to_the_corpus_only_if_they_are_of_its_target_language(folder: Path) -> None:
    forth = find_parallel_files(folder, f"en-{LANGUAGE_CODE}")
    back = find_parallel_files(folder, f"{LANGUAGE_CODE}-en")
    assert list(forth.checks) == list(TEST_SETS)
    assert back.checks == {}
    assert back.identity == back.sha256
    assert forth.identity != forth.sha256


def test_other_checks_make_another_corpus(folder: Path, tmp_path: Path) -> None:
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    before = find_parallel_files(tmp_path, f"en-{LANGUAGE_CODE}")
    lines = before.checks["test"].read_text(encoding="utf-8").splitlines()
    lines[0] = json.dumps([])
    before.checks["test"].write_text("\n".join(lines) + "\n", encoding="utf-8")
    after = find_parallel_files(tmp_path, f"en-{LANGUAGE_CODE}")
    assert after.sha256 == before.sha256
    assert after.identity != before.identity


def test_the_checks_move_with_the_corpus(corpus: ParallelFiles, tmp_path: Path) -> None:
    moved = corpus.moved({role: tmp_path / path.name for role, path in corpus.files().items()})
    assert moved.checks == {name: tmp_path / f"{name}.checks.jsonl" for name in TEST_SETS}
    assert moved.tests["test-new"].target == tmp_path / f"test-new.{LANGUAGE_CODE}"
