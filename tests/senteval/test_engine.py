"""Scripts written for SentEval run by changing one import."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from probing import senteval
from probing.errors import ProbingError

NAMES = {"Length": "sentence_length", "WordContent": "word_content", "Tense": "past_present"}


@pytest.fixture
def task_path(task_file: Callable[..., Path], tmp_path: Path) -> str:
    """SentEval's folders with three small tasks: the label is the sentence's first word."""
    words = random.Random(0)
    for name in NAMES.values():
        lines = [
            f"{split}\t{label}\t{label} " + " ".join(words.choices("abcd", k=words.randint(1, 6)))
            for split, size in (("tr", 40), ("va", 10), ("te", 15))
            for label in ("NO", "YES")
            for _ in range(size)
        ]
        task_file(lines, f"probing/{name}.txt")
    return str(tmp_path)


def batcher(params: Any, batch: list[list[str]]) -> Any:
    return np.vstack([np.sum([params.vectors[word] for word in tokens], 0) for tokens in batch])


def prepare(params: Any, samples: list[list[str]]) -> None:
    generator = np.random.default_rng(0)
    words = sorted({word for tokens in samples for word in tokens})
    params.vectors = {word: generator.normal(size=8) for word in words}


def make_params(task_path: str, **changes: Any) -> dict[str, Any]:
    classifier = {"nhid": 0, "optim": "adam", "batch_size": 8, "tenacity": 3, "epoch_size": 2, "max_epoch": 60}
    return {"task_path": task_path, "usepytorch": True, "kfold": 5, "classifier": classifier} | changes


@pytest.mark.parametrize("usepytorch", [True, False])
@pytest.mark.parametrize("nhid", [0, 10])
def test_results_are_sentevals(task_path: str, usepytorch: bool, nhid: int) -> None:
    params = make_params(task_path, usepytorch=usepytorch)
    params["classifier"] |= {"nhid": nhid, "dropout": 0.1, "optim": "adam,lr=0.01"}
    engine = senteval.engine.SE(params, batcher, prepare)
    results = engine.eval(["Length", "WordContent"])
    assert list(results) == ["Length", "WordContent"]
    for scores in results.values():
        assert list(scores) == ["devacc", "acc", "ndev", "ntest"]
        assert (scores["ndev"], scores["ntest"]) == (20, 30)
        assert 80 <= scores["acc"] <= 100
        assert scores["acc"] == round(scores["acc"], 2)
    assert engine.eval("Tense")["ntest"] == 30
    assert engine.results["ntest"] == 30


@pytest.mark.parametrize(("task", "hidden"), [("Length", 50), ("WordContent", 0)])
def test_the_classifier_is_what_params_say(
    task_path: str, task: str, hidden: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted: list[Any] = []
    original = senteval.engine.probes.fit

    def spy(probe: Any, *splits: Any, **options: Any) -> Any:
        fitted.append((probe, options["seed"]))
        return original(probe, *splits, **options)

    monkeypatch.setattr(senteval.engine.probes, "fit", spy)
    classifier = {"nhid": 50, "optim": "rmsprop", "batch_size": 16, "tenacity": 1, "epoch_size": 2, "max_epoch": 3}
    params = make_params(task_path, classifier=classifier | {"dropout": 0.2}, seed=7, nhid=3)
    senteval.engine.SE(params, batcher, prepare).eval(task)
    ((probe, seed),) = fitted
    assert seed == 7
    assert [(item.hidden, item.dropout) for item in probe.configurations] == [(hidden, 0.2 if hidden else 0.0)] * 4
    assert (probe.optimizer, probe.batch_size, probe.patience, probe.passes) == ("rmsprop", 16, 1, 2)
    assert probe.max_epochs == 2


def test_prepare_sees_all_sentences_of_a_task_first(task_path: str) -> None:
    seen: list[Any] = []

    def spy(params: Any, samples: list[list[str]]) -> None:
        seen.append((params.current_task, len(samples), {type(tokens) for tokens in samples}))
        params.width = 3

    def count(params: Any, batch: list[list[str]]) -> Any:
        return np.full((len(batch), params.width), len(seen))

    engine = senteval.engine.SE(make_params(task_path), count, spy)
    engine.eval(("Length", "Tense"))
    assert seen == [("Length", 130, {list}), ("Tense", 130, {list})]
    assert engine.params.width == 3


def test_one_seed_gives_the_same_numbers(task_path: str) -> None:
    first, second = (senteval.engine.SE(make_params(task_path), batcher, prepare).eval("Length") for _ in range(2))
    assert first == second


def test_batchers_get_params_and_short_sentences_first(task_path: str) -> None:
    seen: list[tuple[str, list[int]]] = []

    def spy(params: Any, batch: list[list[str]]) -> Any:
        seen.append((params.current_task, [len(tokens) for tokens in batch]))
        assert params["seed"] == params.seed == 1111
        assert params.no_such_key is None
        return np.ones((len(batch), 2))

    senteval.engine.SE(make_params(task_path, batch_size=32), spy).eval("Length")
    assert [len(lengths) for _, lengths in seen] == [32, 32, 16, 20, 30]
    training = [length for _, lengths in seen[:3] for length in lengths]
    assert training == sorted(training)
    assert {task for task, _ in seen} == {"Length"}


def test_files_may_lie_in_the_task_path_itself(task_path: str) -> None:
    engine = senteval.engine.SE(make_params(f"{task_path}/probing"), batcher, prepare)
    assert engine.eval("Length")["ndev"] == 20


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("MR", "'MR' is one of SentEval's downstream tasks; only its probing tasks are here: Length, WordContent, "),
        (["STS14", "MR"], "'STS14' is one of SentEval's downstream tasks"),
        (["STS14", "Lenght"], "unknown task 'Lenght'. Did you mean 'Length'?"),
        ("Lenght", "unknown task 'Lenght'. Did you mean 'Length'?"),
        ("Depth", "no file for task 'Depth': looked for "),
    ],
)
def test_a_task_that_is_not_here(task_path: str, name: Any, text: str) -> None:
    with pytest.raises(ProbingError) as error:
        senteval.engine.SE(make_params(task_path), batcher, prepare).eval(name)
    assert str(error.value).startswith(text)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"classifier": {"optim": "adam"}}, "params['classifier'] must say how many hidden units there are"),
        ({"classifier": {}}, "params['classifier'] must say how many hidden units there are"),
        (
            {"classifier": {"nhid": 0, "batch_size": 0}},
            "batch_size of SentEval's classifier must be a whole number from 1, not 0",
        ),
        ({"classifier": {"nhid": "50"}}, "nhid of SentEval's classifier must be a whole number from 0, not '50'"),
        (
            {"classifier": {"nhid": 50, "dropout": 1}},
            "dropout of SentEval's classifier must be at least 0 and below 1, not 1",
        ),
        (
            {"classifier": "LogReg"},
            "params['classifier'] must say how many hidden units there are, e.g. {'nhid': 0}. Got",
        ),
        ({"batch_size": 0}, "params['batch_size'] must be a whole number from 1. Got 0"),
        ({"batch_size": "64"}, "params['batch_size'] must be a whole number from 1. Got '64'"),
        ({"seed": "a"}, "params['seed'] must be a whole number from 0. Got 'a'"),
        ({"task_path": None}, "params['task_path'] must be the folder of SentEval's data. It is not set"),
    ],
)
def test_params_that_are_wrong(task_path: str, changes: dict[str, Any], text: str) -> None:
    with pytest.raises(ProbingError) as error:
        senteval.engine.SE(make_params(task_path) | changes, batcher, prepare).eval("Length")
    assert str(error.value).startswith(text)


def test_a_key_that_sentevals_classifier_does_not_know_is_ignored(
    task_path: str, caplog: pytest.LogCaptureFixture
) -> None:
    params = make_params(task_path)
    expected = senteval.engine.SE(params, batcher, prepare).eval("Length")
    assert not caplog.messages
    params["classifier"]["tenacty"] = 3
    assert senteval.engine.SE(params, batcher, prepare).eval("Length") == expected
    (message,) = caplog.messages
    assert message.startswith(
        "ignored: unknown key of params['classifier'] 'tenacty'. Did you mean 'tenacity'? Known: "
    )


def test_a_wrong_return_names_the_batch(task_path: str) -> None:
    calls: list[int] = []

    def changing(params: Any, batch: list[list[str]]) -> Any:
        calls.append(1)
        return np.ones((len(batch), 1 + len(calls)))

    with pytest.raises(
        ProbingError, match="encoder 'batcher', batch 2 of Length: vectors of dimension 3, but 2 before"
    ):
        senteval.engine.SE(make_params(task_path, batch_size=16), changing).eval("Length")


def test_downstream_tasks_of_a_list_are_left_out(task_path: str, caplog: pytest.LogCaptureFixture) -> None:
    results = senteval.engine.SE(make_params(task_path), batcher, prepare).eval(["STS14", "Length", "MR"])
    assert list(results) == ["Length"]
    assert caplog.messages == ["left out: STS14, MR. Only SentEval's probing tasks are here"]


def test_names_may_come_from_any_iterable(task_path: str, caplog: pytest.LogCaptureFixture) -> None:
    names = iter(["STS14", "Length"])
    assert list(senteval.engine.SE(make_params(task_path), batcher, prepare).eval(names)) == ["Length"]
    assert caplog.messages == ["left out: STS14. Only SentEval's probing tasks are here"]


def test_params_that_change_after_the_engine_was_made_are_checked_again(task_path: str) -> None:
    engine = senteval.engine.SE(make_params(task_path), batcher, prepare)
    engine.params.batch_size = -1
    with pytest.raises(ProbingError, match="must be a whole number from 1. Got -1"):
        engine.eval("Length")


EXAMPLE = """
import io, json, logging, sys
import numpy as np
from probing import senteval

