"""The front door for Python: one call, and an object that shows itself, filters and becomes other things."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import probing
from probing.api import Figure, Results
from probing.encoders.cached_vectors import list_cached
from probing.errors import ProbingError
from probing.results import Record, Store
from tests.studies import make_settings

SETTINGS = dict(setting.split("=") for setting in make_settings())


class Lengths:
    """Counts tokens, and how often it is asked."""

    def __init__(self) -> None:
        self.calls = 0

    def encode(self, sentences):
        self.calls += 1
        return np.array([[len(tokens)] for tokens in sentences])


@pytest.fixture
def data(task_file: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return a folder with two small tasks, both about the length; it is the current folder's."""
    monkeypatch.chdir(tmp_path)
    lines = [
        f"{split}\t{label}\t{' '.join('ab'[n % 2] for n in range(length))}"
        for split, size in (("tr", 20), ("va", 10), ("te", 10))
        for label, length in (("LONG", 7), ("SHORT", 2))
        for _ in range(size)
    ]
    for name in ("past_present", "subj_number"):
        task_file(lines, f"tasks/{name}.txt")
    return tmp_path / "tasks"


def test_an_object_is_evaluated(data: Path) -> None:
    results = probing.evaluate(Lengths(), tasks=["Tense", "SubNm"], data=data, probe="linear", quiet=True)
    assert (results.models, results.tasks) == (["Lengths"], ["Tense", "SubNm"])
    figure = results["Lengths", "Tense"]
    assert figure == results["lengths", "past_present"]
    assert isinstance(figure, Figure)
    assert float(figure) == figure.accuracy == 100.0
    assert figure.low < 100.0 == figure.high
    assert figure.seeds == (0,)


