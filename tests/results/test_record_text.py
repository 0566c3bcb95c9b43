from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from probing.results import record_text
from probing.results.record import Record, as_dict, read_record
from probing.results.record_text import Classes, pack, parse_record
from probing.results.schema import Built
from probing.results.store import Store
from probing.storage.reading import parse_json


def answer(result: Record, gold: Sequence[int], predictions: Sequence[int], labels: int) -> Record:
    """Return a record with these answers and the counts that go with them."""
    assert result.scores is not None
    classes = {
        f"label {place}": {
            "train": 3 * place,
            "dev": 1,
            "test": sum(label == place for label in gold),
            "right": sum(label == place == other for label, other in zip(gold, predictions, strict=True)),
        }
        for place in range(labels)
    }
    scores = dataclasses.replace(result.scores, gold=gold, predictions=predictions, classes=classes)
    return dataclasses.replace(result, scores=scores)


def write(result: Record, **changes: Any) -> str:
    content = as_dict(result)
    content["scores"] |= changes
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n"


@pytest.mark.parametrize("labels", [2, 10, 11, 1000, 1200])
def test_a_record_is_taken_apart_and_read_as_it_was(
    tmp_path: Any, make_record: Callable[..., Record], monkeypatch: pytest.MonkeyPatch, labels: int
) -> None:
    rng = np.random.default_rng(labels)
    gold = rng.integers(labels, size=300).tolist()
    for seed in range(3):
        predictions = np.where(rng.random(300) < 0.7, gold, rng.integers(labels, size=300)).tolist()
        result = answer(make_record(seed=seed), gold, predictions, labels)
        path = Store(tmp_path).save(result)
        read = read_record(path)
        assert read == result
        assert read.scores is not None
        assert list(read.scores.predictions) == predictions
        assert isinstance(read.scores.classes, Classes)
        assert Store(tmp_path).save(read).read_bytes() == path.read_bytes()
        assert path.read_text() == write(result)


def test_what_records_have_in_common_is_parsed_once(make_record: Callable[..., Record]) -> None:
    first, second = (read_text_of(answer(make_record(seed=seed), [0, 1, 1], [0, seed, 1], 2)) for seed in range(2))
    for name in ("data", "model", "settings"):
        assert first[name].value is second[name].value
    assert first["scores"]["gold"].value is second["scores"]["gold"].value
    assert [first["scores"]["classes"].value[label]["right"] for label in ("label 0", "label 1")] == [1, 1]
    assert [second["scores"]["classes"].value[label]["right"] for label in ("label 0", "label 1")] == [1, 2]


def read_text_of(result: Record) -> Any:
    return parse_record(write(result), Record)


def test_counts_that_are_not_those_of_the_answers_are_read_as_they_stand(make_record: Callable[..., Record]) -> None:
    result = answer(make_record(), [0, 1], [0, 0], 2)
    text = write(result).replace('"right":0', '"right":7')
    assert parse_record(text, Record) == json.loads(text)


ODD = {
    "another order": lambda text: text.replace('"test":1,"right":0', '"right":0,"test":1'),
    "negative counts": lambda text: text.replace('"train":3', '"train":-3'),
    "spaces": lambda text: text.replace('"gold":[0,1]', '"gold":[0, 1]'),
    "numbers with a zero before": lambda text: text.replace('"gold":[0,1]', '"gold":[00,1]'),
    "something else": lambda text: text.replace('"gold":[0,1]', '"gold":[0,"x"]'),
    "lists of lists": lambda text: text.replace('"predictions":[0,0]', '"predictions":[0,[0]]'),
    "nothing": lambda text: text.replace('"predictions":[0,0]', '"predictions":[]'),
    "a class that is not there": lambda text: text.replace('"gold":[0,1]', '"gold":[0,9]'),
    "too few answers": lambda text: text.replace('"predictions":[0,0]', '"predictions":[0]'),
    "the lists elsewhere": lambda text: text.replace('"scores":{', '"scores":null,"other":{'),
    "the settings elsewhere": lambda text: text.replace('{"task"', '{"data":3,"task"'),
    "the settings twice": lambda text: text.replace('"timing"', '"preset":"x","timing"'),
    "a wrong setting": lambda text: text.replace('"settings":{', '"settings":{"x":3,'),
    "a list": lambda text: f"[{text}]",
    "half": lambda text: text[: len(text) // 2],
    "no end": lambda text: text[: text.rindex("]")],
}


@pytest.mark.parametrize("change", ODD.values(), ids=ODD)
def test_any_other_text_is_plain_json(make_record: Callable[..., Record], change: Callable[[str], str]) -> None:
    text = write(answer(make_record(), [0, 1], [0, 0], 2))
    changed = change(text)
    assert changed != text
    try:
        expected = parse_json(changed)
    except ValueError:
        with pytest.raises(ValueError, match="char"):
            parse_record(changed, Record)
    else:
        assert parse_record(changed, Record) == expected


def test_a_name_like_a_key_changes_nothing(tmp_path: Any, make_record: Callable[..., Record]) -> None:
    label = 'x,"gold":[1],"predictions":[1],"classes":{"status":'
    result = answer(make_record(), [0, 1], [0, 0], 2)
    assert result.scores is not None
    counts = dict(zip((label, "y"), result.scores.classes.values(), strict=True))
    result = dataclasses.replace(
        result, error=label, preset=label, scores=dataclasses.replace(result.scores, classes=counts)
    )
    assert read_record(Store(tmp_path).save(result)) == result


@given(st.lists(st.integers(0, 1 << 40)))
def test_answers_are_packed_and_unpacked(answers: list[int]) -> None:
    packed = pack(answers)
    assert list(packed) == answers
    assert pack(packed) is packed
    assert len(bytes(packed)) == len(answers) * (1 if max(answers, default=0) < 256 else 8)


def test_built_parts_hold_what_the_text_says(make_record: Callable[..., Record]) -> None:
    result = answer(make_record(), [0, 1], [0, 0], 2)
    content = parse_record(write(result), Record)
    assert isinstance(content["settings"], Built)
    assert content["settings"].value == result.identity.settings
    assert record_text.SHARED == ("preset", "data", "model", "settings")
