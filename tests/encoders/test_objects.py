"""Objects of a Python program become encoders, called with tokens or with text as each expects."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

from probing.encoders.objects import is_unversioned, make_recipe
from probing.errors import ProbingError

CPU = torch.device("cpu")
SENTENCES = [["a", "dog", "."], ["no"]]
TEXTS = ["a dog .", "no"]


class Tokens:
    def encode(self, sentences):
        return sentences


class Texts:
    def encode(self, sentences: list[str]) -> Any:
        return sentences


def encode(model: Any, **options: Any) -> Any:
    return make_recipe(model, **options).load(CPU).encode(SENTENCES)


@pytest.mark.parametrize("model", [Tokens(), Tokens, lambda sentences: sentences], ids=["object", "class", "function"])
def test_tokens_are_the_rule(model: Any) -> None:
    assert encode(model) == SENTENCES


def function_of_text(sentences: Sequence[str]) -> Any:
    return sentences


def function_of_either(sentences: str | list[str], batch_size: int = 3) -> Any:
    return sentences


def function_of_tokens(sentences: list[list[str]]) -> Any:
    return sentences


@pytest.mark.parametrize(
    ("model", "expected"),
    [(Texts(), TEXTS), (function_of_text, TEXTS), (function_of_either, TEXTS), (function_of_tokens, SENTENCES)],
)
def test_the_annotation_says_whether_text_is_expected(model: Any, expected: Any) -> None:
    assert encode(model) == expected


def test_the_caller_can_say_it() -> None:
    assert encode(Tokens(), texts=True) == TEXTS
    assert encode(Texts(), texts=False) == SENTENCES


def test_an_annotation_that_cannot_be_resolved_is_none() -> None:
    def odd(sentences: Nowhere) -> Any:  # type: ignore[name-defined]  # noqa: F821
        return sentences

    assert encode(odd) == SENTENCES


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [("Sequence[str]", TEXTS), ("str | list[str]", TEXTS), ("list[list[str]]", SENTENCES), ("Sentences", SENTENCES)],
)
def test_an_annotation_beside_one_that_cannot_be_resolved_counts(annotation: str, expected: Any) -> None:
    def mine(sentences: Any, prompt: Any = None) -> Any:
        return sentences

    mine.__annotations__ = {"sentences": annotation, "prompt": "Nowhere"}
    assert encode(mine) == expected


@pytest.mark.parametrize(("texts", "expected"), [(True, TEXTS), (False, SENTENCES)])
def test_an_object_is_prepared_as_it_is_called(texts: bool, expected: Any) -> None:
    class Prepared(Tokens):
        def prepare(self, sentences):
            self.seen = sentences

    model = Prepared()
    make_recipe(model, texts=texts).load(CPU).prepare(SENTENCES)
    assert model.seen == expected


def test_a_sentence_transformer_gets_text() -> None:
    calls = []

    def run(self: Any, sentences: Any, **options: Any) -> Any:
        calls.append(options)
        return sentences

    kind = type("SentenceTransformer", (), {"encode": run, "__module__": "sentence_transformers.models"})
    mine = type("Mine", (kind,), {"__module__": "my_code"})
    assert encode(kind()) == encode(mine()) == TEXTS
    assert calls == [{"show_progress_bar": False, "convert_to_numpy": True}] * 2


def test_an_mteb_model_gets_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    library = ModuleType("mteb")
    vars(library)["get_task"] = lambda name: SimpleNamespace(metadata=f"about {name}")
    monkeypatch.setitem(sys.modules, "mteb", library)

    class Model:
        mteb_model_meta = None

        def encode(self, inputs: Iterable[Any], *, task_metadata: Any, hf_split: str, hf_subset: str) -> Any:
            assert "video" not in inputs.dataset.features  # type: ignore[attr-defined]
            return [task_metadata, hf_split, hf_subset, *(text for batch in inputs for text in batch["text"])]

    assert encode(Model()) == ["about STSBenchmark", "test", "default", *TEXTS]


def test_an_older_mteb_model_gets_text() -> None:
    class Model:
        mteb_model_meta = None

        def encode(self, sentences: Any, *, task_name: str) -> Any:
            return sentences

    assert encode(Model()) == TEXTS


def test_identity_is_the_callers() -> None:
    recipe = make_recipe(Tokens(), name="Mine", version="3")
    assert (recipe.name, recipe.label, recipe.version) == ("Mine", "Mine", "3")
    assert not is_unversioned(recipe)
    first, second = make_recipe(Tokens()), make_recipe(Tokens())
    assert (first.name, first.label) == ("Tokens", "Tokens")
    assert is_unversioned(first)
    assert first.version != second.version


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (function_of_text, "function_of_text"),
        (lambda sentences: sentences, "encoder"),
        (SimpleNamespace(encode=len, name_or_path="models/bert-tiny/"), "bert-tiny"),
    ],
)
def test_a_name_is_found(model: Any, name: str) -> None:
    assert make_recipe(model).name == name


def test_an_untrained_form_is_adapted_as_the_object_is() -> None:
    class Trained(Texts):
        def untrained(self, seed: int) -> Any:
            return Texts()

    assert make_recipe(Trained()).untrained(1).load(CPU).encode(SENTENCES) == TEXTS
    with pytest.raises(ProbingError, match="encoder 'Texts' has no untrained form"):
        make_recipe(Texts()).untrained(1)


class Failing:
    def __init__(self) -> None:
        raise ValueError("no weights")


@pytest.mark.parametrize(
    ("model", "options", "text"),
    [
        (3, {}, "encoder 'int': int is neither a function nor an object with encode(sentences)"),
        (torch.nn.Linear(2, 2), {}, "encoder 'Linear': Linear has no method encode(sentences). Give it one, or train"),
        (
            Tokens(),
            {"layers": "all"},
            "encoder 'Tokens': tokenizer, layers and pooling go with a transformers model only",
        ),
        (Failing, {}, "encoder 'Failing' could not be made with no settings: ValueError: no weights"),
    ],
)
def test_what_is_no_encoder(model: Any, options: dict[str, Any], text: str) -> None:
    with pytest.raises(ProbingError) as error:
        make_recipe(model, **options)
    assert str(error.value).startswith(text)


@pytest.fixture(scope="module")
def bert() -> tuple[Any, Any]:
    """A transformers model of two layers, and a tokenizer of a few words."""
    transformers = pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    words = {word: number for number, word in enumerate(["[PAD]", "[UNK]", "a", "dog", ".", "no"])}
    model = tokenizers.models.WordLevel(words, unk_token="[UNK]")
    plain = tokenizers.Tokenizer(model)
    plain.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=plain, pad_token="[PAD]", unk_token="[UNK]", padding_side="left"
    )
    sizes = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 8}
    torch.manual_seed(0)
    return transformers.BertModel(transformers.BertConfig(vocab_size=6, **sizes)), tokenizer


def test_a_transformers_model_goes_with_its_tokenizer(bert: tuple[Any, Any]) -> None:
    model, tokenizer = bert
    recipe = make_recipe(bert, name="tiny", version="1", layers="all")
    assert recipe.layers == recipe.all_layers == (0, 1, 2)
    assert recipe.settings == {"pooling": "mean"}
    vectors = recipe.load(CPU).encode(SENTENCES)
    assert vectors.shape == (2, 3, 8)
    (last,) = (make_recipe(model, tokenizer=tokenizer, layers=layers).load(CPU).encode(SENTENCES) for layers in [2])
    assert torch.equal(torch.tensor(last[:, 0]), torch.tensor(vectors[:, 2]))
    assert make_recipe(bert, layers=[0, 2]).layers == (0, 2)
    assert tokenizer.padding_side == "left", "the caller's tokenizer was changed"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"tokenizer": None}, "encoder 'BertModel': a transformers model needs its tokenizer. Give tokenizer=…"),
        (
            {"layers": 3},
            "encoder 'BertModel': --layer must be 0 to 2, -1 to -3, a range or list of them, all, last or mix. Got '3'",
        ),
        (
            {"layers": "top"},
            "--layer must be a number from 0 (the embeddings), from the end (-1), a range (0-6), a list (0,3,6), all, "
            "last or mix. Got 'top'",
        ),
        ({"pooling": "sum"}, "unknown pooling 'sum'. Known: mean, cls, max, last"),
        ({"texts": False}, "encoder 'BertModel': a transformers model takes texts. Leave out texts=False"),
    ],
)
def test_mistakes_with_a_transformers_model(bert: tuple[Any, Any], options: dict[str, Any], text: str) -> None:
    model, tokenizer = bert
    with pytest.raises(ProbingError) as error:
        make_recipe(model, **{"tokenizer": tokenizer} | options)
    assert str(error.value) == text
