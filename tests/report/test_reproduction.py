from __future__ import annotations

import json
import shlex

import pytest

from probing.config import resolve_config
from probing.report.grouping import group_results
from probing.report.reproduction import list_commands
from probing.tasks import TASKS


def settings_of(*changes):
    return json.loads(json.dumps(resolve_config("mini", settings=changes).as_dict()))


@pytest.fixture
def commands():
    def make(records, **options):
        (group,) = group_results(records)
        return list_commands(group, **options)

    return make


def test_models_that_were_run_alike_share_a_command(make_record, commands):
    records = [
        make_record(task.name, model, settings=settings_of(), seed=seed, size=100)
        for task in TASKS
        for model in ("base", "simple", "em")
        for seed in (0, 1)
    ]
    assert commands(records, folder="my results") == [
        "probe run --aggregator base --aggregator simple --aggregator em --task all --data mini --preset mini "
        "--seeds 2 --results 'my results'"
    ]


def test_settings_that_differ_from_the_preset_are_given(make_record, commands):
    changed = settings_of("model.iterations=2", "model.squash=false", "model.layers_with_aggregator=1,2")
    records = [make_record("Tense", seed=seed, settings=changed) for seed in (3, 5)]
    assert commands(records) == [
        "probe run --aggregator em --task Tense --data mini --preset mini --seeds 3,5 --set model.iterations=2 "
        "--set model.squash=false --set model.layers_with_aggregator=1,2 --results results"
    ]
    settings = [part for part in commands(records)[0].split() if part.startswith("model.")]
    assert json.loads(json.dumps(resolve_config("mini", settings=settings).as_dict())) == changed


def test_one_seed_is_a_list_of_one(make_record, commands):
    assert "--seeds 4, " in commands([make_record(seed=4, settings=settings_of())])[0]


@pytest.mark.parametrize(
    ("name", "settings", "expected"),
    [
        ("bag-of-words", {"encoder": {"dtype": "float32"}}, "--encoder bag-of-words --task Tense"),
        ("huggingface:x layer 04", {"encoder": {"layer": 4, "pooling": "mean"}}, "--encoder huggingface:x --layer 4 "),
        ("huggingface:x layer 04", {"encoder": {"layer": 4, "pooling": "cls"}}, " --pooling cls --probe linear "),
        ("x.py:E untrained", {"encoder": {}}, "--encoder x.py:E --task Tense"),
        ("x.py:E untrained", {"encoder": {}}, " --probe linear --control random-encoder "),
    ],
)
def test_frozen_encoders(make_record, change, commands, name, settings, expected):
    label = name.replace("layer 04", "layer 4")
    probed = settings | {"probe": {"probe": "linear"}}
    (command,) = commands([change(make_record(), model__name=name, model__label=label, settings=probed)])
    assert expected in command
    assert "--set" not in command


@pytest.mark.parametrize(
    ("name", "label", "encoder", "expected"),
    [
        ("x.py:E", "E", {"path": "v.txt", "dim": 3, "whole": True}, "--encoder 'x.py:E?path=v.txt&dim=3&whole=true'"),
        ("x.py:E", "E", {"sign": "a b&c"}, "--encoder 'x.py:E?sign=a%20b%26c'"),
        ("x.py:E", "Mine", {}, "--encoder Mine=x.py:E"),
        ("length", "Length", {}, "--encoder length"),
        ("length", "Floor", {}, "--encoder Floor=length"),
        ("huggingface:a/b", "b", {}, "--encoder huggingface:a/b"),
        ("huggingface:a/b layer 02", "B layer 2", {"layer": 2}, "--encoder B=huggingface:a/b --layer 2"),
        ("huggingface:a/b mix", "b mix", {"layer": "mix"}, "--encoder huggingface:a/b --layer mix"),
        ("huggingface:a/b untrained", "b untrained", {}, "--encoder huggingface:a/b"),
        ("huggingface:b", "b", {"model_dtype": "bfloat16"}, "--encoder huggingface:b --model-dtype bfloat16"),
        ("huggingface:b", "b", {"prompt": "q: {text}"}, "--encoder huggingface:b --prompt 'q: {text}'"),
        ("huggingface:b", "b", {"special_tokens": False}, "--encoder huggingface:b --no-special-tokens"),
        ("huggingface:b", "b", {"detokenise": True}, "--encoder huggingface:b --detokenise"),
        ("senteval:s.py", "s", {}, "--encoder senteval:s.py"),
    ],
)
def test_a_command_makes_the_same_row(make_record, change, commands, name, label, encoder, expected):
    settings = {"encoder": encoder, "probe": {"probe": "linear"}}
    (command,) = commands([change(make_record(), model__name=name, model__label=label, settings=settings)])
    options = set(shlex.split(command)) - {"probe", "run"}
    assert set(shlex.split(expected)) <= options
    unexpected = {"--layer", "--prompt", "--detokenise", "--no-special-tokens", "--model-dtype"} - {*expected.split()}
    assert not options & unexpected


