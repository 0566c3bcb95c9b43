from __future__ import annotations

from typing import Any

import pytest

from probing.config import PRESETS
from probing.errors import ProbingError
from probing.experiments.models import choose_measures, choose_models
from probing.experiments.options import ModelOptions
from probing.tasks.index import load_task

CONFIG = PRESETS["mini"]


def names(**options: Any) -> list[str]:
    return [model.identity.name for model in choose_models(ModelOptions(**options))]


@pytest.mark.parametrize(
    ("aggregators", "encoders", "options", "expected"),
    [
        ([], [], {}, ["base", "simple", "em"]),
        ([], ["length"], {}, ["length"]),
        (["em,base"], ["length"], {}, ["em", "base", "length"]),
        (["em", "em"], [], {}, ["em"]),
        (["em"], [], {"baselines": True}, ["em", "length", "bag-of-words"]),
        (["em"], [], {"baselines": True, "probe": "linear"}, ["em", "length", "bag-of-words"]),
        ([], [], {"baselines": True}, ["base", "simple", "em", "length", "bag-of-words"]),
        ([], ["random-bag-of-words"], {"baselines": True}, ["random-bag-of-words", "length", "bag-of-words"]),
        ([], ["length"], {"baselines": True}, ["length", "bag-of-words"]),
        (
            [],
            ["transformer"],
            {"baselines": True, "fine_tune": True},
            ["transformer fine-tuned", "length", "bag-of-words"],
        ),
        (["em"], [], {"controls": ["random-labels"]}, ["em"]),
        (["em", "base"], [], {"controls": ["random-encoder"]}, ["em", "base", "em untrained", "base untrained"]),
        (
            ["em"],
            [],
            {"controls": ["random-encoder"], "baselines": True},
            ["em", "em untrained", "length", "bag-of-words"],
        ),
    ],
)
def test_the_rows_of_a_run(
    aggregators: list[str], encoders: list[str], options: dict[str, Any], expected: list[str]
) -> None:
    assert names(aggregators=aggregators, encoders=encoders, **options) == expected


@pytest.mark.parametrize(
    ("encoders", "options", "text"),
    [
        ([], {"aggregators": [","]}, "no aggregator was named. Name one, or 'all': see `probe aggregators`"),
        (
            [],
            {"baselines": True, "encoder_options": {"layer": "1"}},
            "--layer goes with --encoder: see `probe encoders`",
        ),
        ([], {"baselines": True, "fine_tune": True}, "--fine-tune goes with --encoder: see `probe encoders`"),
        ([], {"probe": "linear"}, "--probe goes with --encoder: see `probe encoders`"),
        ([], {"baselines": True, "probe": "knn"}, "unknown probe 'knn'. Known: mlp, linear, senteval, senteval-mlp"),
        (["length"], {"dtype": "int8"}, "unknown dtype 'int8'. Known: float32, float16"),
        (["length"], {"controls": ["random-encoder"]}, "encoder 'length' has no untrained form. huggingface:"),
    ],
)
def test_rows_that_there_are_not(encoders: list[str], options: dict[str, Any], text: str) -> None:
    with pytest.raises(ProbingError) as error:
        choose_models(ModelOptions(encoders=encoders, **options))
    assert str(error.value).startswith(text)


def test_the_measures_of_a_run() -> None:
    assert choose_measures(ModelOptions()) == ["accuracy"]
    assert choose_measures(ModelOptions(controls=["random-encoder"])) == ["accuracy"]
    assert choose_measures(ModelOptions(controls=["random-labels", "random-labels"], mdl=True)) == [
        "accuracy",
        "random-labels",
        "description-length",
    ]
    both = ["word-labels", "random-labels"]
    assert choose_measures(ModelOptions(controls=both)) == ["accuracy", "random-labels", "word-labels"]
    with pytest.raises(ProbingError) as error:
        choose_measures(ModelOptions(controls=["random-label"]))
    known = "Known: random-labels, word-labels, random-encoder"
    expected = f"unknown control 'random-label'. Did you mean 'random-labels'? {known}"
    assert str(error.value) == expected


def test_an_untrained_encoder_has_other_vectors_for_each_seed(tmp_path, task_file) -> None:
    plugin = tmp_path / "plugin.py"
    plugin.write_text(
        "class Mine:\n"
        "    def encode(self, sentences): return [[len(tokens)] for tokens in sentences]\n"
        "    def untrained(self, seed): return self\n"
    )
    trained, untrained = choose_models(ModelOptions(encoders=[f"{plugin}:Mine"], controls=["random-encoder"]))
    assert (untrained.identity.label, untrained.identity.version) == ("Mine, untrained", trained.identity.version)
    task = load_task(task_file())
    entries = {
        (row.identity.label, seed): row.method(task, CONFIG, seed) for row in (trained, untrained) for seed in (0, 1)
    }
    folders = {key: method.vectors.folder for key, method in entries.items()}
    assert folders["Mine", 0] == folders["Mine", 1]
    assert len({*folders.values()}) == 3
    assert len({str(method.settings) for method in entries.values()}) == 1
    assert untrained.recipe is not None
    assert untrained.recipe(1) is untrained.recipe(1)  # loaded once for all tasks
