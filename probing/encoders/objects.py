"""Encoders that are objects of a Python program: a model of a library, anything with `encode`, or a function.

Sentences are lists of tokens. Models that take text, such as those of sentence-transformers and mteb, get the tokens
joined by spaces.
"""

from __future__ import annotations

import copy
import re
import typing
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from probing.encoders.encoder import Encoder, Recipe, list_parameters, no_untrained_form
from probing.encoders.huggingface import HuggingFaceEncoder, ModelSettings
from probing.encoders.layers import MIX, check_layer, choose_layers, count_layers
from probing.encoders.options import EncoderOptions
from probing.errors import ProbingError
from probing.model import call_factory

UNVERSIONED = "unversioned "
"""Beginning of the version of an object to which the caller gave none; it never occurs again."""
MTEB_TASK = "STSBenchmark"
"""Task for which an mteb model is asked to encode: sentences for their own sake, neither queries nor documents."""


@dataclass(frozen=True, slots=True)
class FunctionEncoder:
    """Calls a function with lists of tokens, or with sentences as strings: tokens joined by spaces."""

    function: Callable[..., Any]
    texts: bool = True
    preparation: Callable[..., Any] | None = None
    """Function that is called with all sentences of a task first."""
    spell: Callable[[list[str]], str] = " ".join
    """Function that makes a text of tokens."""

    def prepare(self, sentences: list[list[str]]) -> None:
        if self.preparation is not None:
            self.preparation(self._spell(sentences))

    def encode(self, sentences: list[list[str]]) -> Any:
        return self.function(self._spell(sentences))

    def _spell(self, sentences: list[list[str]]) -> list[list[str]] | list[str]:
        return [self.spell(tokens) for tokens in sentences] if self.texts else sentences


def make_recipe(
    model: Any,
    *,
    name: str | None = None,
    version: str | None = None,
    tokenizer: Any = None,
    layers: str | int | Sequence[int] = "last",
    pooling: str = "mean",
    texts: bool | None = None,
) -> Recipe:
    """Return the recipe of an object; without a version it counts as another encoder every time."""
    if isinstance(model, tuple) and len(model) == 2:
        model, tokenizer = model
    if isinstance(model, type):
        model = call_factory("encoder", model.__name__, model, {})
    called = name or _name(model)
    facts: dict[str, Any] = {
        "name": called,
        "label": called,
        "version": version or f"{UNVERSIONED}{uuid.uuid4().hex}",
    }
    if _comes_from(model, "transformers"):
        if texts is False:
            raise ProbingError(f"encoder {called!r}: a transformers model takes texts. Leave out texts=False")
        return _make_transformers_recipe(model, tokenizer, layers, pooling, facts)
    if tokenizer is not None or (layers, pooling) != ("last", "mean"):
        raise ProbingError(f"encoder {called!r}: tokenizer, layers and pooling go with a transformers model only")
    encoder = _adapt(called, model, texts)
    return Recipe(load=lambda device: encoder, load_untrained=_find_untrained(called, model, texts), **facts)


def is_unversioned(recipe: Recipe) -> bool:
    """Return whether the caller gave no version, so that nothing of the encoder can be found again."""
    return recipe.version.startswith(UNVERSIONED)


def _name(model: Any) -> str:
    """Return a name for an object: its own if it has one, else that of its class or function."""
    own = getattr(model, "name_or_path", None) or getattr(model, "__name__", None)
    if isinstance(own, str) and own and own != "<lambda>":
        return own.rstrip("/").rpartition("/")[2]
    return "encoder" if own == "<lambda>" else type(model).__name__


def _comes_from(model: Any, library: str) -> bool:
    """Return whether an object's class, or one that it inherits from, is defined in a library."""
    return any(kind.__module__.partition(".")[0] == library for kind in type(model).__mro__)


