"""Encoders are run, recorded and shown like the trained models."""

from __future__ import annotations

import io
import math
import random
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from probing import probes
from probing.display import Display
from probing.errors import ProbingError
from probing.experiments.cells import describe_progress
from probing.experiments.description_length import Stage
from probing.experiments.running import Summary
from probing.report.formats import render
from probing.results.record import Record
from probing.storage import cache_folder
from probing.training import Progress
from tests import studies
from tests.studies import load

start = partial(studies.start, encoders=["length"])


@pytest.fixture
def answers(task_file: Callable[..., Path]) -> Path:
    """A task whose label is whether the sentence is long."""
    words = random.Random(0)
    lines = [
        f"{split}\t{label}\t" + " ".join(words.choices("abcdefgh", k=length))
        for split, size in (("tr", 60), ("va", 20), ("te", 20))
        for label, length in (("LONG", 9), ("SHORT", 3))
        for _ in range(size)
    ]
    return task_file(lines, "answers.txt")


def test_a_frozen_encoder_is_recorded_like_a_model(answers: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    assert start(answers, results, probe="linear") == Summary(finished=1, skipped=0, failed=0)
    assert start(answers, results, probe="linear") == Summary(finished=0, skipped=1, failed=0)
    (result,) = load(results)
    assert (result.identity.model.name, result.identity.model.label, result.identity.model.version) == (
        "length",
        "Length",
        "built-in",
    )
    assert result.identity.settings == {
        "encoder": {"dtype": "float32"},
        "probe": {"probe": "linear", "standardise": True, "largest": 10.0},
    }
    scores = result.scores
    assert scores is not None
    assert scores.test_accuracy == 100.0
    assert len(scores.configurations) == 5
    chosen = scores.configurations[0]
    assert chosen["hidden"] == 0
    assert chosen["dev_accuracy"] == scores.dev_accuracy == max(item["dev_accuracy"] for item in scores.configurations)


def test_the_majority_is_that_of_the_training_split(task_file: Callable[..., Path], tmp_path: Path) -> None:
    counts = {"tr": {"A": 30, "B": 10}, "va": {"A": 5, "B": 5}, "te": {"A": 2, "B": 8}}
    lines = [
        f"{split}\t{label}\tx y" for split, sizes in counts.items() for label, n in sizes.items() for _ in range(n)
    ]
    start(task_file(lines, "answers.txt"), tmp_path / "results", probe="linear")
    (result,) = load(tmp_path / "results")
    assert result.scores is not None
    assert result.scores.majority_accuracy == 20.0


def test_probes_seeds_and_kept_precision_are_cells_of_their_own(answers: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    for options in ({"probe": "senteval"}, {"probe": "senteval-mlp"}, {"dtype": "float16"}, {"seeds": [0, 1]}):
        start(answers, results, **{"probe": "linear", **options})
    records = load(results)
    assert len(records) == 5
    named = {record.identity.settings["probe"]["probe"]: record for record in records}
    assert named["senteval"].identity.settings["probe"] == {"probe": "senteval", "standardise": False}
    assert named["senteval-mlp"].identity.settings["probe"] == {"probe": "senteval-mlp", "standardise": False}
    scores = named["senteval-mlp"].scores
    assert scores is not None
    assert {item["hidden"] for item in scores.configurations} == {50}


def test_encoders_and_models_share_a_table(answers: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    encoders = ["length", "random-bag-of-words"]
    assert start(answers, results, aggregators=["base"], encoders=encoders, probe="linear", jobs=2).finished == 3
    table = render(load(results), "csv")
    assert [line.split(",")[6] for line in table.splitlines()[1:]] == ["base", "length", "random-bag-of-words"]
    text = render(load(results))
    assert text.count("Majority") == 1
    assert "Random bag of words" in text


def test_a_plug_in_is_embedded_once_for_all_seeds(answers: Path, tmp_path: Path) -> None:
    plugin = tmp_path / "counting.py"
    plugin.write_text(
        "from pathlib import Path\n"
        "class Counting:\n"
        "    def encode(self, sentences):\n"
        f"        with Path({str(tmp_path / 'calls')!r}).open('a') as file: file.write('x')\n"
        "        return [[len(tokens)] for tokens in sentences]\n",
        encoding="utf-8",
    )
    results = tmp_path / "results"
    start(answers, results, encoders=[f"{plugin}:Counting"], probe="linear", seeds=[0, 1])
    assert (tmp_path / "calls").read_text() == "xxxx"  # a batch of each split; the first is encoded twice, as a check
    start(answers, results, encoders=[f"{plugin}:Counting"], probe="senteval")
    assert (tmp_path / "calls").read_text() == "xxxxx"  # some sentences, as a check
    plugin.write_text(plugin.read_text(encoding="utf-8") + "# another version\n", encoding="utf-8")
    start(answers, results, encoders=[f"{plugin}:Counting"], probe="linear")
    assert (tmp_path / "calls").read_text() == "x" * 9


@pytest.mark.parametrize("damage", ["zeros", "NaN", "cut"])
def test_damaged_vectors_never_score(
    answers: Path, tmp_path: Path, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    start(answers, tmp_path / "first", encoders=["random-bag-of-words"], probe="linear")
    (path,) = cache_folder("vectors").glob("*/vectors.safetensors")
    whole = path.read_bytes()
    with path.open("r+b") as file:
        if damage == "cut":
            file.truncate(len(whole) // 2)
        else:
            file.seek(len(whole) // 2)
            file.write(bytes(4000) if damage == "zeros" else np.full(1, np.nan, np.float32).tobytes())
    start(answers, tmp_path / "second", encoders=["random-bag-of-words"], probe="linear", display=Display())
    said = " ".join(capsys.readouterr().err.split())
    assert "of cached vectors are damaged and computed again" in said
    assert path.read_bytes() == whole
    (first,), (second,) = load(tmp_path / "first"), load(tmp_path / "second")
    assert first.scores == second.scores


def test_precomputed_vectors_follow_the_lines(answers: Path, tmp_path: Path) -> None:
    labels = [line.split("\t")[1] == "LONG" for line in answers.read_text(encoding="utf-8").splitlines()]
    np.save(tmp_path / "gold.npy", np.array(labels, np.float32)[:, None])
    start(answers, tmp_path / "results", encoders=[f"precomputed:{tmp_path}/gold.npy"], probe="linear")
    (result,) = load(tmp_path / "results")
    assert result.scores is not None
    assert result.scores.test_accuracy == 100.0


def test_the_transformer_plugged_in_is_the_base_model(answers: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    start(answers, results, aggregators=["base"], encoders=["transformer"], fine_tune=True)
    base, plugged = load(results)
    assert (plugged.identity.model.name, plugged.identity.model.label) == (
        "transformer fine-tuned",
        "Transformer, fine-tuned",
    )
    assert base.scores == plugged.scores


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"encoders": [], "probe": "mlp"}, "--probe goes with --encoder: see `probe encoders`"),
        ({"encoders": [], "fine_tune": True}, "--fine-tune goes with --encoder: see `probe encoders`"),
        ({"fine_tune": True, "dtype": "float16"}, "--dtype is for frozen encoders and does not go with --fine-tune"),
        ({"fine_tune": True}, "--fine-tune needs a torch.nn.Module. Encoder 'length' made Length: probe it frozen"),
        ({"encoders": ["transformer"]}, "encoder 'transformer' could not be made with no settings: make_transformer()"),
        ({"probe": "knn"}, "unknown probe 'knn'. Known: mlp, linear, senteval, senteval-mlp"),
        ({"dtype": "int8"}, "unknown dtype 'int8'. Known: float32, float16"),
    ],
)
def test_options_that_do_not_go_together(answers: Path, tmp_path: Path, options: dict[str, Any], text: str) -> None:
    with pytest.raises(ProbingError) as error:
        start(answers, tmp_path / "results", **options)
    assert str(error.value).startswith(text)


def measure(results: Path) -> dict[tuple[str, str], Record]:
    return {(result.identity.model.label, result.identity.measure): result for result in load(results)}


def test_controls_baselines_and_description_length_are_cells_beside_the_others(answers: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    options: dict[str, Any] = {
        "aggregators": ["base"],
        "encoders": [],
        "probe": "linear",
        "baselines": True,
        "controls": ["random-labels", "word-labels", "random-encoder"],
        "mdl": True,
    }
    assert start(answers, results, **options) == Summary(finished=16, skipped=0, failed=0)
    found = measure(results)
    labels = ["Base", "Base, untrained", "Length", "Bag of words"]
    measures = ["accuracy", "random-labels", "word-labels", "description-length"]
    assert set(found) == {(label, name) for label in labels for name in measures}
    accuracy, control, words, coded = (found["Length", name].scores for name in measures)
    assert accuracy is not None
    assert accuracy.test_accuracy == 100.0
    assert accuracy.description is None
    assert control is not None
    assert control.test_accuracy < 90.0  # the length tells nothing about labels that depend on the words
    assert sum(counts.test for counts in control.classes.values()) == 40
    assert control.gold != accuracy.gold
    assert words is not None
    assert words.gold != accuracy.gold
    assert len(words.gold) == len(accuracy.gold)  # the task's own test sentences
    assert coded is not None
    assert coded.description is not None
    assert coded.description.uniform_bits == 120.0
    assert coded.description.compression > 1.5
    assert [piece["trained"] for piece in coded.description.pieces] == [0, 1, 2, 4, 8, 15, 30, 60]
    assert sum(counts.train for counts in coded.classes.values()) == 60  # the last model's
    assert coded.gold == accuracy.gold
    assert start(answers, results, **options) == Summary(finished=0, skipped=16, failed=0)
    text = render(load(results))
    assert "Selectivity: accuracy" in text
    assert "Word selectivity: accuracy" in text
    assert "Compression: uniform codelength of the training labels" in text


def test_pieces_of_the_vectors_are_not_copied(answers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A piece is some rows of the file, for which vectors larger than memory have room."""
    given = []
    fit = probes.fit

    def spy(probe: Any, train: probes.Vectors, dev: probes.Vectors, **options: Any) -> Any:
        given.append((len(train), len(train.vectors)))
        return fit(probe, train, dev, **options)

    monkeypatch.setattr(probes, "fit", spy)
    start(answers, tmp_path / "results", probe="linear", mdl=True)
    assert given == [(size, 120) for size in (120, 1, 2, 4, 8, 15, 30, 60)]


def test_without_controls_nothing_changes(answers: Path, tmp_path: Path) -> None:
    """A cell has the same key and numbers in a run with controls and in one without."""
    start(answers, tmp_path / "plain", aggregators=["base"], encoders=[])
    start(answers, tmp_path / "all", aggregators=["base"], encoders=[], controls=["random-labels"], mdl=True)
    (plain,) = load(tmp_path / "plain")
    same = measure(tmp_path / "all")["Base", "accuracy"]
    assert (same.key, same.scores) == (plain.key, plain.scores)


def test_the_control_of_a_fine_tuned_encoder_is_that_of_the_model(answers: Path, tmp_path: Path) -> None:
    """The transformer plugged in is the base model, so it has the same controls and description length."""
    results = tmp_path / "results"
    start(
        answers,
        results,
        aggregators=["base"],
        encoders=["transformer"],
        fine_tune=True,
        controls=["random-labels", "random-encoder"],
        mdl=True,
    )
    found = measure(results)
    for name in ("random-labels", "description-length"):
        assert found["Base", name].scores == found["Transformer, fine-tuned", name].scores
    assert found["Base, untrained", "accuracy"].scores == found["Transformer, untrained", "accuracy"].scores
    trained, untrained = (found[label, "accuracy"].scores for label in ("Base", "Base, untrained"))
    assert trained is not None
    assert untrained is not None
    assert trained.parameters == untrained.parameters
    assert trained.curve != untrained.curve


def test_a_model_that_can_memorise_recalls_random_labels(answers: Path, tmp_path: Path) -> None:
    """Every sentence is another line of a table, so a linear probe on indicators remembers all of them."""
    lines = answers.read_text(encoding="utf-8").splitlines()
    np.save(tmp_path / "lines.npy", np.eye(len(lines), dtype=np.float32))
    encoder = f"precomputed:{tmp_path}/lines.npy"
    start(answers, tmp_path / "results", encoders=[encoder], probe="linear", controls=["random-labels"])
    by_measure = {result.identity.measure: result.scores for result in load(tmp_path / "results")}
    accuracy, control = by_measure["accuracy"], by_measure["random-labels"]
    assert accuracy is not None
    assert control is not None
    assert control.test_accuracy > 95.0
    assert accuracy.test_accuracy < 75.0


@pytest.mark.parametrize(
    ("progress", "stage", "text"),
    [
        (Progress(3, 8, 0.5, 0.4321, 81.25, 0), Stage(), "epoch 3/8  loss 0.432  dev 81.25  12,346 tokens/s"),
        (Progress(1, 8, 0.5, 0.4321, None, 0), Stage(), "epoch 1/8  loss 0.432  12,346 tokens/s"),
        (Progress(0, 8, 0.5, math.nan, None, 0, frozen=True), Stage(), "encoding the sentences"),
        (
            Progress(2, 8, 0.5, 1.0, 50.0, 0),
            Stage(3, 7),
            "piece 3/7  epoch 2/8  loss 1.000  dev 50.00  12,346 tokens/s",
        ),
    ],
)
def test_progress_in_words(progress: Progress, stage: Stage, text: str) -> None:
    assert describe_progress(progress, stage, 12345.6) == text


def test_the_pieces_are_shown(answers: Path, tmp_path: Path) -> None:
    console = Console(file=io.StringIO(), width=200)
    start(answers, tmp_path / "results", probe="linear", mdl=True, display=Display(verbosity=1, console=console))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "seed 0, description length: piece 1/7  epoch 1/50  loss" in text
    assert "piece 7/7  epoch 1/50" in text
    assert re.search(
        r"\[2/2\] answers Length seed 0, description length: compression \d\.\d\d, 0\.\d\d kbit, \d+s", text
    )
