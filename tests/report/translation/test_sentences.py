"""Test sentences beside the records, with what each system made of them."""

from __future__ import annotations

from pathlib import Path

import pytest
import sacrebleu

from probing.report.translation import sentences
from probing.report.translation.grouping import TranslationGroup, group_translations
from probing.report.translation.sentences import list_sentences
from probing.results import Store, translation_path, translator_folder
from tests.translations import BASE, COMPONENTS, make_texts, make_translation, save

RUNS = COMPONENTS[:3]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return save(tmp_path, RUNS)


def load(folder: Path) -> TranslationGroup:
    (group,) = group_translations(Store(folder).load(pytest.fail))
    return group


def path_of(folder: Path, place: int) -> Path:
    return make_translation(RUNS[place]).path(folder)


def test_texts_and_scores_of_all_systems(folder: Path) -> None:
    found = list_sentences(load(folder), folder)
    sources, references, _ = make_texts(BASE, "newstest2014")
    assert (found.sources, found.references, found.missing, found.left_out) == (sources, references, [], 0)
    metric = sacrebleu.BLEU(effective_order=True)
    for place, run in enumerate(RUNS):
        outputs = make_texts(run, "newstest2014")[2]
        assert found.outputs[place] == outputs
        assert found.scores[place][7] == pytest.approx(metric.sentence_score(outputs[7], [references[7]]).score)


def test_only_a_line_feed_ends_a_sentence(folder: Path) -> None:
    file = translation_path(path_of(folder, 0), "newstest2014", "output")
    lines = file.read_text(encoding="utf-8").split("\n")
    lines[0] = "a\u2028b\x0bc\x85d"
    file.write_bytes("\n".join(lines).encode())
    assert list_sentences(load(folder), folder).outputs[0][0] == lines[0]


def test_missing_and_damaged_texts_are_named(folder: Path) -> None:
    first, second, third = (path_of(folder, place) for place in range(3))
    for file in translator_folder(first).iterdir():
        file.unlink()
    file = translation_path(second, "newstest2014", "output")
    file.write_text("one line\n", encoding="utf-8")
    translation_path(third, "newstest2014", "source").write_bytes(b"\xff\n")
    found = list_sentences(load(folder), folder)
    assert found.outputs == {}
    assert found.missing == [
        "Base: its translations of newstest2014 are not beside its records",
        f"{file.name} beside {second.name}: 1 lines, but the record has 200 sentences",
        f"{translation_path(third, 'newstest2014', 'source')}: not UTF-8. Translate the test set again",
    ]


def test_other_references_are_not_mixed(folder: Path) -> None:
    file = translation_path(path_of(folder, 2), "newstest2014", "reference")
    file.write_text(file.read_text(encoding="utf-8").replace("Hund", "Katze"), encoding="utf-8")
    found = list_sentences(load(folder), folder)
    assert list(found.outputs) == [0, 1]
    assert found.missing == ["EM, enc-self: its references are not those of the others"]


def test_without_room_those_that_differ_most_are_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = list_sentences(load(folder), folder)
    monkeypatch.setattr(sentences, "ROOM", 5000)
    cut = list_sentences(load(folder), folder)
    assert cut.numbers == sorted(cut.numbers)
    assert 0 < len(cut.numbers) == 200 - cut.left_out < 100
    spread = {number: max(row) - min(row) for number, *row in zip(whole.numbers, *whole.scores.values(), strict=True)}
    assert min(spread[number] for number in cut.numbers) >= max(
        spread[number] for number in whole.numbers if number not in cut.numbers
    )
    for place, number in enumerate(cut.numbers):
        assert cut.sources[place] == whole.sources[number - 1]
        assert [lines[place] for lines in cut.outputs.values()] == [
            lines[number - 1] for lines in whole.outputs.values()
        ]
