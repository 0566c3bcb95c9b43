"""A user's SentEval script is an encoder as it is."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

from probing.encoders.senteval import make_recipe
from probing.errors import ProbingError

SCRIPT = """
import sys
sys.path.insert(0, '../SentEval')
import numpy as np
import senteval
from senteval import utils
import senteval.engine

def prepare(params, samples):
    params.longest = max(len(sample) for sample in samples)

def batcher(params, batch):
    sizes.append(len(batch))
    return np.array([[len(tokens), params.longest] for tokens in batch])

sizes = []
params_senteval = {'task_path': 'data', 'batch_size': 2}

if __name__ == '__main__':
    senteval.engine.SE(params_senteval, batcher, prepare).eval('Length')
"""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "path", [*sys.path])
    path = tmp_path / "my_script.py"
    path.write_text(SCRIPT, encoding="utf-8")
    return path


def test_a_script_is_prepared_and_called_with_its_params(script: Path) -> None:
    recipe = make_recipe(str(script))
    assert (recipe.name, recipe.label) == ("senteval:my_script.py", "my_script")
    encoder = recipe.load(torch.device("cpu"))
    sentences = [["a"], ["b", "c"], ["d", "e", "f"]]
    encoder.prepare(sentences)
    assert encoder.encode(sentences).tolist() == [[1, 3], [2, 3], [3, 3]]
    assert encoder.batcher.__globals__["sizes"] == [2, 1]
    assert "senteval" not in sys.modules


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("params = argparse.Namespace(batch_size=7)", 128),
        ("params = 3", 128),
        ("params = {'batch_size': 7}", 7),
        ("params_senteval = argparse.Namespace()\nparams = types.MappingProxyType({'batch_size': 7})", 7),
    ],
)
def test_only_a_mapping_is_taken_for_params(tmp_path: Path, line: str, expected: int) -> None:
    path = tmp_path / "own_params.py"
    path.write_text(f"import argparse, types\n{line}\ndef batcher(params, batch): return []\n", encoding="utf-8")
    assert make_recipe(str(path)).load(torch.device("cpu")).params.batch_size == expected


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ("np.zeros((1, 2))", "ValueError: batcher was given 2 sentences and returned 1 rows"),
        ("np.zeros((len(batch), len(batch)))", "ValueError: all the input array dimensions except"),
        ("None", "ValueError: zero-dimensional arrays cannot be concatenated"),
    ],
)
def test_a_batcher_that_returns_something_else(tmp_path: Path, returned: str, message: str) -> None:
    path = tmp_path / "wrong.py"
    path.write_text(SCRIPT + f"\ndef batcher(params, batch): return {returned}\n", encoding="utf-8")
    encoder = make_recipe(str(path)).load(torch.device("cpu"))
    with pytest.raises(ValueError) as error:
        encoder.encode([["a"], ["b"], ["c"]])
    assert message in f"ValueError: {error.value}"


def test_the_version_is_the_scripts_content(script: Path) -> None:
    before = make_recipe(str(script)).version
    script.write_text(SCRIPT + "\n# changed\n", encoding="utf-8")
    assert make_recipe(str(script)).version != before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import no_such_module_here", "could not be imported: ModuleNotFoundError: No module named 'no_such"),
        ("batcher = 3", "the file has no function batcher(params, batch)"),
        ("import senteval\nsenteval.engine.SE({}, None)", "put that under `if __name__ == '__main__':`"),
    ],
)
def test_a_script_that_is_none(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "wrong.py"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ProbingError) as error:
        make_recipe(str(path))
    assert message in str(error.value)
    with pytest.raises(ProbingError, match="there is no file .*none.py"):
        make_recipe(str(tmp_path / "none.py"))
