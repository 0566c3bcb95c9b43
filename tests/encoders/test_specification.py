"""What `--encoder` can name."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from probing.encoders.encoder import Encoder
from probing.encoders.options import EncoderOptions
from probing.encoders.specification import find_encoder, find_recipes, find_trainable, summaries
from probing.errors import ProbingError
from probing.registry import ENCODERS

CPU = torch.device("cpu")
SENTENCES = [["the", "cat", "sat"], ["dogs", "bark"], ["the", "cat", "sat"]]
PLUGIN = """
import torch
class Mine:
    def encode(self, sentences):
        return [[len(tokens)] for tokens in sentences]
made = Mine()
def factory(): return Mine()
def broken(): return 1 / 0
number = 3
def module(): return torch.nn.Linear(1, 1)
class Drawn(Mine):
    def untrained(self, seed):
        return Constant(seed)
class Constant:
    def __init__(self, seed): self.seed = seed
    def encode(self, sentences):
        return [[self.seed] for tokens in sentences]
drawn = Drawn()
def make_drawn(): return Drawn()
class Fails(Mine):
    def untrained(self, seed): return 1 / 0
class Trained(torch.nn.Module):
    def __init__(self, vocabulary_size): super().__init__()
def make_trained(vocabulary_size): return Trained(vocabulary_size)
class Wrong(Mine):
    def untrained(self, seed): return seed
"""


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    path = tmp_path / "plugin.py"
    path.write_text(PLUGIN, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", [name for name in ENCODERS.builtins if name != "transformer"])
def test_every_built_in_encoder_keeps_the_contract(name: str) -> None:
    recipe = find_encoder(name)
    first, second = recipe.load(CPU), recipe.load(CPU)
    for encoder in (first, second):
        assert isinstance(encoder, Encoder)
        if hasattr(encoder, "prepare"):
            encoder.prepare(SENTENCES)
    vectors = np.asarray(first.encode(SENTENCES))
    assert vectors.ndim == 2
    assert len(vectors) == 3
    assert np.isfinite(vectors).all()
    assert vectors[0].tolist() == vectors[2].tolist()
    alone = np.asarray(second.encode(SENTENCES[1:2]))
    np.testing.assert_allclose(alone[0], vectors[1], rtol=1e-6)
    assert (recipe.name, recipe.version) == (name, "built-in")


@pytest.mark.parametrize("name", ["Mine", "made", "factory"])
def test_a_class_an_object_or_a_function_is_an_encoder(plugin: Path, name: str) -> None:
    recipe = find_encoder(f"{plugin}:{name}")
    assert recipe.load(CPU).encode(SENTENCES) == [[3], [2], [3]]
    assert (recipe.name, recipe.label) == (f"plugin.py:{name}", name)
    assert len(recipe.version) == 64


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a package whose entry points name two encoders, one of which cannot be imported."""
    folder = tmp_path / "installed"
    info = folder / "their_encoders-2.5.dist-info"
    info.mkdir(parents=True)
    (folder / "their_encoders.py").write_text(PLUGIN, encoding="utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-encoders\nVersion: 2.5\n", encoding="utf-8")
    points = "[probing.encoders]\ntheirs = their_encoders:Mine\nmissing = their_encoders:Nowhere\n"
    (info / "entry_points.txt").write_text(points, encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "their_encoders", raising=False)


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("library", ["importlib.metadata", "importlib_metadata"])
def test_an_entry_point_is_an_encoder_by_name(library: str) -> None:
    """The back-port of importlib.metadata, which some libraries import, replaces the finder of distributions."""
    pytest.importorskip(library)
    assert ("theirs", "plug-in their_encoders:Mine") in summaries()
    recipe = find_encoder("theirs")
    assert (recipe.name, recipe.label, recipe.version) == ("theirs", "theirs", "2.5")
    assert recipe.load(CPU).encode(SENTENCES) == [[3], [2], [3]]
    assert find_encoder("Theirs too=theirs").label == "Theirs too"


@pytest.mark.usefixtures("installed")
def test_an_entry_point_that_leads_nowhere_is_named() -> None:
    with pytest.raises(ProbingError, match="encoder 'missing' could not be imported: AttributeError: .*Nowhere"):
        find_encoder("missing")
    with pytest.raises(ProbingError, match="unknown encoder 'their'. Did you mean 'theirs'?"):
        find_encoder("their")


@pytest.mark.parametrize("name", ["Drawn", "drawn", "make_drawn"])
def test_a_plug_in_may_have_an_untrained_form(plugin: Path, name: str) -> None:
    recipe = find_encoder(f"{plugin}:{name}").untrained(7)
    assert recipe.load(CPU).encode(SENTENCES) == [[7], [7], [7]]
    assert (recipe.name, recipe.label) == (f"plugin.py:{name} untrained", f"{name} untrained")


