"""`--encoder SPEC` becomes a recipe: a built-in, an installed plug-in, module:Name, file.py:Name, or an adapter.

NAME=SPEC is the same encoder with the label NAME in tables.
"""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from probing.encoders import plugins
from probing.encoders.encoder import Recipe, not_trainable
from probing.encoders.options import DEFAULTS, EncoderOptions, spell
from probing.errors import ProbingError, unknown
from probing.registry import ENCODERS, Found
from probing.storage import hash_json


@dataclass(frozen=True, slots=True)
class Adapter:
    """An adapter of another library or format: the form of its argument, a description, and the options it offers."""

    target: str
    summary: str
    options: tuple[str, ...] = ()


ADAPTERS = {
    "sentence-transformers": Adapter(
        "NAME_OR_PATH",
        "a sentence-transformers model (extra: sentence-transformers)",
        ("batch_size", "model_dtype", "prompt", "detokenise", "trust_remote_code"),
    ),
    "huggingface": Adapter(
        "NAME_OR_PATH",
        "a Hugging Face model; --layer 0..n|all|last|mix, --pooling (extra: huggingface)",
        tuple(item.name for item in dataclasses.fields(EncoderOptions)),
    ),
    "translation": Adapter(
        "RUN",
        "the encoder of a run of `probe translate run`: a path, a folder of runs, or a name in --results; --layer",
        ("layer",),
    ),
    "senteval": Adapter("my_script.py", "a SentEval script with prepare(params, samples) and batcher(params, batch)"),
    "precomputed": Adapter("vectors.npz", "vectors of the task file's lines: .npz, .npy or .safetensors"),
}
"""The adapter of each prefix."""


def find_recipes(
    specs: Iterable[str], options: EncoderOptions = DEFAULTS, *, results: Path = Path("results")
) -> list[Recipe]:
    """Return the recipes of several encoders; each option that is given needs one among them that offers it.

    Translation runs that are named without a folder are looked for in the results folder.
    """
    unique = list(dict.fromkeys(part for spec in specs for part in _list_parts(spec, results)))
    offered = {name for spec in unique for name in _list_offered(_split_label(spec)[1])} if options.given else set()
    for name in options.given.keys() - offered:
        raise ProbingError(
            f"{spell(name)} goes with --encoder huggingface:NAME_OR_PATH, or another encoder that offers it. "
            f"Got {', '.join(unique)}"
        )
    return _tell_apart(unique, [find_encoder(spec, options) for spec in unique])


def _list_parts(spec: str, results: Path) -> list[str]:
    """Return the specifications that one stands for: it may name several translation runs."""
    label, plain = _split_label(spec)
    kind, _, target = plain.partition(":")
    if kind != "translation" or not target:
        return [spec]
    from probing.encoders.translation_runs import find_runs

    name, sign, arguments = target.partition("?")
    start = f"{label}={kind}" if label else kind
    return [f"{start}:{run}{sign}{arguments}" for run in find_runs(name, results)]


def _list_offered(spec: str) -> Collection[str]:
    """Return the names of the options that an encoder offers."""
    kind, colon, _ = spec.partition(":")
    if colon and kind in ADAPTERS:
        return ADAPTERS[kind].options
    return plugins.list_options(spec)


def _tell_apart(specs: Sequence[str], recipes: Sequence[Recipe]) -> list[Recipe]:
    """Relabel encoders with equal labels by the names that the user gave them."""
    told = []
    for spec, recipe in zip(specs, recipes, strict=True):
        others = {
            (other.name, other.version, hash_json(other.settings)) for other in recipes if other.label == recipe.label
        }
        named = _split_label(spec)[0] is not None or recipe.translator is not None  # seeds of a run share their label
        told.append(recipe if named or len(others) == 1 else dataclasses.replace(recipe, label=spec))
    return told


def find_encoder(spec: str, options: EncoderOptions = DEFAULTS) -> Recipe:
    """Return the recipe of the encoder that a specification names, with those of the options that it offers."""
    label, spec = _split_label(spec)
    recipe = _find_encoder(spec, options)
    return dataclasses.replace(recipe, label=label) if label else recipe


def _split_label(spec: str) -> tuple[str | None, str]:
    """Return NAME and SPEC of NAME=SPEC; a name has no / or : or ?, so that a path or an argument may have an =."""
    match = re.fullmatch(r"\s*([^/:=?]*?)\s*=(.*)", spec)
    if match is None:
        return None, spec
    label, rest = match.groups()
    if not label or not rest:
        raise ProbingError(f"encoder {spec!r}: expected SPEC, or NAME=SPEC to call it NAME in tables")
    return label, rest


def _find_encoder(spec: str, options: EncoderOptions) -> Recipe:
    kind, colon, target = spec.partition(":")
    if colon and kind in ADAPTERS:
        if not target:
            raise ProbingError(f"encoder {spec!r}: expected {kind}:{ADAPTERS[kind].target}")
        # Imported by name: an adapter's library is needed only if the adapter is named.
        adapter = importlib.import_module(f"probing.encoders.{kind.replace('-', '_')}")
        recipe: Recipe = adapter.make_recipe(target, options.only(ADAPTERS[kind].options))
        return recipe
    try:
        return plugins.make_recipe(spec, options)
    except ProbingError:
        if colon and difflib.get_close_matches(kind, ADAPTERS):
            raise unknown("kind of encoder", kind, ADAPTERS) from None
        raise


def find_trainable(spec: str) -> Found:
    """Return the factory of torch modules that a specification names."""
    label, spec = _split_label(spec)
    kind, colon, _ = spec.partition(":")
    if colon and kind in ADAPTERS:
        raise ProbingError(
            f"encoder {spec!r} can only be probed frozen. --fine-tune needs a class or function "
            "that makes a torch.nn.Module: module:Name, file.py:Name or transformer"
        )
    if "?" in spec:
        raise ProbingError(f"encoder {spec!r}: arguments are for frozen encoders; with --fine-tune use --set")
    found = ENCODERS.find(spec)
    if isinstance(found.object, type) and not issubclass(found.object, torch.nn.Module):
        raise not_trainable(spec, found.object)
    return dataclasses.replace(found, label=label) if label else found


def summaries() -> list[tuple[str, str]]:
    """Return every form of a specification, with a description."""
    listed = [(name, summary) for name, _, summary in ENCODERS.summaries()]
    listed += [(f"{kind}:{adapter.target}", adapter.summary) for kind, adapter in ADAPTERS.items()]
    listed.append(("module:Name, file.py:Name", "your own: anything with encode(sentences) -> array (n, dim)"))
    listed.append(("file.py:Name?path=x&dim=3", "your own, with arguments for its class or function"))
    return [*listed, ("NAME=SPEC", "any of these, called NAME in tables")]
