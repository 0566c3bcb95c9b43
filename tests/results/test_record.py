from __future__ import annotations

import copy
import dataclasses
import json
import os
import re
from concurrent.futures import ProcessPoolExecutor as Pool

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from probing.config import PRESETS
from probing.errors import ProbingError
from probing.results.record import FORMAT, DataIdentity, DescriptionLength, ModelIdentity, as_dict, make_key, read_record
from probing.results.store import Store
from probing.storage.files import write_atomically

QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
WHOLE = {
    "data": DataIdentity(name="mini", file="past_present.txt", sha256="0" * 64),
    "task": "Tense",
    "model": ModelIdentity(name="em", label="EM", version="built-in"),
    "preset": "mini",
    "settings": PRESETS["mini"].as_dict(),
    "seed": 0,
}


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "results")


def no_damage(text):
    pytest.fail(text)


def error_of(path):
    with pytest.raises(ProbingError) as caught:
        read_record(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(f"{path}: ")


@pytest.mark.parametrize("accuracy", [80.123456789012345, 0.0, 100.0, None])
def test_a_record_comes_back_as_it_was(store, make_record, accuracy):
    result = make_record(accuracy=accuracy)
    path = store.save(result)
    assert path == result.path(store.folder)
    assert read_record(path) == result
    assert store.load(no_damage) == [result]


def test_the_settings_come_back_as_json_has_them(store, make_record):
    result = make_record(settings=PRESETS["mini"].as_dict())
    loaded = read_record(store.save(result))
    assert loaded.settings == json.loads(json.dumps(result.identity.settings))
    assert make_key(**(WHOLE | {"settings": loaded.settings})) == make_key(**WHOLE)


@given(st.text(), st.text(), st.floats(0, 100), st.integers(0, 2**40))
@QUICK
def test_any_text_and_number_comes_back(tmp_path, make_record, change, label, error, accuracy, seed):
    store = Store(tmp_path)
    result = change(make_record(accuracy=accuracy, seed=seed), model__label=label, error=error)
    path = store.save(result)
    assert read_record(path) == result
    path.unlink()


def test_a_record_can_be_read_by_people_and_programs(store, make_record, change):
    path = store.save(change(make_record(), data__name="Bücher"))
    content = json.loads(path.read_text(encoding="utf-8"))
    assert "Bücher" in path.read_text(encoding="utf-8")
    assert list(content) == [field.name for field in dataclasses.fields(make_record())]
    assert content["scores"]["test_accuracy"] == 80.0
    assert path.read_bytes().endswith(b"}\n")


def test_bytes_that_are_no_unicode_come_back_too(store, make_record, change):
    result = change(make_record(), data__name=os.fsdecode(b"caf\xe9"))
    assert read_record(store.save(result)) == result


def test_the_file_is_named_after_the_cell(store, make_record):
    result = make_record(seed=7)
    assert result.path(store.folder).parent == store.folder
    assert result.path(store.folder).name == f"mini--Tense--em--mini--seed7--{result.key[:12]}.json"
    assert oct(store.save(result).stat().st_mode & 0o777) == oct(0o666 & ~current_umask())


def current_umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


HOSTILE = ["../../x", "/etc/passwd", "..", ".", "", "a/b\\c", "a\0b", "a\nb", "*?[a]", "~", "-rf", "x" * 300, "語" * 99]


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_leaves_the_folder(store, make_record, change, name):
    result = change(make_record(), data__name=name, task=name, model__name=name, preset=name)
    path = store.save(result)
    assert path.resolve().parent == store.folder.resolve()
    assert re.fullmatch(r"[\w.+-]+", path.name)
    assert os.listdir(store.folder) == [path.name]
    assert store.load(no_damage) == [result]


def test_names_that_are_cut_stay_apart_by_their_keys(store, make_record, change):
    results = [change(make_record(), data__name="x" * 100 + end, key=end * 64) for end in "ab"]
    assert len({store.save(result) for result in results}) == 2


def test_a_second_save_replaces_the_first(store, make_record):
    store.save(make_record(accuracy=None))
    store.save(make_record(accuracy=70.0))
    assert [result.status for result in store.load(no_damage)] == ["finished"]


def test_a_record_that_is_not_a_number_is_refused(store, make_record):
    for number in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="not JSON compliant"):
            store.save(make_record(accuracy=number))
    assert store.load(no_damage) == []


