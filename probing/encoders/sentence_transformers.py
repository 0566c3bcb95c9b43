"""`sentence-transformers:NAME_OR_PATH`: models of the library sentence-transformers, unchanged."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch

from probing.encoders.encoder import Recipe
from probing.encoders.model_files import describe_version, draw_weights, find_on_hub, full_name, loading, short_name
from probing.encoders.objects import FunctionEncoder
from probing.encoders.options import TEXT, EncoderOptions, spell_text
from probing.errors import ProbingError
from probing.native import products_in

OWNER = "sentence-transformers"
"""Owner of models that are named without one."""
FILES = ("modules.json", "config.json")
"""Files by which a model is recognised on the hub, of this library or of transformers alone."""
BATCH = 64
"""Sentences that go through the model at a time."""


def make_recipe(target: str, options: EncoderOptions) -> Recipe:
    """Return the recipe of a model on disk or on the Hugging Face hub; a prompt is a text, or one of the model's."""
    spec = f"sentence-transformers:{target}"
    with loading(spec, extra="sentence-transformers"):
        library = importlib.metadata.version("sentence-transformers")
    model, version = _find_model(spec, target)
    return Recipe(
        name=f"sentence-transformers:{full_name(model)}",
        label=short_name(model),
        version=f"{version}; sentence-transformers {library}",
        settings=options.only(("model_dtype", "prompt", "detokenise")).given,
        load=partial(_load, model, options),
        load_untrained=partial(_load, model, options),
    )


def _find_model(spec: str, target: str) -> tuple[str, str]:
    """Return the model that a name stands for, and its version; the library's own models need no owner."""
    if Path(target).is_dir():
        return target, describe_version(spec, target)
    return find_on_hub(spec, [target] if "/" in target else [f"{OWNER}/{target}", target], FILES)


def _load(
    target: str, options: EncoderOptions, device: torch.device, weights_seed: int | None = None
) -> FunctionEncoder:
    """Load a model; with a seed, its weights are drawn anew."""
    spec = f"sentence-transformers:{target}"
    settings: dict[str, Any] = {"trust_remote_code": options.trust_remote_code}
    if options.model_dtype is not None:
        settings["model_kwargs"] = {"torch_dtype": options.model_dtype}
    with loading(spec, extra="sentence-transformers"):
        from sentence_transformers import SentenceTransformer

        model: Any = SentenceTransformer(target, device="cpu", **settings)
    if weights_seed is not None:
        draw_weights(spec, model, weights_seed)
    model.to(device)
    template, prompt = _find_prompt(spec, model.prompts, options.prompt)
    size = options.batch_size or BATCH

    def encode(texts: list[str]) -> Any:
        with products_in(torch.float32, device):
            return model.encode(texts, batch_size=size, show_progress_bar=False, convert_to_numpy=True, **prompt)

    return FunctionEncoder(encode, spell=partial(spell_text, detokenise=options.detokenise, prompt=template))


def _find_prompt(spec: str, known: Mapping[str, str | None], prompt: str | None) -> tuple[str | None, dict[str, str]]:
    """Return the prompt as a text around the sentence, or as an argument of the model's own, which knows it by name."""
    if prompt is None:
        return None, {}
    if prompt in known:
        return None, {"prompt_name": prompt}
    if TEXT not in prompt:
        raise ProbingError(
            f"encoder {spec!r}: --prompt must have {TEXT} where the sentence stands, or be one of the model's own: "
            f"{', '.join(known) or 'it has none'}. Got {prompt!r}"
        )
    before, _, after = prompt.partition(TEXT)
    return (prompt, {"prompt": ""}) if after or TEXT in after else (None, {"prompt": before})
