"""A record is read strictly: whatever is not exactly a record is refused in one line that names the file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from probing.config import PRESETS
from probing.errors import ProbingError
from probing.results import record
from probing.results.identity import FORMAT
from probing.results.record import read_record
from probing.results.scores import Counts, DescriptionLength, pack
from probing.results.store import EXPLANATION_ENDING, Store
from probing.storage import to_json

QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "results")


def error_of(path):
    with pytest.raises(ProbingError) as caught:
        read_record(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert str(caught.value).isprintable()
    return str(caught.value).removeprefix(f"{path}: ")


def answer(result, gold, predictions, labels):
    """Return a record with these answers and the counts that go with them."""
    classes = {
        f"label {place}": Counts(
            train=3 * place,
            dev=1,
            test=sum(label == place for label in gold),
            right=sum(label == place == other for label, other in zip(gold, predictions, strict=True)),
        )
        for place in range(labels)
    }
    scores = structs.replace(result.scores, gold=gold, predictions=predictions, classes=classes)
    return structs.replace(result, outcome=scores)


def test_a_record_has_the_key_of_its_identity_unless_it_is_given_another(make_record):
    result = make_record()
    assert result.key == result.identity.key
    assert make_record(key="ab" * 32).key == "ab" * 32


def test_a_record_without_an_outcome_has_failed(make_record):
    assert (make_record().status, make_record().scores) == ("finished", make_record().outcome)
    assert (make_record(accuracy=None).status, make_record(accuracy=None).scores) == ("failed", None)


def test_the_settings_come_back_as_json_has_them(store, make_record):
    result = make_record(settings=PRESETS["mini"].as_dict())
    loaded = read_record(store.save(result))
    assert loaded.identity.settings == json.loads(json.dumps(result.identity.settings))
    assert loaded.identity.key == result.identity.key == loaded.key


def test_texts_and_numbers_of_other_classes_are_written_as_plain_ones(store, make_record):
    where = {"torch": torch.__version__, "share": np.float64(0.5)}
    loaded = read_record(store.save(make_record(where=where)))
    assert loaded.where == {"torch": str(torch.__version__), "share": 0.5}


@pytest.mark.parametrize("labels", [2, 10, 11, 300, 1200])
def test_a_record_that_was_read_is_written_as_it_was(store, make_record, labels):
    rng = np.random.default_rng(labels)
    gold = rng.integers(labels, size=300).tolist()
    predictions = np.where(rng.random(300) < 0.7, gold, rng.integers(labels, size=300)).tolist()
    result = answer(make_record(), gold, predictions, labels)
    path = store.save(result)
    before = path.read_bytes()
    read = read_record(path)
    assert read == result
    assert list(read.scores.gold) == gold
    assert list(read.scores.predictions) == predictions
    assert store.save(read).read_bytes() == before
    assert path.read_text() == json.dumps(read.as_dict(), ensure_ascii=False, separators=(",", ":")) + "\n"


@given(st.lists(st.integers(0, 1 << 40)))
def test_answers_are_packed_and_unpacked(answers):
    packed = pack(answers)
    assert list(packed) == answers
    assert pack(packed) is packed
    assert len(bytes(packed)) == len(answers) * (1 if max(answers, default=0) < 256 else 8)


def test_a_name_like_a_key_changes_nothing(store, make_record, change):
    label = 'x,"gold":[1],"predictions":[1],"classes":{"status":'
    result = answer(make_record(), [0, 1], [0, 0], 2)
    counts = dict(zip((label, "y"), result.scores.classes.values(), strict=True))
    result = change(result, error=label, preset=label, outcome__classes=counts)
    assert read_record(store.save(result)) == result


def test_counts_that_are_not_those_of_the_answers_are_read_as_they_stand(store, make_record, change):
    counts = {name: Counts(train=1, dev=2, test=3, right=7) for name in "AB"}
    result = change(make_record(), outcome__classes=counts)
    assert read_record(store.save(result)).scores.classes == counts


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff", b"[" * 100_000, b"1" * 5000, b'{"format": 1', b"\xef\xbb\xbf{}"]
)
def test_a_file_that_is_no_json(tmp_path, content):
    path = tmp_path / "a--b.json"
    path.write_bytes(content)
    assert error_of(path) == "not a whole JSON file. Delete it and run the cell again"


@pytest.mark.parametrize("content", [None, 3, [], "x", {}, {"format": 0}, {"format": "1"}, {"format": None}])
def test_another_json_file(tmp_path, content):
    path = tmp_path / "a--b.json"
    path.write_text(json.dumps(content))
    assert error_of(path) == f"not a result record of format {FORMAT}. Delete it and run the cell again"


def test_a_record_that_cannot_be_read(tmp_path):
    assert error_of(tmp_path) == "cannot be read (Is a directory)"
    assert error_of(tmp_path / "no.json") == "cannot be read (No such file or directory)"


FINITE = "1.7976931348623157e+308"
FIELDS = [
    (["task"], 3, "Expected `str`, got `int` - at `$.task`"),
    (["family"], "odd", "Invalid enum value 'odd' - at `$.family`"),
    (["seed"], "0", "Expected `int`, got `str` - at `$.seed`"),
    (["seed"], True, "Expected `int`, got `bool` - at `$.seed`"),
    (["seed"], 1.0, "Expected `int`, got `float` - at `$.seed`"),
    (["seed"], 2**63, "Expected `int` <= 9223372036854775807 - at `$.seed`"),
    (["seed"], -(2**63), "Expected `int` >= -9223372036854775807 - at `$.seed`"),
    (["status"], "running", "Invalid enum value 'running' - at `$.status`"),
    (["error"], 1, "Expected `str | null`, got `int` - at `$.error`"),
    (["data"], None, "Expected `object`, got `null` - at `$.data`"),
    (["data"], {}, "Object missing required field `name` - at `$.data`"),
    (["data", "verified"], "yes", "Expected `bool | null`, got `str` - at `$.data.verified`"),
    (["data", "verified"], 1, "Expected `bool | null`, got `int` - at `$.data.verified`"),
    (["model", "extra"], 1, "Object contains unknown field `extra` - at `$.model`"),
    (["model", "a\n\x1b" + "b" * 300], 1, "Object contains unknown field `a [...]"),
    (["model", "\x1b'\""], 1, "Object contains unknown field `\\x1b\\'\"` - at `$.model`"),
    (["extra"], 1, "Object contains unknown field `extra`"),
    (["settings"], {"model": 3}, "Expected `object`, got `int` - at `$.settings[...]`"),
    (["settings", "model", "x"], 2**63, "Expected `int` <= 9223372036854775807 - at `$.settings[...][...]`"),
    (["settings", "model", "x"], float("inf"), f"Expected `float` <= {FINITE} - at `$.settings[...][...]`"),
    (["settings", "model", "x"], float("nan"), f"Expected `float` >= -{FINITE} - at `$.settings[...][...]`"),
    (
        ["settings", "model", "x"],
        [[[[[[[[[[[1]]]]]]]]]]],
        f"Expected `bool | int | float | str | null`, got `array` - at `$.settings[...][...]{'[0]' * 10}`",
    ),
    (["scores"], None, "finished records have scores, failed ones have none"),
    (["status"], "failed", "finished records have scores, failed ones have none"),
    (["scores"], [], "Expected `object | null`, got `array` - at `$.scores`"),
    (["scores", "extra"], 1, "Object contains unknown field `extra`"),
    (["scores", "test_accuracy"], "80", "Expected `int | float`, got `str` - at `$.test_accuracy`"),
    (["scores", "test_accuracy"], True, "Expected `int | float`, got `bool` - at `$.test_accuracy`"),
    (["scores", "test_accuracy"], 100.5, "Expected `float` <= 100.0 - at `$.test_accuracy`"),
    (["scores", "dev_accuracy"], -1, "Expected `int` >= 0 - at `$.dev_accuracy`"),
    (["scores", "majority_accuracy"], 101, "Expected `int` <= 100 - at `$.majority_accuracy`"),
    (["scores", "test_accuracy"], float("nan"), "Expected `float` >= 0.0 - at `$.test_accuracy`"),
    (["scores", "test_accuracy"], 10**400, "Expected `int` <= 100 - at `$.test_accuracy`"),
    (["scores", "best_epoch"], 10**400, "Expected `int` <= 9223372036854775807 - at `$.best_epoch`"),
    (["scores", "curve"], [1], "Expected `object`, got `int` - at `$.curve[0]`"),
    (["scores", "curve"], [{"loss": "x"}], "Expected `int | float`, got `str` - at `$.curve[0][...]`"),
    (["scores", "curve"], [{"loss": 1}], "an epoch of the curve lacks its number, loss or dev_accuracy"),
    (["scores", "classes"], {"A": 1}, "Expected `object`, got `int` - at `$.classes[...]`"),
    (["scores", "classes", "PAST"], {"train": 1}, "Object missing required field `dev` - at `$.classes[...]`"),
    (["scores", "classes", "PAST", "x"], 1, "Object contains unknown field `x` - at `$.classes[...]`"),
    (["scores", "classes", "PAST", "dev"], -1, "Expected `int` >= 0 - at `$.classes[...].dev`"),
    (["scores", "classes", "PAST", "dev"], 2**63, "Expected `int` <= 9223372036854775807 - at `$.classes[...].dev`"),
    (["scores", "gold"], [0.5], "Expected `int`, got `float` - at `$.gold[0]`"),
    (["scores", "gold"], [0, 1.0], "Expected `int`, got `float` - at `$.gold[1]`"),
    (["scores", "gold"], [0, None], "Expected `int`, got `null` - at `$.gold[1]`"),
    (["scores", "gold"], "01", "Expected `array`, got `str` - at `$.gold`"),
    (["scores", "gold"], [-1, 0], "Expected `int` >= 0 - at `$.gold[0]`"),
    (["scores", "gold"], [0, 2**63], "Expected `int` <= 9223372036854775807 - at `$.gold[1]`"),
    (["scores", "gold"], [0, 2], "gold or predictions name a class that is not there"),
    (["scores", "gold"], [0, 2**40], "gold or predictions name a class that is not there"),
    (["scores", "gold"], [0, 1, 1], "there are 3 test labels and 2 predictions"),
    (["scores", "predictions"], [2, 0], "gold or predictions name a class that is not there"),
    (["scores", "predictions"], [0, [0]], "Expected `int`, got `array` - at `$.predictions[1]`"),
    (["scores", "predictions"], {}, "Expected `array`, got `object` - at `$.predictions`"),
    (
        ["scores", "configurations"],
        [{"l2": float("inf")}],
        f"Expected `float` <= {FINITE} - at `$.configurations[0][...]`",
    ),
    (["scores", "description"], {}, "Object missing required field `bits` - at `$.description`"),
    (["measure"], "length", "Invalid enum value 'length' - at `$.measure`"),
    (["measure"], ["accuracy"], "Expected `str`, got `array` - at `$.measure`"),
    (["timing", "seconds"], None, "Expected `int | float`, got `null` - at `$.timing.seconds`"),
    (["where"], [], "Expected `object`, got `array` - at `$.where`"),
    (["format"], True, "Expected `int`, got `bool` - at `$.format`"),
]


@pytest.mark.parametrize(("where", "value", "text"), FIELDS)
def test_a_field_of_another_type(store, make_record, where, value, text):
    path = store.save(make_record())
    content = json.loads(path.read_text())
    inner = content
    for name in where[:-1]:
        inner = inner[name]
    inner[where[-1]] = value
    path.write_text(json.dumps(content))
    assert error_of(path) == f"not a result record ({text}). Delete it and run the cell again"


@pytest.mark.parametrize("name", ["sha256", "semantic"])
def test_stray_bytes_in_the_name_of_a_field_or_family(store, make_record, name):
    path = store.save(make_record())
    path.write_text(path.read_text().replace(f'"{name}"', f'"{name}\\udce9"'))
    assert error_of(path).startswith("not a result record (")


@pytest.mark.parametrize("number", ["1e400", "NaN", "-Infinity"])
@pytest.mark.parametrize("label", ["EM", "\\udce9"])
def test_a_number_that_is_not_finite(store, make_record, number, label):
    path = store.save(make_record())
    path.write_text(path.read_text().replace('"seconds":12.5', f'"seconds":{number}').replace('"EM"', f'"{label}"'))
    assert "not a result record (Expected `float` " in error_of(path)
    assert "at `$.timing.seconds`)" in error_of(path)


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ('"gold":[0,1]', '"gold":[00,1]', "not a whole JSON file"),
        ('"gold":[0,1]', '"gold":[0,"x"]', "Expected `int`, got `str` - at `$.gold[1]`"),
        ('"predictions":[0,0]', '"predictions":[]', "there are 2 test labels and 0 predictions"),
        ('"predictions":[0,0]', '"predictions":[0]', "there are 2 test labels and 1 predictions"),
        ('"scores":{', '"scores":null,"other":{', "Object contains unknown field `other`"),
        ('"settings":{', '"settings":{"x":3,', "Expected `object`, got `int` - at `$.settings[...]`"),
        ("]", "", "not a whole JSON file"),
    ],
)
def test_a_text_that_is_no_record(store, make_record, old, new, text):
    path = store.save(make_record())
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    assert text in error_of(path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"test":1,"right":0', '"right":0,"test":1'),
        ('"gold":[0,1]', '"gold" : [\n0, 1]'),
        ('{"task"', '{"data":3,"task"'),  # of two fields of one name the last counts, as ever in JSON
    ],
)
def test_a_record_that_is_spelled_otherwise(store, make_record, old, new):
    path = store.save(make_record())
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    assert read_record(path) == make_record()


def test_a_missing_field(store, make_record):
    path = store.save(make_record())
    whole = json.loads(path.read_text())
    for name in whole.keys() - {"measure"}:
        path.write_text(json.dumps({key: value for key, value in whole.items() if key != name}))
        assert "not a result record" in error_of(path)


def test_a_record_from_before_there_were_measures_is_one_of_accuracy(store, make_record):
    path = store.save(make_record())
    content = json.loads(path.read_text())
    del content["measure"], content["scores"]["description"]
    path.write_text(json.dumps(content))
    assert read_record(path) == make_record()
    assert read_record(path).identity.measure == "accuracy"


@pytest.mark.parametrize("measure", ["random-labels", "description-length"])
def test_another_measure_is_another_record(store, make_record, change, measure):
    pieces = [{"trained": 0, "bits": 50.5}]
    description = DescriptionLength(bits=50.5, uniform_bits=101.0, compression=2.0, pieces=pieces)
    result = change(make_record(seed=7, measure=measure), outcome__description=description)
    assert result.key != make_record(seed=7).key
    assert result.path(store.folder).name == f"mini--Tense--em--mini--seed7--{measure}--{result.key[:12]}.json"
    store.save(make_record(seed=7))
    assert read_record(store.save(result)) == result
    assert len(store.load(pytest.fail)) == 2


@given(JSON)
@QUICK
def test_any_json_is_refused_and_never_breaks(tmp_path, content):
    path = tmp_path / "a--b.json"
    path.write_text(json.dumps(content))
    assert error_of(path)


@given(st.data())
@QUICK
def test_any_change_to_a_record_is_refused_or_harmless(tmp_path, make_record, data):
    """What is read can always be written again."""
    store = Store(tmp_path)
    content = make_record().as_dict()
    inner = content
    while True:
        name = data.draw(st.sampled_from(sorted(inner)))
        if not (isinstance(inner[name], dict) and inner[name] and data.draw(st.booleans())):
            break
        inner = inner[name]
    inner[name] = data.draw(JSON)
    path = tmp_path / "a--b.json"
    path.write_text(json.dumps(content))
    try:
        result = read_record(path)
    except ProbingError:
        return
    assert read_record(store.save(result)) == result


def test_a_record_of_a_newer_version_is_named(tmp_path):
    path = tmp_path / "a--b.json"
    path.write_text('{"format": 2, "anything": 1}')
    assert error_of(path) == "a record of format 2, from a newer version of probing. Update probing"


def test_a_record_is_not_read_beyond_a_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "MAX_RECORD", 1 << 10)
    path = tmp_path / "a--b.json"
    path.write_text("[" + "0," * 1000 + "0]")
    assert error_of(path) == "more than 1 KiB. Is it the right file?"


def test_a_record_with_too_many_lists_is_refused_before_it_is_built(tmp_path):
    """Sixteen megabytes of empty lists would take half a gigabyte."""
    path = tmp_path / "a--b.json"
    path.write_text('{"format":1,"x":[' + "[]," * 200_000 + "0]}", encoding="utf-8")
    reason = "more than 200,000 lists and objects"
    assert error_of(path) == f"not a result record ({reason}). Delete it and run the cell again"


def test_older_records_are_read_for_ever_and_stay_as_they_are():
    """All that the project has measured, before records named the processor as well."""
    folders = [Path(__file__).parents[2] / "results", Path(__file__).parents[1] / "golden" / "older_records"]
    paths = [path for folder in folders for path in folder.rglob("*--*.json")]
    records = {path: read_record(path) for path in paths if not path.name.endswith(EXPLANATION_ENDING)}
    assert len(records) > 300
    for path, found in records.items():
        assert found.key == found.identity.key
        assert to_json(found.as_dict(), separators=(",", ":")) + "\n" == path.read_text(encoding="utf-8"), path
    assert any("processor" not in found.where for found in records.values())


def test_a_record_may_name_the_processor_and_its_key_stays(store, make_record):
    before = make_record()
    named = structs.replace(before, where={**before.where, "processor": "AMD EPYC", "instruction_set": "AVX2"})
    assert named.key == before.key == named.identity.key
    assert read_record(store.save(named)).where["processor"] == "AMD EPYC"