def prepare(params, samples):
    _, params.word2id = senteval.utils.create_dictionary(samples)
    params.word_vec = {}
    with io.open("words.vec", "r", encoding="utf-8") as f:
        for line in f:
            word, vec = line.split(" ", 1)
            if word in params.word2id:
                params.word_vec[word] = np.array(vec.split(), dtype=float)
    params.wvec_dim = 4
    return

def batcher(params, batch):
    batch = [sent if sent != [] else ["."] for sent in batch]
    assert len(batch) <= params.batch_size == params["batch_size"] == 128
    known = params.word_vec
    found = [[known[word] for word in sent if word in known] or [np.zeros(params.wvec_dim)] for sent in batch]
    return np.vstack([np.mean(vectors, 0) for vectors in found])

params_senteval = {"task_path": "TASK_PATH", "usepytorch": True, "kfold": 5}
params_senteval["classifier"] = {
    "nhid": 0, "optim": "rmsprop", "batch_size": 128, "tenacity": 3, "epoch_size": 2
}
logging.basicConfig(format="%(asctime)s : %(message)s", level=logging.DEBUG)

if __name__ == "__main__":
    se = senteval.engine.SE(params_senteval, batcher, prepare)
    json.dump(se.eval(["STS12", "MR", "SICKEntailment", "Length", "WordContent", "Tense"]), sys.stdout, skipkeys=True)
