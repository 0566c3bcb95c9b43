"""A record whose figures do not add up is found out, whichever figure was changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from probing.errors import ProbingError
from probing.experiments.verifying import verify
from probing.results import Record, Store, translation_path
from tests.studies import start, write_answers
from tests.translations import BASE, save

Probe = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder with an accuracy and a description length, which add up; the task file lies beside it."""
    folder = tmp_path_factory.mktemp("study")
    start(write_answers(folder), folder / "results", aggregators=["base"], mdl=True)
    return folder


@pytest.fixture
def study(original: Path, tmp_path: Path) -> Path:
    (tmp_path / "results").mkdir()
    for path in [original / "answers.tsv", *(original / "results").iterdir()]:
        (tmp_path / path.relative_to(original)).write_bytes(path.read_bytes())
    return tmp_path


def check(study: Path) -> list[str]:
    lines: list[str] = []
    count, wrong = verify(study / "results", study, lines.append)
    assert count == 2
    assert bool(wrong) == bool(lines)
    return [line.partition(".json: ")[2] for line in lines]


def damage(study: Path, change: Callable[[dict[str, Any]], None], *, measure: str = "accuracy") -> None:
    for path in (study / "results").glob("*.json"):
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["measure"] == measure:
            change(content)
            path.write_text(json.dumps(content), encoding="utf-8")


def test_what_was_measured_adds_up(study: Path) -> None:
    assert check(study) == []


def flip(scores: dict[str, Any]) -> None:
    scores["predictions"][0] = 1 - scores["predictions"][0]


def add_epoch(scores: dict[str, Any]) -> None:
    scores["curve"].append({"epoch": len(scores["curve"]) + 1, "loss": 1.0, "dev_accuracy": 0.0})
    scores["best_epoch"] = len(scores["curve"])


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda scores: scores.update(test_accuracy=scores["test_accuracy"] / 2), "test_accuracy is "),
        (flip, "test_accuracy is "),
        (lambda scores: scores["classes"]["YES"].update(test=21), "the numbers of test instances by class are not"),
        (lambda scores: scores["classes"]["YES"].update(right=99), "the numbers of right answers by class are not"),
        (lambda scores: scores.update(majority_accuracy=51.0), "majority_accuracy is 51.0, which is not that of"),
        (lambda scores: scores.update(dev_accuracy=12.5), "dev_accuracy is 12.5, but the best of its curve is "),
        (lambda scores: scores.update(best_epoch=0), "dev_accuracy is "),
        (add_epoch, "best_epoch is "),
    ],
)
def test_a_changed_score_is_found(study: Path, change: Callable[[dict[str, Any]], None], text: str) -> None:
    damage(study, lambda record: change(record["scores"]))
    assert check(study)[0].startswith(text)


@pytest.mark.parametrize(
    ("field", "text"),
    [("bits", "the codelength is 1.0, but its pieces sum to "), ("compression", "compression is 1.0")],
)
def test_a_changed_codelength_is_found(study: Path, field: str, text: str) -> None:
    change = {field: 1.0}
    damage(study, lambda record: record["scores"]["description"].update(change), measure="description-length")
    assert check(study)[0].startswith(text)


def test_a_changed_setting_or_seed_is_found(study: Path) -> None:
    damage(study, lambda record: record["settings"]["training"].update(patience=99))
    assert check(study)[0].startswith("its key is ")
    damage(study, lambda record: record.update(seed=7), measure="description-length")
    assert any(line.startswith("its name should be own--answers--base--mini--seed7--") for line in check(study))


def test_other_data_are_found(study: Path) -> None:
    path = study / "answers.tsv"
    path.write_text(path.read_text(encoding="utf-8") + "te\tYES\tYES\n", encoding="utf-8")
    assert check(study) == [f"its data were another file than {path}"] * 2
    path.unlink()
    assert check(study) == [f"there is no answers.tsv in {study}"] * 2


def test_a_damaged_record_is_named(study: Path) -> None:
    path = next((study / "results").glob("*.json"))
    path.write_text("{", encoding="utf-8")
    lines: list[str] = []
    assert verify(study / "results", None, lines.append) == (2, 1)
    assert lines == [f"{path}: not a whole JSON file. Delete it and run the cell again"]


def test_a_failed_cell_has_nothing_to_add_up(tmp_path: Path, make_record: Callable[..., Record]) -> None:
    Store(tmp_path).save(make_record(accuracy=None, data="elsewhere"))
    assert verify(tmp_path, None, pytest.fail) == (1, 0)


def test_no_such_data(study: Path) -> None:
    with pytest.raises(ProbingError, match=r"^--data .*nowhere: there is no such folder$"):
        verify(study / "results", study / "nowhere", pytest.fail)


def test_no_records(tmp_path: Path) -> None:
    with pytest.raises(ProbingError, match="there are no records. Name a folder that"):
        verify(tmp_path, None, pytest.fail)


def test_the_command(study: Path, probe: Probe) -> None:
    results = study / "results"
    assert probe("verify", results, "--data", study) == (0, f"{results}: 2 of 2 records add up\n", "")
    damage(study, lambda record: record["scores"].update(majority_accuracy=51.0))
    code, out, _ = probe("verify", results)
    assert code == 1
    assert out.splitlines()[-1] == f"{results}: 1 of 2 records add up"


@pytest.fixture
def translated(tmp_path: Path) -> Path:
    """Return the only record of a folder of translations."""
    (path,) = save(tmp_path / "translations", [BASE]).glob("*.json")
    return path


def verify_translations(path: Path) -> list[str]:
    lines: list[str] = []
    verify(path.parent, None, lines.append)
    return [line.partition(".json: ")[2] for line in lines]


def test_a_translation_adds_up(translated: Path) -> None:
    assert verify_translations(translated) == []
    assert verify(translated.parent, translated.parent, pytest.fail) == (1, 0)


def change_test(content: dict[str, Any], name: str, value: Any) -> None:
    content["scores"]["tests"]["newstest2014"][name] = value


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda record: change_test(record, "bleu", 99.0), "BLEU on newstest2014 is 99.0, but its statistics give 58."),
        (lambda record: record["scores"].update(best_epoch=6), "best_epoch is 6, but the curve has 5 looks at dev"),
        (
            lambda record: record["scores"]["pairs"]["tests"].update(newstest2014=3000),
            "newstest2014 has 3000 sentences, but there are statistics of 200",
        ),
        (lambda record: record.update(seed=7), "its key is "),
    ],
)
def test_a_changed_translation_is_found_out(
    translated: Path, change: Callable[[dict[str, Any]], None], problem: str
) -> None:
    content = json.loads(translated.read_text(encoding="utf-8"))
    change(content)
    translated.write_text(json.dumps(content), encoding="utf-8")
    assert verify_translations(translated)[0].startswith(problem)


def test_changed_texts_of_a_translation_are_found_out(translated: Path) -> None:
    file = translation_path(translated, "newstest2014", "output")
    lines = file.read_text(encoding="utf-8").split("\n")
    file.write_text("\n".join(["something else", *lines[1:]]), encoding="utf-8")
    assert verify_translations(translated) == ["the translations of newstest2014 beside it give other statistics"]
    file.write_text("one line\n", encoding="utf-8")
    problem = "the texts of newstest2014 beside it have 1 translations, 200 references"
    assert verify_translations(translated) == [problem]
    file.write_bytes(b"\xff\n")
    lines = []
    assert verify(translated.parent, None, lines.append) == (1, 1)
    assert lines == [f"{file}: not UTF-8. Translate the test set again"]