def test_without_a_version_nothing_is_kept_and_that_is_said(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = Lengths()
    for _ in range(2):
        probing.evaluate(model, tasks="Tense", data=data, probe="linear")
    assert model.calls == 8
    assert list_cached() == []
    assert not Path("results").exists()
    said = " ".join(capsys.readouterr().err.split())
    assert "Lengths has no version" in said
    assert "vectors and results are not kept" in said


def test_with_a_version_it_is_found_again(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = Lengths()
    options: dict[str, Any] = {"tasks": "Tense", "data": data, "probe": "linear", "name": "Mine", "results": "kept"}
    first = probing.evaluate(model, version="1", **options)
    again = probing.evaluate(model, version="1", **options)
    assert model.calls == 4
    assert again.records == first.records
    assert "1 of 1 cells are already in kept" in " ".join(capsys.readouterr().err.split())
    assert probing.evaluate(model, version="2", **options).models == ["Mine"]
    assert model.calls == 8
    assert Results.load("kept").models == ["Mine (version 1)", "Mine (version 2)"]


def test_only_the_models_and_tasks_asked_for_come_back(data: Path) -> None:
    probing.evaluate("length", tasks="all", data=data, probe="linear", quiet=True)
    results = probing.evaluate("random-bag-of-words", tasks="SubNm", data=data, probe="linear", quiet=True)
    assert (results.models, results.tasks) == (["Random bag of words"], ["SubNm"])
    assert len(Results.load("results").records) == 3


def test_models_are_trained(data: Path) -> None:
    results = probing.train(["base", "em"], tasks="Tense", data=data, settings=SETTINGS, seeds=2, quiet=True)
    assert results.models == ["Base", "EM"]
    assert results["em", "Tense"].seeds == (0, 1)
    assert "differs from Base" in results.table(compare="base")
    assert repr(results) == str(results.table())
    assert repr(results.table()) == str(results.table())
    assert [line.split()[0] for line in results.table(format="csv").splitlines()[1:]] != []
    frame = results.to_dataframe()
    assert sorted(zip(frame["label"], frame["seed"], strict=True)) == [("Base", 0), ("Base", 1), ("EM", 0), ("EM", 1)]
    assert list(results.to_dataframe("wide").columns) == ["Tense"]
    page = results.to_html("page/report.html", compare="base")
    assert Path("page/report.html").read_text(encoding="utf-8") == page + "\n"
    assert results._repr_html_().startswith("<table><thead><tr><th>Model</th><th>Semantic<br>Tense</th>")


def test_a_name_is_no_markup_in_a_notebook(data: Path) -> None:
    name = "<img src=x onerror=alert(1)>"
    shown = probing.evaluate(Lengths(), tasks="Tense", data=data, name=name, quiet=True)._repr_html_()
    assert "<img" not in shown
    assert "&lt;img src=x onerror=alert(1)&gt;" in shown


def test_paths_and_specifications(data: Path, tmp_path: Path) -> None:
    lines = (data / "past_present.txt").read_text(encoding="utf-8").splitlines()
    np.save(tmp_path / "gold.npy", np.array([[line.split("\t")[1] == "LONG"] for line in lines], np.float32))
    (tmp_path / "mine.py").write_text("class Mine:\n    def encode(self, s): return [[len(t)] for t in s]\n")
    options: dict[str, Any] = {"tasks": "Tense", "data": data, "probe": "linear", "quiet": True}
    assert probing.evaluate(tmp_path / "gold.npy", **options)["gold", "Tense"].accuracy == 100.0
    assert probing.evaluate("mine.py:Mine", **options)["Mine", "Tense"].accuracy == 100.0
    assert probing.evaluate("mine.py:Mine", name="Ours", **options).models == ["Ours"]


def test_quiet_is_quiet(data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    probing.evaluate("length", tasks="Tense", data=data, probe="linear", quiet=True)
    assert capfd.readouterr() == ("", "")


def test_a_module_keeps_its_mode(data: Path) -> None:
    class Model(torch.nn.Module):
        def encode(self, sentences):
            self.eval()
            return [[len(tokens)] for tokens in sentences]

    model = Model().train()
    probing.evaluate(model, tasks="Tense", data=data, probe="linear", quiet=True)
    assert model.training


def test_the_dataframe_of_a_folder(tmp_path: Path, make_record: Callable[..., Record]) -> None:
    Store(tmp_path).save(make_record())
    assert list(probing.load_results(tmp_path)["label"]) == ["EM"]
    assert probing.load_results(tmp_path, "wide").loc[("mini", "mini", "EM"), "Tense"] == 80.0


def test_a_damaged_record_is_a_warning(tmp_path: Path, make_record: Callable[..., Record]) -> None:
    store = Store(tmp_path)
    store.save(make_record())
    path = store.save(make_record(seed=1))
    path.write_text("{", encoding="utf-8")
    with pytest.warns(UserWarning, match="not a whole JSON file") as warned:
        assert len(probing.load_results(tmp_path)) == 1
    assert warned[0].filename == __file__


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: probing.load_results("nowhere"), "nowhere: there is no such folder. Name one that"),
        (lambda: probing.load_results("."), ".: no results there. Run"),
        (lambda: probing.train("emm"), "unknown aggregator 'emm'. Did you mean 'em'?"),
        (lambda: probing.train("em", tasks="Tens"), "unknown task 'Tens'. Did you mean 'Tense'?"),
        (lambda: probing.train("em", seeds=0), "seeds must be a number of seeds from 1"),
        (lambda: probing.train("em", seeds=[]), "seeds is empty"),
        (lambda: probing.train("em", seeds=[-1]), "a seed must be a whole number from 0"),
        (lambda: probing.train("em", settings={"model.num_layer": 1}), "unknown setting 'model.num_layer'"),
        (lambda: probing.evaluate("mine.py"), "mine.py: name the encoder in the file, as mine.py:MyEncoder"),
        (lambda: probing.evaluate("length", version="1"), "version, tokenizer and texts go with an object"),
        (
            lambda: probing.evaluate("length", layers="all"),
            "--layer goes with --encoder huggingface:",
        ),
        (lambda: probing.evaluate("length", probe="knn"), "unknown probe 'knn'"),
        (lambda: probing.evaluate(3), "encoder 'int': int is neither a function nor an object"),
        (lambda: Results([])["EM"], "results[MODEL, TASK] takes a model and a task. Got 'EM'"),
    ],
)
def test_mistakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Callable[[], Any], text: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ProbingError) as error:
        call()
    assert str(error.value).startswith(text)
    assert not Path("results").exists()


def test_questions_about_what_was_not_measured(make_record: Callable[..., Record]) -> None:
    results = Results([make_record()])
    with pytest.raises(ProbingError, match="EM has no result on 'SubNm'. Tasks: Tense"):
        results["EM", "SubNm"]
    with pytest.raises(ProbingError, match="unknown model 'base'. Known: EM"):
        results["base", "Tense"]
    with pytest.raises(ProbingError, match="unknown format 'page'. Known: table, markdown, latex, csv, json"):
        results.table(format="page")
    both = Results([make_record(), make_record(preset="paper")])
    with pytest.raises(ProbingError, match="EM has results on Tense with several data sets or presets"):
        both["EM", "Tense"]


def test_importing_is_instant() -> None:
    heavy = "{'torch', 'pandas', 'numpy', 'rich'} & set(sys.modules)"
    program = f"import sys, probing; sys.exit(str({heavy} or '') or 0)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