"""


def test_a_script_of_word_vectors_runs_from_top_to_bottom(task_path: str, tmp_path: Path) -> None:
    """The form of SentEval's own examples: a logger, word vectors read in `prepare`, tasks of both kinds."""
    words = {"NO": 1, "YES": 2, "a": 3, "b": 4, "c": 5}  # and none of d
    lines = [
        f"{word} {' '.join('1' if place == number else '0' for place in range(1, 5))}" for word, number in words.items()
    ]
    (tmp_path / "words.vec").write_text("\n".join(lines) + "\n")
    (tmp_path / "example.py").write_text(EXAMPLE.replace("TASK_PATH", task_path))
    done = subprocess.run(
        [sys.executable, "example.py"], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=300
    )
    results = json.loads(done.stdout)
    assert list(results) == ["Length", "WordContent", "Tense"]
    assert {tuple(scores) for scores in results.values()} == {("devacc", "acc", "ndev", "ntest")}
    log = [line.partition(" : ")[2] for line in done.stderr.splitlines()]
    assert log[0] == "left out: STS12, MR, SICKEntailment. Only SentEval's probing tasks are here"
    assert log[1] == "***** (Probing) Transfer task : LENGTH classification *****"
    assert sum(line.startswith("Training pytorch-MLP-nhid0-rmsprop-bs128") for line in log) == 3
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("usepytorch", "name", "regs"),
    [
        (True, "pytorch-MLP-nhid0-adam-bs8", ["reg:1e-05", "reg:0.0001", "reg:0.001", "reg:0.01"]),
        (False, "sklearn-LogReg", ["reg:0.25", "reg:0.5", "reg:1", "reg:2", "reg:4", "reg:8"]),
    ],
)
def test_progress_is_logged_as_senteval_does(
    task_path: str, caplog: pytest.LogCaptureFixture, usepytorch: bool, name: str, regs: list[str]
) -> None:
    caplog.set_level("INFO")
    scores = senteval.engine.SE(make_params(task_path, usepytorch=usepytorch), batcher, prepare).eval("Length")
    loaded, embedding, embedded, training, tried, best, evaluating = caplog.messages
    assert loaded == "Loaded 80 train - 20 dev - 30 test for Length"
    assert (embedding, embedded) == ("Computing embeddings for train/dev/test", "Computed embeddings")
    assert training == f"Training {name} with standard validation.."
    assert [reg in tried for reg in regs] == [True] * len(regs)
    assert best.startswith("Validation : best param found is reg = ")
    assert best.endswith(f" with score {scores['devacc']}")
    assert evaluating == "Evaluating..."