def test_a_probe_on_some_of_the_sentences(make_record, change, commands):
    settings = {"encoder": {}, "probe": {"probe": "linear"}, "training": {"sentences": 500}}
    (command,) = commands([change(make_record(), model__name="length", model__label="Length", settings=settings)])
    assert command.endswith(" --probe linear --set training.sentences=500 --results results")


def test_all_layers_are_one_command(gallery, commands):
    (command,) = [one for one in commands(gallery) if "bert" in one]
    assert command.startswith("probe run --encoder bert --layer all --task SeLen,WC,ToCo,Tense ")


def test_controls_are_part_of_their_models_command(make_record, change, commands):
    record = make_record(settings=settings_of(), size=100)
    untrained = change(record, model__name="em untrained", model__label="EM, untrained")
    others = [change(record, measure=measure, key=measure) for measure in ("random-labels", "description-length")]
    (command,) = commands([record, untrained, *others])
    assert command == (
        "probe run --aggregator em --task Tense --data mini --preset mini --seeds 1 --control random-labels "
        "--control random-encoder --mdl --results results"
    )


def test_controls_belong_to_the_model_that_was_run_with_them(make_record, change, commands):
    """Rows may share a name and differ in options, as two poolings of an encoder do."""
    first, second = (
        make_record(model="huggingface:a/b layer 2", settings={"encoder": {"layer": 2} | more, "probe": {}}, size=100)
        for more in ({}, {"pooling": "cls"})
    )
    control = change(first, model__name="huggingface:a/b layer 2 untrained", model__label="b layer 2, untrained")
    for command in (two := commands([first, change(second, key="other"), control])):
        assert ("--control random-encoder" in command) != ("--pooling cls" in command)
    assert len(two) == 2


def test_controls_on_some_tasks_have_a_command_of_their_own(make_record, change, commands):
    records = [make_record(task, settings=settings_of(), size=100) for task in ("Tense", "SubNm")]
    untrained = change(records[0], model__name="em untrained", model__label="EM, untrained")
    both, control = commands([*records, untrained])
    assert ("--task Tense,SubNm " in both, "--control" in both) == (True, False)
    assert ("--task Tense " in control, "--control random-encoder" in control) == (True, True)


def test_fine_tuned_encoders(make_record, change, commands):
    settings = settings_of()
    del settings["routing"]
    (command,) = commands([change(make_record(settings=settings), model__name="x.py:E fine-tuned")])
    assert command.startswith("probe run --encoder x.py:E --task Tense")
    assert " --fine-tune " in command


def test_a_users_own_task_is_given_as_a_file(make_record, change, commands):
    record = change(make_record("my_task", settings=settings_of()), data__name="own", data__file="my task.tsv")
    assert commands([record])[0].startswith("probe run --aggregator em --task-file 'my task.tsv' --preset mini")


def test_names_are_quoted(make_record, change, commands):
    record = change(make_record(settings=settings_of()), model__name="a.py:$(rm -rf ~)")
    assert "--aggregator 'a.py:$(rm -rf ~)' " in commands([record])[0]
