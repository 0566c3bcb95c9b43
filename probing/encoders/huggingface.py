"""`huggingface:NAME_OR_PATH`: any layer of a transformer, pooled over its tokens.

Of an encoder-decoder, it is the encoder. Sentences are padded on the right, by hand: in a decoder, a token then sees no
padding, and positions count from the first token, whatever side the model's tokenizer pads on.
"""

from __future__ import annotations

import importlib.metadata
import logging
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from probing.config import POOLINGS
from probing.encoders.encoder import Recipe
from probing.encoders.layers import MIX, check_layer, choose_layers, count_layers
from probing.encoders.model_files import describe_version, draw_weights, full_name, loading, short_name
from probing.encoders.options import EncoderOptions, check_prompt, spell_text
from probing.encoders.pooling import POOL
from probing.errors import ProbingError, unknown
from probing.model import is_too_large
from probing.native import products_in

BATCH = 32
"""Sentences that go through the model at a time."""
FULL = 128
"""Pieces from which on a CPU gains nothing from a larger batch, so that one ends where sentences become longer."""
LARGEST_LENGTH = 1 << 20
"""Length from which on a tokenizer's limit means that it knows of none."""

logger = logging.getLogger(__name__)


def make_recipe(target: str, options: EncoderOptions) -> Recipe:
    """Return the recipe of a model on disk or on the Hugging Face hub."""
    spec = f"huggingface:{target}"
    layer = options.layer or "last"
    settings = ModelSettings.choose(options)
    check_layer(layer)  # before the model is sought, maybe over the network
    with loading(spec, extra="huggingface"):
        from transformers import AutoConfig

        library = importlib.metadata.version("transformers")
        config = AutoConfig.from_pretrained(target, trust_remote_code=options.trust_remote_code)
        num_layers = count_layers(config)
    layers = choose_layers(spec, layer, num_layers)
    load = partial(HuggingFaceEncoder.load, target, layers, settings)
    return Recipe(
        name=f"huggingface:{full_name(target)}",
        label=short_name(target),
        version=f"{describe_version(spec, target)}; transformers {library}",
        settings=settings.describe(_find_dtype(config)),
        layers=layers,
        all_layers=choose_layers(spec, "all", num_layers),
        mixes=layer == MIX,
        load=load,
        load_untrained=load,
    )