def _adapt(name: str, model: Any, texts: bool | None) -> Encoder:
    """Return an encoder that calls an object in the way it is to be called."""
    function = getattr(model, "encode", None)
    if function is None and isinstance(model, torch.nn.Module):
        raise ProbingError(
            f"encoder {name!r}: {type(model).__name__} has no method encode(sentences). "
            "Give it one, or train it with `probe run --fine-tune`"
        )
    if function is None:
        function = model
    if not callable(function):
        raise ProbingError(
            f"encoder {name!r}: {type(model).__name__} is neither a function nor an object with encode(sentences)"
        )
    if _is_mteb(model, function):
        return FunctionEncoder(_call_mteb(function))
    if _comes_from(model, "sentence_transformers"):
        return FunctionEncoder(partial(function, show_progress_bar=False, convert_to_numpy=True))
    if texts is None:
        texts = takes_strings(function)
    preparation = None if function is model else getattr(model, "prepare", None)
    return FunctionEncoder(function, texts, preparation) if texts or function is model else model


class _MtebDataset(list[Any]):
    """A data set as far as an mteb model looks at one: its rows, and the names of its columns."""

    features = ("text",)


def _is_mteb(model: Any, function: Callable[..., Any]) -> bool:
    return hasattr(model, "mteb_model_meta") or "task_metadata" in list_parameters(function)


def _call_mteb(function: Callable[..., Any]) -> Callable[[list[str]], Any]:
    """Return a function of texts that calls the `encode` of an mteb model: version 2 takes batches, version 1 texts."""
    if "task_metadata" not in list_parameters(function):
        return lambda sentences: function(sentences, task_name=MTEB_TASK)
    import mteb
    from torch.utils.data import DataLoader

    metadata = mteb.get_task(MTEB_TASK).metadata

    def encode(sentences: list[str]) -> Any:
        rows: Any = _MtebDataset({"text": text} for text in sentences)
        batches: Any = DataLoader(rows, batch_size=len(sentences))
        return function(batches, task_metadata=metadata, hf_split="test", hf_subset="default")

    return encode


def takes_strings(function: Callable[..., Any]) -> bool:
    """Return whether the first parameter is annotated as a string or a list of strings."""
    first = list_parameters(function)[:1]
    try:
        hints = typing.get_type_hints(function)
    except (TypeError, ValueError, NameError, AttributeError):  # another annotation may name what is not there
        hints = getattr(function, "__annotations__", {})
    return any(_is_strings(hints.get(name)) for name in first)


def _is_strings(hint: Any) -> bool:
    if isinstance(hint, str):  # an annotation that could not be evaluated
        return bool(re.search(r"\bstr\b", hint)) and not re.search(r"\[\s*[\w.]+\[", hint)
    if hint is str:
        return True
    inner = typing.get_args(hint)
    if typing.get_origin(hint) in (list, tuple, Sequence):
        return str in inner
    return any(map(_is_strings, inner))


def _find_untrained(name: str, model: Any, texts: bool | None) -> Callable[[torch.device, int], Any] | None:
    if not hasattr(model, "untrained"):
        return None

    def load(device: torch.device, seed: int) -> Any:
        made = model.untrained(seed)
        if made is None:
            raise no_untrained_form(name)
        return _adapt(name, made, texts)

    return load


def _make_transformers_recipe(
    model: Any, tokenizer: Any, layers: str | int | Sequence[int], pooling: str, facts: dict[str, Any]
) -> Recipe:
    name = facts["name"]
    if tokenizer is None:
        raise ProbingError(f"encoder {name!r}: a transformers model needs its tokenizer. Give tokenizer=…")
    if not hasattr(model, "config"):
        raise ProbingError(f"encoder {name!r}: {type(model).__name__} is not a transformers model")
    num_layers = count_layers(model.config)
    wanted = str(layers) if isinstance(layers, str | int) else ",".join(map(str, layers))
    check_layer(wanted)
    settings = ModelSettings.choose(EncoderOptions(pooling=pooling))
    chosen = choose_layers(name, wanted, num_layers)
    return Recipe(
        settings=settings.describe(str(model.dtype).removeprefix("torch.")),
        layers=chosen,
        all_layers=choose_layers(name, "all", num_layers),
        mixes=wanted == MIX,
        load=lambda device: HuggingFaceEncoder(model, copy.deepcopy(tokenizer), chosen, settings, device),
        **facts,
    )