def test_the_evaluation_is_what_senteval_has(task_path: str) -> None:
    engine = senteval.engine.SE(make_params(task_path), batcher, prepare)
    assert engine.evaluation is None
    engine.eval("Length")
    assert engine.evaluation is not None
    assert (engine.evaluation.task, engine.evaluation.nclasses, engine.evaluation.seed) == ("Length", 2, 1111)
    assert engine.evaluation.tok2label == {"NO": 0, "YES": 1}
    assert {name: len(split["y"]) for name, split in engine.evaluation.task_data.items()} == {
        "train": 80,
        "dev": 20,
        "test": 30,
    }


def test_the_classifier_is_read_when_eval_is_called(task_path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    params = make_params(task_path)
    engine = senteval.engine.SE(params, batcher, prepare)
    params["classifier"]["batch_size"] = 0
    with pytest.raises(ProbingError, match="batch_size of SentEval's classifier must be a whole number from 1, not 0"):
        engine.eval("Length")


@pytest.mark.parametrize(
    ("optim", "text"),
    [
        ("sgd", "optim 'sgd' needs a learning rate, e.g. sgd,lr=0.1"),
        ("lion", "unknown optim 'lion'. Known: adam, "),
        ("adam,lr", "optim 'adam,lr': 'lr' is not of the form key=number, e.g. lr=0.1"),
    ],
)
def test_an_optimiser_that_senteval_would_refuse(task_path: str, optim: str, text: str) -> None:
    params = make_params(task_path)
    params["classifier"]["optim"] = optim
    with pytest.raises(ProbingError) as error:
        senteval.engine.SE(params, batcher, prepare).eval("Length")
    assert str(error.value).startswith(text)


def test_the_weight_decay_is_the_grids(task_path: str) -> None:
    results = []
    for optim in ("rmsprop", "rmsprop,weight_decay=0.5"):
        params = make_params(task_path)
        params["classifier"]["optim"] = optim
        results.append(senteval.engine.SE(params, batcher, prepare).eval("Length"))
    assert results[0] == results[1]


def test_modules_can_be_imported_by_their_names() -> None:
    from probing.senteval.engine import SE
    from probing.senteval.utils import dotdict

    assert SE is senteval.engine.SE is senteval.SE
    assert dotdict is senteval.utils.dotdict
