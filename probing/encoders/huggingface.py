"""`huggingface:NAME_OR_PATH`: any layer of a transformer, pooled over its tokens.

Shapes: B sentences of a batch, L the longest of them in pieces, d the model's width.
"""

from __future__ import annotations

import importlib.metadata
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from probing.config import POOLINGS
from probing.encoders.encoder import Recipe
from probing.encoders.model_files import describe_version, draw_weights, full_name, loading, short_name
from probing.errors import ProbingError, unknown

BATCH = 64
"""Sentences that go through the model at a time."""


def make_recipe(target: str, *, layer: str, pooling: str) -> Recipe:
    """Return the recipe of a model on disk or on the Hugging Face hub."""
    spec = f"huggingface:{target}"
    check_options(layer, pooling)  # before the model is sought, maybe over the network
    with loading(spec, extra="huggingface"):
        from transformers import AutoConfig

        library = importlib.metadata.version("transformers")
        num_layers = count_layers(AutoConfig.from_pretrained(target))
    layers = choose_layers(spec, layer, num_layers)
    load = partial(HuggingFaceEncoder.load, target, layers, pooling)
    return Recipe(
        name=f"huggingface:{full_name(target)}",
        label=short_name(target),
        version=f"{describe_version(spec, target)}; transformers {library}",
        settings={"pooling": pooling},
        layers=layers,
        all_layers=choose_layers(spec, "all", num_layers),
        load=load,
        load_untrained=load,
    )


def check_options(layer: str, pooling: str) -> None:
    """Refuse a pooling that is unknown, and a layer that cannot be one."""
    if pooling not in POOLINGS:
        raise unknown("pooling", pooling, POOLINGS)
    if not (layer in ("all", "last") or layer.isdecimal()):
        raise ProbingError(f"--layer must be a number from 0, all or last. Got {layer!r}")


def count_layers(config: Any) -> int:
    """Return the number of layers that a model's configuration states."""
    return int(config.get_text_config().num_hidden_layers)


def choose_layers(name: str, layer: str, num_layers: int) -> tuple[int, ...]:
    """Return the layers asked for; layer 0 is the embeddings."""
    if layer == "all":
        return tuple(range(num_layers + 1))
    if layer == "last":
        return (num_layers,)
    if int(layer) > num_layers:
        raise ProbingError(f"encoder {name!r}: --layer must be 0 to {num_layers}, all or last. Got {layer!r}")
    return (int(layer),)


class HuggingFaceEncoder:
    """Pooled hidden states (n, layers, d) of some layers; tokens are joined by spaces."""

    def __init__(self, model: Any, tokenizer: Any, layers: tuple[int, ...], pooling: str, device: torch.device) -> None:
        self.model, self.tokenizer = model.eval().to(device), tokenizer
        self.tokenizer.padding_side = "right"
        if self.tokenizer.pad_token is None:
            self.tokenizer.pad_token = self.tokenizer.eos_token
        positions = getattr(self.model.config, "max_position_embeddings", None)
        self.max_length = min(self.tokenizer.model_max_length, positions or 512)
        self.layers, self.pool, self.device = layers, POOL[pooling], device

    @classmethod
    def load(
        cls, target: str, layers: tuple[int, ...], pooling: str, device: torch.device, weights_seed: int | None = None
    ) -> HuggingFaceEncoder:
        """Load a model and its tokenizer; with a seed, its weights are drawn anew."""
        spec = f"huggingface:{target}"
        with loading(spec, extra="huggingface"):
            from transformers import AutoModel, AutoTokenizer

            tokenizer = AutoTokenizer.from_pretrained(target)
            model = AutoModel.from_pretrained(target).float()
        if weights_seed is not None:
            draw_weights(spec, model, weights_seed)
        return cls(model, tokenizer, layers, pooling, device)

    @torch.inference_mode()
    def encode(self, sentences: list[list[str]]) -> NDArray[np.float32]:
        texts = [" ".join(tokens) for tokens in sentences]
        order = sorted(range(len(texts)), key=lambda number: len(texts[number]))  # alike lengths need little padding
        vectors: NDArray[np.float32] | None = None
        for start in range(0, len(order), BATCH):
            chosen = order[start : start + BATCH]
            pieces = self.tokenizer(
                [texts[number] for number in chosen],
                padding=True,
                truncation=True,
                max_length=self.max_length,
                return_tensors="pt",
            ).to(self.device)
            states = self.model(**pieces, output_hidden_states=True).hidden_states
            pooled = [self.pool(states[layer], pieces["attention_mask"]) for layer in self.layers]
            block = torch.stack(pooled, 1).cpu().numpy()
            if vectors is None:
                vectors = np.empty((len(texts), *block.shape[1:]), np.float32)
            vectors[chosen] = block
        assert vectors is not None
        return vectors


def pool_mean(states_BLd: Tensor, mask_BL: Tensor) -> Tensor:
    """Return the mean over the real tokens."""
    mask = mask_BL.unsqueeze(2).to(states_BLd.dtype)
    return (states_BLd * mask).sum(1) / mask.sum(1)


def pool_cls(states_BLd: Tensor, mask_BL: Tensor) -> Tensor:
    """Return the first token's vector."""
    return states_BLd[:, 0]


def pool_max(states_BLd: Tensor, mask_BL: Tensor) -> Tensor:
    """Return the largest number of each dimension over the real tokens."""
    return states_BLd.masked_fill(~mask_BL.bool().unsqueeze(2), -torch.inf).amax(1)


def pool_last(states_BLd: Tensor, mask_BL: Tensor) -> Tensor:
    """Return the last real token's vector."""
    return states_BLd[torch.arange(len(states_BLd), device=states_BLd.device), mask_BL.sum(1) - 1]


POOL = dict(zip(POOLINGS, (pool_mean, pool_cls, pool_max, pool_last), strict=True))
