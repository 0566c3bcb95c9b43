"""The key of a cell changes with whatever can change its numbers, and its record's file is named after it."""

from __future__ import annotations

import copy
import json
import re

import pytest
from msgspec import structs

from probing.config import PRESETS
from probing.results.identity import FORMAT, CellIdentity, DataIdentity, ModelIdentity

WHOLE = CellIdentity(
    task="Tense",
    family="semantic",
    seed=0,
    preset="mini",
    data=DataIdentity(name="mini", file="past_present.txt", sha256="0" * 64),
    model=ModelIdentity(name="em", label="EM", version="built-in"),
    settings=PRESETS["mini"].as_dict(),
)


def key_with(**changes):
    return structs.replace(WHOLE, **changes).key


def test_the_key_is_the_same_in_every_process():
    assert re.fullmatch("[0-9a-f]{64}", WHOLE.key)
    assert copy.deepcopy(WHOLE).key == WHOLE.key
    shuffled = {section: dict(reversed(values.items())) for section, values in reversed(WHOLE.settings.items())}
    assert key_with(settings=shuffled) == WHOLE.key
    assert key_with(settings=json.loads(json.dumps(WHOLE.settings))) == WHOLE.key


@pytest.mark.parametrize(
    ("part", "field", "matters"),
    [
        ("data", "sha256", True),
        ("data", "name", False),
        ("data", "file", False),
        ("data", "verified", False),
        ("data", "datasheet", False),
        ("model", "name", True),
        ("model", "version", True),
        ("model", "label", False),
    ],
)
def test_the_key_changes_with_what_can_change_the_numbers(part, field, matters):
    changed = structs.replace(getattr(WHOLE, part), **{field: "other"})
    assert (key_with(**{part: changed}) != WHOLE.key) == matters


def test_the_key_changes_with_task_preset_seed_measure_and_format(monkeypatch):
    changes = ({}, {"task": "WC"}, {"preset": "small"}, {"seed": 1}, {"measure": "random-labels"})
    keys = {key_with(**change) for change in (*changes, {"measure": "description-length"})}
    monkeypatch.setattr("probing.results.identity.FORMAT", FORMAT + 1)
    assert len(keys | {WHOLE.key}) == 7


def test_the_family_follows_from_the_task_and_is_no_part_of_the_key():
    assert key_with(family="surface") == WHOLE.key


def test_the_key_changes_with_every_setting_that_can_change_the_numbers():
    """How often a failed training may be started again does not: the record names the seeds that failed."""
    keys = {WHOLE.key}
    for section, values in WHOLE.settings.items():
        for name in values:
            other = copy.deepcopy(WHOLE.settings)
            other[section][name] = "other"
            keys.add(key_with(settings=other))
            assert (name == "retries") == (key_with(settings=other) == WHOLE.key)
    assert len(keys) == sum(map(len, WHOLE.settings.values()))


@pytest.mark.parametrize(
    ("changes", "title"),
    [
        ({}, "Tense EM seed 0"),
        ({"seed": 7, "measure": "description-length"}, "Tense EM seed 7, description length"),
        ({"data": structs.replace(WHOLE.data, name="own")}, "Tense (own file) EM seed 0"),
        ({"data": structs.replace(WHOLE.data, name="own"), "family": "own"}, "Tense EM seed 0"),
    ],
)
def test_messages_name_the_cell(changes, title):
    assert structs.replace(WHOLE, **changes).title == title


@pytest.mark.parametrize(
    ("measure", "part"),
    [("accuracy", ""), ("random-labels", "random-labels--"), ("description-length", "description-length--")],
)
def test_the_file_is_named_after_the_cell(tmp_path, measure, part):
    identity = structs.replace(WHOLE, seed=7, measure=measure)
    assert identity.path(tmp_path) == tmp_path / f"mini--Tense--em--mini--seed7--{part}{identity.key[:12]}.json"
    assert identity.path(tmp_path, "ab" * 32) == tmp_path / f"mini--Tense--em--mini--seed7--{part}abababababab.json"
