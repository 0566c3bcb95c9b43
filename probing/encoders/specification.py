"""`--encoder SPEC` becomes a recipe: a built-in, an installed plug-in, module:Name, file.py:Name, or an adapter.

NAME=SPEC is the same encoder with the label NAME in tables.
"""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import re
from collections.abc import Iterable, Sequence
from typing import Any

import torch

from probing.encoders.encoder import Encoder, Recipe, list_parameters, no_untrained_form, not_trainable
from probing.errors import ProbingError, unknown
from probing.model import call_factory, explaining_size
from probing.registry import ENCODERS, Found

ADAPTERS = {
    "sentence-transformers": ("NAME_OR_PATH", "a sentence-transformers model (extra: sentence-transformers)"),
    "huggingface": ("NAME_OR_PATH", "a Hugging Face model; --layer 0..n|all|last, --pooling (extra: huggingface)"),
    "senteval": ("my_script.py", "a SentEval script with prepare(params, samples) and batcher(params, batch)"),
    "precomputed": ("vectors.npz", "vectors of the task file's lines: .npz, .npy or .safetensors"),
}
"""For each prefix the form of its argument, and a description."""


def find_recipes(specs: Iterable[str], *, layer: str | None = None, pooling: str | None = None) -> list[Recipe]:
    """Return the recipes of several encoders; layer and pooling need a Hugging Face model among them."""
    unique = list(dict.fromkeys(specs))
    if (layer or pooling) and not any(_split_label(spec)[1].startswith("huggingface:") for spec in unique):
        option = "--layer" if layer else "--pooling"
        raise ProbingError(f"{option} goes with --encoder huggingface:NAME_OR_PATH. Got {', '.join(unique)}")
    return _tell_apart(unique, [find_encoder(spec, layer=layer, pooling=pooling) for spec in unique])


def _tell_apart(specs: Sequence[str], recipes: Sequence[Recipe]) -> list[Recipe]:
    """Relabel encoders with equal labels by the names that the user gave them."""
    told = []
    for spec, recipe in zip(specs, recipes, strict=True):
        others = {(other.name, other.version) for other in recipes if other.label == recipe.label}
        named = _split_label(spec)[0] is not None
        told.append(recipe if named or len(others) == 1 else dataclasses.replace(recipe, label=spec))
    return told


def find_encoder(spec: str, *, layer: str | None = None, pooling: str | None = None) -> Recipe:
    """Return the recipe of the encoder that a specification names; layer and pooling are for Hugging Face models."""
    label, spec = _split_label(spec)
    recipe = _find_encoder(spec, layer, pooling)
    return dataclasses.replace(recipe, label=label) if label else recipe


def _split_label(spec: str) -> tuple[str | None, str]:
    """Return NAME and SPEC of NAME=SPEC; a name has no / or :, so that a path may have an =."""
    match = re.fullmatch(r"\s*([^/:=]*?)\s*=(.*)", spec)
    if match is None:
        return None, spec
    label, rest = match.groups()
    if not label or not rest:
        raise ProbingError(f"encoder {spec!r}: expected SPEC, or NAME=SPEC to call it NAME in tables")
    return label, rest


def _find_encoder(spec: str, layer: str | None, pooling: str | None) -> Recipe:
    kind, colon, target = spec.partition(":")
    if colon and kind in ADAPTERS:
        if not target:
            raise ProbingError(f"encoder {spec!r}: expected {kind}:{ADAPTERS[kind][0]}")
        # Imported by name: an adapter's library is needed only if the adapter is named.
        adapter = importlib.import_module(f"probing.encoders.{kind.replace('-', '_')}")
        options = {"layer": layer or "last", "pooling": pooling or "mean"} if kind == "huggingface" else {}
        recipe: Recipe = adapter.make_recipe(target, **options)
        return recipe
    try:
        found = ENCODERS.find(spec)
    except ProbingError:
        if colon and difflib.get_close_matches(kind, ADAPTERS):
            raise unknown("kind of encoder", kind, ADAPTERS) from None
        raise
    decided = isinstance(found.object, type) or hasattr(found.object, "encode")  # a function's product is known later
    may_be_untrained = hasattr(found.object, "untrained") or not decided
    return Recipe(
        name=found.name,
        label=found.label,
        version=found.version,
        load=lambda device: _make(spec, found.object),
        load_untrained=(lambda device, seed: _make_untrained(spec, found.object, seed)) if may_be_untrained else None,
    )


def find_trainable(spec: str) -> Found:
    """Return the factory of torch modules that a specification names."""
    label, spec = _split_label(spec)
    kind, colon, _ = spec.partition(":")
    if colon and kind in ADAPTERS:
        raise ProbingError(
            f"encoder {spec!r} can only be probed frozen. --fine-tune needs a class or function "
            "that makes a torch.nn.Module: module:Name, file.py:Name or transformer"
        )
    found = ENCODERS.find(spec)
    if isinstance(found.object, type) and not issubclass(found.object, torch.nn.Module):
        raise not_trainable(spec, found.object)
    return dataclasses.replace(found, label=label) if label else found


def _make(spec: str, target: Any) -> Encoder:
    """Return the encoder that a plug-in is, or that it makes when it is called."""
    made = target
    if isinstance(target, type) or not hasattr(target, "encode"):
        if not callable(target):
            raise ProbingError(f"encoder {spec!r} has no method encode(sentences) and is not a class or function")
        try:
            with explaining_size():
                made = call_factory("encoder", spec, target, {})
        except ProbingError as error:
            raise ProbingError(f"{error}{_hint('vocabulary_size' in list_parameters(target))}") from error
    return _check(spec, made)


def _make_untrained(spec: str, target: Any, seed: int) -> Encoder:
    encoder: Any = _make(spec, target)
    if not hasattr(encoder, "untrained"):
        raise no_untrained_form(spec)
    try:
        made = encoder.untrained(seed)
    except Exception as error:
        raise ProbingError(f"encoder {spec!r}: untrained({seed}) failed: {type(error).__name__}: {error}") from error
    return _check(spec, made)


def _check(spec: str, made: Any) -> Encoder:
    if not isinstance(made, Encoder):
        hint = _hint(isinstance(made, torch.nn.Module))
        raise ProbingError(f"encoder {spec!r}: {type(made).__name__} has no method encode(sentences){hint}")
    return made


def _hint(trainable: bool) -> str:
    return ". A torch.nn.Module to be trained needs --fine-tune" if trainable else ""


def summaries() -> list[tuple[str, str]]:
    """Return every form of a specification, with a description."""
    listed = [(name, summary) for name, _, summary in ENCODERS.summaries()]
    listed += [(f"{kind}:{target}", summary) for kind, (target, summary) in ADAPTERS.items()]
    listed.append(("module:Name, file.py:Name", "your own: anything with encode(sentences) -> array (n, dim)"))
    return [*listed, ("NAME=SPEC", "any of these, called NAME in tables")]