@pytest.mark.parametrize("name", ["Mine", "made", "factory", "Drawn"])
def test_most_encoders_have_no_untrained_form(plugin: Path, name: str) -> None:
    recipe = find_encoder(f"{plugin}:{name}")
    if name == "Drawn":
        recipe = recipe.untrained(0)
    with pytest.raises(ProbingError, match=rf"encoder '.*plugin.py:{name}.*' has no untrained form. huggingface:NAME"):
        recipe.untrained(0).load(CPU)


@pytest.mark.parametrize(
    ("name", "text"),
    [("Fails", "untrained(3) failed: ZeroDivisionError: division by zero"), ("Wrong", "int has no method encode(")],
)
def test_an_untrained_form_that_is_none(plugin: Path, name: str, text: str) -> None:
    with pytest.raises(ProbingError) as error:
        find_encoder(f"{plugin}:{name}").untrained(3).load(CPU)
    assert text in str(error.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("broken", "could not be made with no settings: ZeroDivisionError: division by zero"),
        ("Trained", "'vocabulary_size'. A torch.nn.Module to be trained needs --fine-tune"),
        ("make_trained", "'vocabulary_size'. A torch.nn.Module to be trained needs --fine-tune"),
        ("number", "has no method encode(sentences) and is not a class or function"),
        ("module", "Linear has no method encode(sentences). A torch.nn.Module to be trained needs --fine-tune"),
    ],
)
def test_what_is_no_encoder(plugin: Path, name: str, text: str) -> None:
    with pytest.raises(ProbingError) as error:
        find_encoder(f"{plugin}:{name}").load(CPU)
    assert text in str(error.value)


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ("bag-of-word", "unknown encoder 'bag-of-word'. Did you mean 'bag-of-words'? Known: bag-of-words, "),
        ("precomputed:", "encoder 'precomputed:': expected precomputed:vectors.npz"),
        ("none.py:Mine", "encoder 'none.py:Mine': there is no file none.py"),
        ("hugging-face:x", "unknown kind of encoder 'hugging-face'. Did you mean 'huggingface'? Known: sentence-"),
        ("=length", "encoder '=length': expected SPEC, or NAME=SPEC to call it NAME in tables"),
        ("Mine=", "encoder 'Mine=': expected SPEC, or NAME=SPEC to call it NAME in tables"),
        ("Mine=lenght", "unknown encoder 'lenght'. Did you mean 'length'?"),
    ],
)
def test_a_wrong_specification(spec: str, text: str) -> None:
    with pytest.raises(ProbingError) as error:
        find_encoder(spec)
    assert str(error.value).startswith(text)


@pytest.mark.parametrize("option", ["layer", "pooling"])
def test_layers_and_poolings_are_for_hugging_face_models(option: str) -> None:
    expected = (
        f"--{option} goes with --encoder huggingface:NAME_OR_PATH, or another encoder that offers it. Got length, B"
    )
    with pytest.raises(ProbingError, match=expected):
        find_recipes(["length", "Bag=bag-of-words"], EncoderOptions(**{option: "last"}))


def test_an_encoder_can_be_given_a_name(plugin: Path) -> None:
    recipe = find_encoder(f"My encoder={plugin}:Mine")
    plain = find_encoder(f"{plugin}:Mine")
    assert (recipe.label, recipe.name, recipe.version) == ("My encoder", plain.name, plain.version)
    assert find_trainable("Ours=transformer").label == "Ours"


def test_a_path_may_hold_an_equals_sign(tmp_path: Path) -> None:
    (tmp_path / "a=b.py").write_text(PLUGIN, encoding="utf-8")
    assert find_encoder(f"{tmp_path}/a=b.py:Mine").label == "Mine"
    assert find_encoder(f"Named={tmp_path}/a=b.py:Mine").label == "Named"


def test_adapters_are_probed_frozen_only() -> None:
    with pytest.raises(ProbingError, match=r"encoder 'senteval:x.py' can only be probed frozen. --fine-tune needs a"):
        find_trainable("senteval:x.py")


def test_the_list_names_everything() -> None:
    named = [spec for spec, _ in summaries()]
    assert named[:4] == ["bag-of-words", "random-bag-of-words", "length", "transformer"]
    assert {"huggingface:NAME_OR_PATH", "senteval:my_script.py", "precomputed:vectors.npz"} < set(named)
    assert "translation:RUN" in named


def test_encoders_that_tables_would_call_the_same_are_called_as_they_were_named(tmp_path: Path) -> None:
    specs = []
    for folder, text in (("a", PLUGIN), ("b", PLUGIN + "# another"), ("c", PLUGIN)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "plugin.py").write_text(text, encoding="utf-8")
        specs.append(f"{tmp_path}/{folder}/plugin.py:Mine")
    assert [recipe.label for recipe in find_recipes(specs[:2])] == specs[:2]
    assert [recipe.label for recipe in find_recipes([f"Other={specs[1]}", specs[0]])] == ["Other", "Mine"]
    assert [recipe.label for recipe in find_recipes([specs[0], specs[2]])] == ["Mine", "Mine"]  # they are the same
