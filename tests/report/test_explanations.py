from __future__ import annotations

import json

import pytest

from probing.report.explanations import load_explanations


@pytest.fixture
def folder(tmp_path, explanations):
    for name, content in explanations.items():
        (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")
    return tmp_path


def test_sentences_and_masked_heads_are_read(folder):
    found = load_explanations(folder, pytest.fail)
    first, second = found.sentences
    assert (first["task"], first["model"], first["predicted"], first["gold"]) == ("Tense", "Base", "PRES", "PAST")
    assert first["layers"][0] == {"attention": [[[333] * 3] * 3] * 2}
    assert second["layers"][1]["agreement"] == [[[[250] * 4] * 2] * 3] * 3
    assert second["layers"][1]["share"][0][0] == [[500] * 4] * 2
    assert found.masking[0] == {"task": "Tense", "model": "Base", "layer": 1, "head": 1, "accuracy": 71.0, "drop": 2.5}
    assert len(found.masking) == 8
    (layer,) = found.routing  # of a file without routed layers, or of an older one, there is none
    assert layer["effective_heads"] == [4.0, 2.5]
    assert (layer["task"], layer["layer"], layer["spread"]) == ("Tense", 1, 0.02)
    assert found.left_out == 0
    assert found


def test_a_folder_without_explanations(tmp_path):
    assert not load_explanations(tmp_path, pytest.fail)


def test_the_size_of_a_page_limits_its_sentences(folder):
    found = load_explanations(folder, pytest.fail, limit=800)
    assert [one["model"] for one in found.sentences] == ["Base"]
    assert found.left_out == 1
    assert len(found.masking) == 8


DAMAGES = {
    "no JSON": lambda content: "{",
    "a list": lambda content: [],
    "no task": lambda content: content | {"task": 3},
    "no tokens": lambda content: content | {"sentences": [{}]},
    "a missing row": lambda content: content["sentences"][0]["layers"][0]["attention"][0].pop() and content,
    "text": lambda content: content | {"masking": [{"layer": 1, "head": "1", "accuracy": 1, "drop": 1}]},
    "not finite": lambda content: content | {"masking": [{"layer": 1, "head": 1, "accuracy": float("nan"), "drop": 1}]},
    "gigantic": lambda content: content | {"masking": [{"layer": 1, "head": 1, "accuracy": 10**400, "drop": 1}]},
    "gigantic weight": lambda content: (
        content["sentences"][0]["layers"][0].update(attention=[[[1e308] * 3] * 3] * 2) or content
    ),
    "no seed": lambda content: content | {"seed": "0"},
    "no weights": lambda content: content["sentences"][0]["layers"][0].update(share=[]) or content,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_named(tmp_path, explanations, damage):
    content = DAMAGES[damage](json.loads(json.dumps(explanations["b.explanation.json"])))
    path = tmp_path / "x.explanation.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    warnings = []
    assert not load_explanations(tmp_path, warnings.append)
    assert warnings == [f"{path}: not an explanation. Delete it and run `probe explain` again"]


def test_an_unreadable_file_is_named(tmp_path):
    (tmp_path / "x.explanation.json").mkdir()
    warnings = []
    assert not load_explanations(tmp_path, warnings.append)
    assert warnings == [f"{tmp_path}/x.explanation.json: cannot be read (Is a directory)"]


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"seed": 1}, ["Base, seed 0", "Base, seed 1"]),
        ({"data": "books"}, ["Base, mini", "Base, books"]),
        ({"preset": "small", "seed": 1}, ["Base, mini", "Base, small"]),
        ({"key": "1" * 64}, ["Base, 000000000000", "Base, 111111111111"]),
        ({"task": "SubNm", "seed": 1}, ["Base", "Base"]),
    ],
)
def test_models_of_one_task_have_different_names(tmp_path, explanations, changes, names):
    first = explanations["a.explanation.json"]
    for name, content in (("a", first), ("b", first | changes)):
        (tmp_path / f"{name}.explanation.json").write_text(json.dumps(content), encoding="utf-8")
    found = load_explanations(tmp_path, pytest.fail)
    assert [one["model"] for one in found.sentences] == names
    assert [one["model"] for one in found.masking] == [name for name in names for _ in range(4)]
