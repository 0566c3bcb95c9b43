"""Filters of a report; old versions of an edited plug-in; labels that tell models apart by one word."""

from __future__ import annotations

import pytest

from probing.errors import ProbingError
from probing.report.grouping import group_results
from probing.report.selection import Selection


def fail(line):
    pytest.fail(line)


@pytest.fixture
def records(make_record):
    return [
        make_record(task, model, seed=seed, data=data)
        for task in ("Tense", "SeLen")
        for model in ("base", "em")
        for seed in (0, 1)
        for data in ("mini", "books")
    ]


@pytest.mark.parametrize(
    ("filters", "number"),
    [
        ({}, 16),
        ({"tasks": ["past_present"]}, 8),
        ({"tasks": ["tense,selen"]}, 16),
        ({"tasks": ["Tense", "Length"], "seeds": ["1"]}, 8),
        ({"models": ["EM"]}, 8),
        ({"models": ["em", "Base"], "data": ["books"], "presets": ["mini"]}, 8),
        ({"seeds": ["0,1"]}, 16),
    ],
)
def test_filters_choose_records(records, filters, number):
    assert len(Selection(**filters).apply(records, fail)) == number


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        ({"tasks": ["Tens"]}, "unknown task 'Tens'. Did you mean 'Tense'? Known: Tense, SeLen"),
        ({"models": ["em,embb"]}, "unknown model 'embb'. Did you mean 'EM'? Known: Base, EM"),
        ({"data": ["midi"]}, "unknown data set 'midi'. Did you mean 'mini'? Known: mini, books"),
        ({"presets": ["x"]}, "unknown preset 'x'. Known: mini"),
        ({"seeds": ["7"]}, "unknown seed '7'. Known: 0, 1"),
    ],
)
def test_an_unknown_value_is_a_mistake_that_names_what_is_there(records, filters, message):
    with pytest.raises(ProbingError) as caught:
        Selection(**filters).apply(records, fail)
    assert str(caught.value) == message


def test_the_reference_stays_and_a_name_can_hold_a_comma(make_record, records):
    kept = Selection(models=["em"]).apply(records, fail, also="base")
    assert {record.identity.model.name for record in kept} == {"base", "em"}
    odd = make_record(model="my.py:Odd, really")
    kept = Selection(models=["my.py:Odd, really"]).apply([*records, odd], fail)
    assert kept == [odd]


def test_an_encoder_is_chosen_with_all_its_layers(make_record):
    layers = [make_record(model=f"bert layer {n}", settings={"encoder": {"layer": n}}) for n in (0, 1)]
    assert Selection(models=["bert"]).apply([make_record(), *layers], fail) == layers


def test_old_versions_are_left_out_and_said(make_record, change):
    old, older, new = (
        change(
            make_record(model="my.py:Mine"),
            model__version=version,
            timing__finished_at=f"2026-01-0{day}T00:00:00+00:00",
        )
        for day, version in ((2, "bb"), (1, "cc"), (3, "aa"))
    )
    said: list[str] = []
    assert Selection().apply([old, new, older], said.append) == [new]
    assert said == ["2 older versions of Mine left out: --all-versions shows them"]
    assert len(Selection(all_versions=True).apply([old, new, older], fail)) == 3


def test_a_name_that_is_taken_is_told_apart_by_one_word(make_record, change):
    many = {"encoder": {f"option_{n}": "a long value" for n in range(20)}, "probe": {"probe": "mlp"}}
    namesake = change(make_record(model="my.py:EM", settings=many), model__label="EM")
    labels = [model.label for model in group_results([make_record(), namesake])[0].models]
    assert labels == ["EM (em)", "EM (my.py:EM)"]
    other = {"encoder": {f"option_{n}": "another value" for n in range(20)}, "probe": {"probe": "mlp"}}
    records = [change(make_record(model="my.py:EM", settings=one), model__label="EM") for one in (many, other)]
    assert [model.label for model in group_results(records)[0].models] == ["EM (#1)", "EM (#2)"]
