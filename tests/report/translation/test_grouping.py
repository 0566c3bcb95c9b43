"""Records of translations in groups, and systems with their seeds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from probing.errors import ProbingError
from probing.report.translation.grouping import group_translations, load_translations, spell_pair
from probing.results import Record, Store
from tests.translations import ALL, BASE, COMPONENTS, LAYERS, SYSTEMS, Run, fail, make_translation, save, vary


def make(*runs: Run) -> list[Record]:
    return [make_translation(run) for run in runs]


def test_systems_stand_in_the_papers_order() -> None:
    (group,) = group_translations(make(*reversed(COMPONENTS)))
    found = [(system.aggregator, system.apply) for system in group.systems]
    assert found == [(run.aggregator, run.apply) for run in COMPONENTS]
    (group,) = group_translations(make(*reversed(LAYERS)))
    assert [system.layers for system in group.systems] == [
        (),
        (1, 2, 3, 4, 5, 6),
        (4, 5, 6),
        (1, 2, 3),
        (1, 2),
        (6,),
        (1,),
    ]


def test_data_languages_presets_and_training_have_groups_of_their_own() -> None:
    assert len(group_translations(make(*SYSTEMS))) == 4
    other = replace(BASE, settings=(("training", "max_steps", 500),))
    groups = group_translations(make(BASE, other, Run("em", ("enc-self",))))
    assert {group.title: len(group.systems) for group in groups} == {
        "wmt14 En⇒De, preset base (training.max_steps=100000)": 2,
        "wmt14 En⇒De, preset base (training.max_steps=500)": 1,
    }


def test_another_file_of_the_same_name_is_another_group() -> None:
    first, second = make(BASE, BASE)
    data = structs.replace(second.identity.data, sha256="f" * 64)
    second = Record(
        identity=structs.replace(second.identity, data=data),
        outcome=second.outcome,
        timing=second.timing,
        where=second.where,
    )
    titles = [group.title for group in group_translations([first, second])]
    assert len(titles) == 2
    assert any("data with SHA-256 ffffffffffff" in title for title in titles)


def test_settings_of_routing_make_rows_but_not_for_base() -> None:
    changed = (("model", "iterations", 2),)
    em = Run("em", ("enc-self",))
    (group,) = group_translations(make(BASE, replace(BASE, settings=changed), em, replace(em, settings=changed)))
    assert [system.label for system in group.systems] == [
        "Base",
        "EM, enc-self (iterations=2)",
        "EM, enc-self (iterations=3)",
    ]
    assert [system.routing for system in group.systems[1:]] == ["EM (iterations=2)", "EM (iterations=3)"]
    assert group.systems[0].seeds == [0]


def test_seeds_are_one_system_and_failures_are_kept_apart() -> None:
    runs = vary([BASE, Run("em", ALL, wrong=0.1)], 3)
    (group,) = group_translations([*make(*runs[:-1]), fail(runs[-1])])
    base, em = group.systems
    assert (base.seeds, em.seeds, [record.identity.seed for record in em.failed]) == ([0, 1, 2], [0, 1], [2])
    assert group.bleus[em.label].seeds == tuple(outcome.test.bleu for outcome in em.outcomes)
    compared = group.compare_with_base(em)
    assert compared is not None
    assert compared.difference == pytest.approx(group.bleus[em.label].mean - group.bleus["Base"].mean)
    assert group.compare_with_base(base) is None


def test_a_plugin_has_the_name_of_its_label() -> None:
    (group,) = group_translations(make(Run("file.py:MeanOfHeads", ("dec-self",))))
    assert [(one.routing, one.label) for one in group.systems] == [("MeanOfHeads", "MeanOfHeads, dec-self")]
    assert group.base is None


def test_a_test_set_is_chosen_by_name() -> None:
    runs = [replace(run, tests=("flickr", "coco")) for run in COMPONENTS[:3]]
    assert [group.test for group in group_translations(make(*runs))] == ["flickr"]
    assert [group.test for group in group_translations(make(*runs), test="coco")] == ["coco"]
    with pytest.raises(ProbingError, match="unknown test set 'cocoa'. Did you mean 'coco'. Known: flickr, coco"):
        group_translations(make(*runs), test="cocoa")


def test_groups_without_the_test_set_are_left_out() -> None:
    groups = group_translations(make(*SYSTEMS), test="newstest2017")
    assert {group.identity.task for group in groups} == {"zh-en"}


def test_other_sentences_are_not_compared() -> None:
    (group,) = group_translations(make(BASE, Run("em", ("enc-self",), sentences=150)))
    assert group.incomparable == ["EM, enc-self was tested on other sentences than Base, so the two are not compared"]
    assert group.compare_with_base(group.systems[1]) is None


def test_seeds_on_other_sentences_are_an_error() -> None:
    with pytest.raises(ProbingError, match="the records of Base, seeds 0, 1, have different sentences or signatures"):
        group_translations(make(BASE, replace(BASE, seed=1, sentences=150)))


def test_nothing_but_failures() -> None:
    (group,) = group_translations([fail(BASE)])
    assert (group.test, group.base, group.bleus) == ("", None, {})


def test_a_folder_without_translations(tmp_path: Path, make_record: Callable[..., Record]) -> None:
    with pytest.raises(ProbingError, match=r"no translations there. Run `probe translate run` first"):
        load_translations(tmp_path, pytest.fail)
    Store(tmp_path).save(make_record())
    with pytest.raises(ProbingError, match=r"no translations there, only 1 of probing tasks \(see `probe report`\)"):
        load_translations(tmp_path, pytest.fail)
    save(tmp_path, [BASE])
    assert [record.identity.task for record in load_translations(tmp_path, pytest.fail)] == ["en-de"]


@pytest.mark.parametrize(
    ("task", "text"), [("en-de", "En⇒De"), ("zh-en", "Zh⇒En"), ("x", "X"), ("en-zh-hans", "En⇒Zh-hans")]
)
def test_language_pairs(task: str, text: str) -> None:
    assert spell_pair(task) == text