def test_a_folder_that_is_not_there_has_no_records(store):
    assert store.load(no_damage) == []


def test_records_come_in_a_stable_order_and_other_files_are_left_alone(store, make_record):
    results = [make_record(seed=seed, model=model) for seed in (2, 1) for model in ("em", "base")]
    for result in results:
        store.save(result)
    (store.folder / "README.md").write_text("x")
    (store.folder / "notes.json").write_text("x")
    (store.folder / ".mini--Tense--em.json.ab12cd").write_text("half a record")
    loaded = store.load(no_damage)
    assert [(result.identity.model.name, result.identity.seed) for result in loaded] == [("base", 1), ("base", 2), ("em", 1), ("em", 2)]


def test_two_processes_read_what_one_reads(store, make_record, monkeypatch):
    for seed in range(7):
        store.save(make_record(seed=seed))
    (store.folder / "a--b.json").write_text("{", encoding="utf-8")
    said_by_one, said_by_two = [], []
    alone = store.load(said_by_one.append)
    pools = []
    monkeypatch.setattr("probing.results.FILES_FOR_TWO", 2)
    monkeypatch.setattr("probing.results.threading.active_count", lambda: 1)
    monkeypatch.setattr(
        "probing.results.ProcessPoolExecutor", lambda *args, **options: pools.append(1) or Pool(*args, **options)
    )
    assert store.load(said_by_two.append) == alone
    assert said_by_two == said_by_one != []
    assert pools == [1]


def test_a_damaged_record_is_named_and_left_alone(store, make_record):
    good, bad = store.save(make_record()), store.save(make_record(seed=1))
    bad.write_text(bad.read_text()[:100])
    said = []
    assert store.load(said.append) == [read_record(good)]
    assert said == [f"{bad}: not a whole JSON file. Delete it and run the cell again"]
    assert len(bad.read_text()) == 100


