"""`sentence-transformers:NAME_OR_PATH`: models of the library sentence-transformers, as they are."""

from __future__ import annotations

import importlib.metadata
from typing import Any

import torch

from probing.encoders.encoder import Recipe
from probing.encoders.model_files import describe_version, draw_weights, loading, short_name


def make_recipe(target: str) -> Recipe:
    """Return the recipe of a model on disk or on the Hugging Face hub."""
    spec = f"sentence-transformers:{target}"
    with loading(spec, extra="sentence-transformers"):
        library = importlib.metadata.version("sentence-transformers")
    return Recipe(
        name=f"sentence-transformers:{short_name(target)}",
        label=short_name(target),
        version=f"{describe_version(spec, target)}; sentence-transformers {library}",
        load=lambda device: SentenceTransformersEncoder(target, device),
        load_untrained=lambda device, seed: SentenceTransformersEncoder(target, device, weights_seed=seed),
    )


class SentenceTransformersEncoder:
    """A sentence-transformers model; tokens are joined by spaces."""

    def __init__(self, target: str, device: torch.device, *, weights_seed: int | None = None) -> None:
        spec = f"sentence-transformers:{target}"
        with loading(spec, extra="sentence-transformers"):
            from sentence_transformers import SentenceTransformer

            self.model = SentenceTransformer(target, device="cpu")
        if weights_seed is not None:
            draw_weights(spec, self.model, weights_seed)
        self.model.to(device)

    def encode(self, sentences: list[list[str]]) -> Any:
        texts = [" ".join(tokens) for tokens in sentences]
        return self.model.encode(texts, batch_size=64, show_progress_bar=False, convert_to_numpy=True)
