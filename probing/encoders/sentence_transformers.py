"""`sentence-transformers:NAME_OR_PATH`: models of the library sentence-transformers, unchanged."""

from __future__ import annotations

import importlib.metadata
from functools import partial
from pathlib import Path

import torch

from probing.encoders.encoder import Recipe
from probing.encoders.model_files import describe_version, draw_weights, find_on_hub, full_name, loading, short_name
from probing.encoders.objects import FunctionEncoder

OWNER = "sentence-transformers"
"""Owner of models that are named without one."""
FILES = ("modules.json", "config.json")
"""Files by which a model is recognised on the hub, of this library or of transformers alone."""


def make_recipe(target: str) -> Recipe:
    """Return the recipe of a model on disk or on the Hugging Face hub."""
    spec = f"sentence-transformers:{target}"
    with loading(spec, extra="sentence-transformers"):
        library = importlib.metadata.version("sentence-transformers")
    model, version = _find_model(spec, target)
    return Recipe(
        name=f"sentence-transformers:{full_name(model)}",
        label=short_name(model),
        version=f"{version}; sentence-transformers {library}",
        load=partial(_load, model),
        load_untrained=partial(_load, model),
    )


def _find_model(spec: str, target: str) -> tuple[str, str]:
    """Return the model that a name stands for, and its version; the library's own models need no owner."""
    if Path(target).is_dir():
        return target, describe_version(spec, target)
    return find_on_hub(spec, [target] if "/" in target else [f"{OWNER}/{target}", target], FILES)


def _load(target: str, device: torch.device, weights_seed: int | None = None) -> FunctionEncoder:
    """Load a model; with a seed, its weights are drawn anew."""
    spec = f"sentence-transformers:{target}"
    with loading(spec, extra="sentence-transformers"):
        from sentence_transformers import SentenceTransformer

        model = SentenceTransformer(target, device="cpu")
    if weights_seed is not None:
        draw_weights(spec, model, weights_seed)
    model.to(device)
    return FunctionEncoder(partial(model.encode, batch_size=64, show_progress_bar=False, convert_to_numpy=True))