def _find_dtype(config: Any) -> str:
    """Return the type in which a model was saved."""
    name = "dtype" if hasattr(config, "dtype") else "torch_dtype"  # the older name, which newer versions warn of
    return str(getattr(config, name, None) or "float32").removeprefix("torch.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """Settings of a model beside its layers."""

    pooling: str = "mean"
    batch_size: int = BATCH
    dtype: str = "auto"
    device_map: str | None = None
    prompt: str | None = None
    special_tokens: bool = True
    detokenise: bool = False
    trust_remote_code: bool = False

    @classmethod
    def choose(cls, options: EncoderOptions) -> ModelSettings:
        """Return the settings that options stand for."""
        pooling = options.pooling or "mean"
        if pooling not in POOLINGS:
            raise unknown("pooling", pooling, POOLINGS)
        check_prompt(options.prompt)
        return cls(
            pooling=pooling,
            batch_size=options.batch_size or BATCH,
            dtype=options.model_dtype or "auto",
            device_map=options.device_map,
            prompt=options.prompt,
            special_tokens=not options.no_special_tokens,
            detokenise=options.detokenise,
            trust_remote_code=options.trust_remote_code,
        )

    def describe(self, saved_dtype: str) -> dict[str, Any]:
        """Return what can change a vector: the pooling, and everything that is not the default."""
        dtype = saved_dtype if self.dtype == "auto" else self.dtype
        changed = {
            "model_dtype": None if dtype == "float32" else dtype,
            "prompt": self.prompt,
            "special_tokens": None if self.special_tokens else False,
            "detokenise": self.detokenise or None,
        }
        return {"pooling": self.pooling} | {name: value for name, value in changed.items() if value is not None}


@dataclass(slots=True)
class _Pieces:
    """The tokenised sentences of a block."""

    columns: dict[str, list[list[int]]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.columns["input_ids"])

    def pad(self, chosen: list[int], padding: int, device: torch.device) -> dict[str, Tensor]:
        """Return some sentences as tensors (B, L), padded on the right."""
        longest = max(len(self.columns["input_ids"][number]) for number in chosen)
        padded = {}
        for name, column in self.columns.items():
            fill = padding if name == "input_ids" else 0
            rows = [column[number] + [fill] * (longest - len(column[number])) for number in chosen]
            padded[name] = torch.tensor(rows).to(device)
        return padded


class HuggingFaceEncoder:
    """Pooled hidden states (n, layers, d) of some layers."""

    def __init__(
        self, model: Any, tokenizer: Any, layers: tuple[int, ...], settings: ModelSettings, device: torch.device
    ) -> None:
        if getattr(model.config, "is_encoder_decoder", False):
            model = model.get_encoder()
        self.model = model.eval() if settings.device_map else model.eval().to(device)
        self.tokenizer, self.layers, self.settings = tokenizer, layers, settings
        self.batch_size, self.pool = settings.batch_size, POOL[settings.pooling]
        self.device = find_first_device(model) if settings.device_map else device
        self.max_length = find_max_length(model, tokenizer)
        paddings = (tokenizer.pad_token_id, tokenizer.eos_token_id, 0)
        self.padding = next(number for number in paddings if number is not None)

    @classmethod
    def load(
        cls,
        target: str,
        layers: tuple[int, ...],
        settings: ModelSettings,
        device: torch.device,
        weights_seed: int | None = None,
    ) -> HuggingFaceEncoder:
        """Load a model and its tokenizer; with a seed, its weights are drawn anew."""
        spec = f"huggingface:{target}"
        trust = settings.trust_remote_code
        with loading(spec, extra="huggingface"):
            from transformers import AutoModel, AutoTokenizer

            tokenizer = AutoTokenizer.from_pretrained(target, trust_remote_code=trust)
            options: dict[str, Any] = {"torch_dtype": settings.dtype, "trust_remote_code": trust}
            if settings.device_map:
                options["device_map"] = settings.device_map
            model = AutoModel.from_pretrained(target, **_rename(options))
        if weights_seed is not None:
            draw_weights(spec, model, weights_seed)
        return cls(model, tokenizer, layers, settings, device)

    def encode(self, sentences: list[list[str]]) -> NDArray[np.float32]:
        return self._encode(self._tokenise(sentences))

    def encode_stream(self, blocks: Iterable[list[list[str]]]) -> Iterator[NDArray[np.float32]]:
        """Yield the vectors of blocks of sentences; the next block is tokenised while the model works on one."""
        waiting = iter(blocks)
        with ThreadPoolExecutor(1) as executor:
            ahead = [executor.submit(self._tokenise, block) for block in _take_one(waiting)]
            while ahead:
                pieces = ahead.pop().result()
                ahead = [executor.submit(self._tokenise, block) for block in _take_one(waiting)]
                yield self._encode(pieces)

    def _tokenise(self, sentences: list[list[str]]) -> _Pieces:
        settings = self.settings
        texts = [spell_text(tokens, detokenise=settings.detokenise, prompt=settings.prompt) for tokens in sentences]
        pieces = self.tokenizer(
            texts,
            truncation=self.max_length is not None,
            max_length=self.max_length,
            add_special_tokens=settings.special_tokens,
            return_attention_mask=True,
        )
        if empty := [number for number, ids in enumerate(pieces["input_ids"]) if not ids]:
            raise ValueError(f"{texts[empty[0]]!r} has no tokens. Leave out --no-special-tokens")
        return _Pieces({name: pieces[name] for name in pieces})

    @torch.inference_mode()
    def _encode(self, pieces: _Pieces) -> NDArray[np.float32]:
        lengths = [len(ids) for ids in pieces.columns["input_ids"]]
        order = sorted(range(len(lengths)), key=lengths.__getitem__)  # alike lengths need little padding
        in_order = [lengths[row] for row in order]
        full = FULL if self.device.type == "cpu" else None
        vectors: NDArray[np.float32] | None = None
        start = 0
        while start < len(order):
            chosen = order[start : find_end(in_order, start, self.batch_size, full)]
            try:
                block = self._run(pieces.pad(chosen, self.padding, self.device))
            except (RuntimeError, MemoryError) as error:
                if not is_too_large(error):
                    raise
                self._take_fewer(error)
                continue
            if vectors is None:
                vectors = np.empty((len(order), *block.shape[1:]), np.float32)
            vectors[chosen] = block
            start += len(chosen)
        assert vectors is not None
        return vectors

    def _run(self, batch: dict[str, Tensor]) -> NDArray[np.float32]:
        with products_in(torch.float32, self.device):
            states = self.model(**batch, output_hidden_states=True).hidden_states
        mask = batch["attention_mask"]
        pooled = [self.pool(states[layer].float(), mask.to(states[layer].device)).cpu() for layer in self.layers]
        stacked: NDArray[np.float32] = torch.stack(pooled, 1).numpy()
        return stacked

    def _take_fewer(self, error: BaseException) -> None:
        """Go on with smaller batches after a lack of memory."""
        if self.batch_size == 1:
            raise ProbingError("a single sentence is more than the memory can hold. Take a smaller model") from error
        self.batch_size //= 2
        logger.info("out of memory: %s sentences at a time from now on", self.batch_size)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def find_end(lengths: Sequence[int], start: int, batch_size: int, full: int | None) -> int:
    """Return where a batch of sentences in order of length ends.

    It has at most `batch_size` sentences. With `full` pieces, it ends before the first longer sentence, which would
    need padding of all others.
    """
    end = min(start + batch_size, len(lengths))
    for place in range(start + 1, end):
        if full is not None and lengths[place - 1] < lengths[place] and (place - start) * lengths[place - 1] >= full:
            return place
    return end


def _take_one(blocks: Iterator[list[list[str]]]) -> Iterator[list[list[str]]]:
    """Yield the next block, if there is one."""
    for block in blocks:
        yield block
        return


def _rename(options: dict[str, Any]) -> dict[str, Any]:
    """Return options of transformers by the names that its version has."""
    major = int(importlib.metadata.version("transformers").partition(".")[0])
    return options if major < 5 else {name.replace("torch_dtype", "dtype"): value for name, value in options.items()}


def find_first_device(model: nn.Module) -> torch.device:
    """Return where a model that is spread over devices takes its input; weights kept elsewhere are on none (meta)."""
    devices = (parameter.device for parameter in model.parameters() if parameter.device.type != "meta")
    return next(devices, torch.device("cpu"))


def find_max_length(model: nn.Module, tokenizer: Any) -> int | None:
    """Return how many pieces a model takes at most, or None if there is no limit.

    Where position embeddings have a padding index, as in RoBERTa, positions are counted from after it.
    """
    config: Any = model.config
    limits = [tokenizer.model_max_length]
    positions = getattr(config.get_text_config(), "max_position_embeddings", None)
    if isinstance(positions, int) and positions > 0:
        found = [part for name, part in model.named_modules() if name.endswith("position_embeddings")]
        padding = [part.padding_idx for part in found if isinstance(part, nn.Embedding)]
        limits.append(positions - sum(index + 1 for index in padding[:1] if index is not None))
    known = [limit for limit in limits if limit < LARGEST_LENGTH]
    return min(known) if known else None