@pytest.mark.parametrize("step", ["fsync", "replace", "chmod"])
@pytest.mark.parametrize("problem", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_in_the_middle_leaves_the_old_record(store, make_record, monkeypatch, step, problem):
    path = store.save(make_record(accuracy=70.0))
    before = path.read_bytes()

    def fail(*args):
        raise problem

    monkeypatch.setattr(os, step, fail)
    expected = ProbingError if isinstance(problem, OSError) else KeyboardInterrupt
    with pytest.raises(expected) as caught:
        store.save(make_record(accuracy=80.0))
    if expected is ProbingError:
        assert str(caught.value) == f"{path}: the result cannot be written (No space left on device)"
    assert path.read_bytes() == before
    assert os.listdir(store.folder) == [path.name]


def test_a_folder_that_cannot_be_made(tmp_path, make_record):
    (tmp_path / "file").write_text("")
    store = Store(tmp_path / "file")
    with pytest.raises(ProbingError, match=r"\.json: the result cannot be written \("):
        store.save(make_record())


def test_a_text_is_written_as_it_is(tmp_path):
    write_atomically(tmp_path / "new" / "a.txt", "ä\r\n\n")
    assert (tmp_path / "new" / "a.txt").read_bytes() == "ä\r\n\n".encode()


def test_the_key_is_the_same_in_every_process():
    assert re.fullmatch("[0-9a-f]{64}", make_key(**WHOLE))
    assert make_key(**copy.deepcopy(WHOLE)) == make_key(**WHOLE)
    shuffled = {section: dict(reversed(values.items())) for section, values in reversed(WHOLE["settings"].items())}
    assert make_key(**(WHOLE | {"settings": shuffled})) == make_key(**WHOLE)


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
    changed = WHOLE | {part: dataclasses.replace(WHOLE[part], **{field: "other"})}
    assert (make_key(**changed) != make_key(**WHOLE)) == matters


def test_the_key_changes_with_task_preset_seed_and_format(monkeypatch):
    keys = {make_key(**(WHOLE | change)) for change in ({}, {"task": "WC"}, {"preset": "small"}, {"seed": 1})}
    monkeypatch.setattr("probing.results.FORMAT", FORMAT + 1)
    assert len(keys | {make_key(**WHOLE)}) == 5


def test_the_key_changes_with_every_setting():
    keys = {make_key(**WHOLE)}
    for section, values in WHOLE["settings"].items():
        for name in values:
            other = copy.deepcopy(WHOLE["settings"])
            other[section][name] = "other"
            keys.add(make_key(**(WHOLE | {"settings": other})))
    assert len(keys) == 1 + sum(map(len, WHOLE["settings"].values()))


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


@pytest.mark.parametrize(
    ("where", "value", "text"),
    [
        (["task"], 3, "task is not of type str"),
        (["family"], "odd", "family is not of type Literal['surface', 'syntactic', 'semantic', 'own']"),
        (["seed"], "0", "seed is not of type int"),
        (["seed"], True, "seed is not of type int"),
        (["status"], "running", "status is not of type Literal['finished', 'failed']"),
        (["error"], 1, "error is not of type str"),
        (["data"], None, "data must have exactly the fields name, file, sha256, verified, datasheet"),
        (["data"], {}, "data must have exactly the fields name, file, sha256, verified, datasheet"),
        (["data", "verified"], "yes", "verified is not of type bool"),
        (["model", "extra"], 1, "model must have exactly the fields name, label, version"),
        (["settings"], {"model": 3}, "settings is not of type dict[str, dict[str, Any]]"),
        (["scores"], None, "finished records have scores, failed ones have none"),
        (["status"], "failed", "finished records have scores, failed ones have none"),
        (["scores", "test_accuracy"], "80", "test_accuracy is not of type float"),
        (["scores", "test_accuracy"], float("nan"), "test_accuracy is not of type float"),
        (["scores", "test_accuracy"], 10**400, "test_accuracy is not of type float"),
        (["scores", "curve"], [1], "curve is not of type list[dict[str, float]]"),
        (["scores", "curve"], [{"loss": "x"}], "curve is not of type list[dict[str, float]]"),
        (["scores", "classes"], {"A": 1}, "classes is not of type dict[str, dict[str, int]]"),
        (["scores", "gold"], [0.5], "gold is not of type list[int]"),
        (["scores", "predictions"], {}, "predictions is not of type list[int]"),
        (["measure"], "length", "measure is not of type Literal['accuracy', 'random-labels', 'description-length']"),
        (
            ["scores", "description"],
            {},
            "description must have exactly the fields bits, uniform_bits, compression, pieces",
        ),
        (["timing", "seconds"], None, "seconds is not of type float"),
        (["where"], [], "where is not of type dict[str, Any]"),
    ],
)
def test_a_field_of_another_type(store, make_record, where, value, text):
    path = store.save(make_record())
    content = json.loads(path.read_text())
    inner = content
    for name in where[:-1]:
        inner = inner[name]
    inner[where[-1]] = value
    path.write_text(json.dumps(content))
    assert error_of(path) == f"not a result record ({text}). Delete it and run the cell again"


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
    assert read_record(path).measure == "accuracy"


@pytest.mark.parametrize("measure", ["random-labels", "description-length"])
def test_another_measure_is_another_record(store, make_record, change, measure):
    description = DescriptionLength(bits=50.5, uniform_bits=101.0, compression=2.0, pieces=[{"trained": 0, "bits": 50.5}])
    result = change(make_record(seed=7), measure=measure, key=make_key(**WHOLE, measure=measure))
    result = change(result, scores__description=description)
    assert make_key(**WHOLE, measure=measure) != make_key(**WHOLE, measure="accuracy") == make_key(**WHOLE)
    assert result.path(store.folder).name == f"mini--Tense--em--mini--seed7--{measure}--{result.key[:12]}.json"
    store.save(make_record(seed=7))
    assert read_record(store.save(result)) == result
    assert len(store.load(no_damage)) == 2


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
    content = as_dict(make_record())
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
    if name not in ("settings", "where") and inner is content:
        assert read_record(store.save(result)) == result
