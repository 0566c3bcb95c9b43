"""A trained translator: its model, its subwords and its settings, kept in a folder beside the record of its run.

The folder holds the weights (safetensors), the settings (JSON), the subword models, and the translations of the test
sets. Nothing in it is code, and loading it runs none.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from probing.config import convert_sections
from probing.errors import ProbingError
from probing.model import AggregatorFactory
from probing.registry import AGGREGATORS
from probing.results import translator_folder
from probing.storage import Folder, check_tensor_header, parse_json, read_text, to_json
from probing.translation.encoder_decoder import EncoderDecoder, build_encoder_decoder
from probing.translation.search import translate
from probing.translation.settings import TRANSLATION_PRESETS, SearchConfig, TranslationConfig
from probing.translation.subwords import Subwords, read_subwords

WEIGHTS, SETTINGS, SOURCE, TARGET = "model.safetensors", "translator.json", "source.model", "target.model"
"""Files of a translator; with joint subwords there is no target.model."""
FORMAT = 1
MAX_SETTINGS = 1 << 16
"""Largest file of settings in bytes."""


@dataclass(frozen=True, slots=True)
class Translation:
    """A translation of a line of text."""

    text: str
    score: float
    """Log probability, divided by the length penalty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Translator:
    """A model with its subwords: raw text in, raw text out."""

    model: EncoderDecoder
    source_subwords: Subwords
    target_subwords: Subwords
    search: SearchConfig
    device: torch.device

    def translate(
        self,
        lines: Sequence[str],
        *,
        n_best: int = 1,
        on_done: Callable[[int], None] = lambda count: None,
    ) -> list[list[Translation]]:
        """Return the `n_best` translations of each line, the best first."""
        sources = self.source_subwords.encode(lines)
        found = translate(self.model, sources, self.search, device=self.device, n_best=n_best, on_done=on_done)
        texts = iter(self.target_subwords.decode([each.tokens for hypotheses in found for each in hypotheses]))
        return [[Translation(next(texts), each.score) for each in hypotheses] for hypotheses in found]


def save_translator(
    record: Path, translator: Translator, config: TranslationConfig, *, aggregator: str, texts: Mapping[str, str]
) -> None:
    """Write a translator beside the record of its run, and some texts, by their files' names."""
    place = translator_folder(record)
    weights, seen = {}, set()
    for name, tensor in translator.model.state_dict().items():  # tied weights are written once
        if tensor.data_ptr() not in seen:
            weights[name] = tensor.detach().cpu().contiguous()
        seen.add(tensor.data_ptr())
    joint = translator.source_subwords is translator.target_subwords
    sizes = [translator.source_subwords.size, translator.target_subwords.size]
    about = {"format": FORMAT, "aggregator": aggregator, "vocabulary_sizes": sizes, "settings": config.as_dict()}
    contents = {SETTINGS: to_json(about, indent=2).encode() + b"\n", SOURCE: translator.source_subwords.model}
    if not joint:
        contents[TARGET] = translator.target_subwords.model
    contents |= {name: text.encode(errors="surrogatepass") for name, text in texts.items()}
    try:
        with Folder.open(place.parent, place.name, create=True) as folder:
            if joint:
                folder.remove(TARGET)
            for name, content in contents.items():
                with folder.replacing(name) as temporary:
                    temporary.write_bytes(content)
            with folder.replacing(WEIGHTS) as temporary:
                save_file(weights, temporary)
    except OSError as error:
        raise ProbingError(f"{place}: the model cannot be written ({error.strerror or error})") from None


def load_translator(
    path: Path,
    device: torch.device,
    *,
    aggregator: str | None = None,
    search: Mapping[str, Any] | None = None,
    weights_seed: int | None = None,
) -> Translator:
    """Load the translator of a run, given by its record or by its folder; with a seed, its weights are drawn anew.

    An aggregator that is a plug-in is imported only if it is named: a file must not decide which code is run.
    """
    folder = translator_folder(path) if path.suffix == ".json" else path
    if not folder.is_dir():
        raise ProbingError(
            f"{path}: no translator is there. Name a record of `probe translate run`, or the folder beside it"
        )
    config, name, sizes = read_settings(folder)
    factory = _find_aggregator(folder, name, aggregator)
    source = read_subwords(folder / SOURCE)
    target = read_subwords(folder / TARGET) if (folder / TARGET).exists() else source
    if [source.size, target.size] != sizes:
        raise ProbingError(f"{folder}: the subwords are not those of the model. Restore the folder, or train again")
    model = _load_model(folder / WEIGHTS, factory, config, sizes)
    if weights_seed is not None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(weights_seed)
            model = build_encoder_decoder(factory, config.model, config.routing, vocabulary_sizes=sizes)
    return Translator(
        model=model.to(device).eval(),
        source_subwords=source,
        target_subwords=target,
        search=dataclasses.replace(config.search, **search or {}),
        device=device,
    )


def read_settings(folder: Path) -> tuple[TranslationConfig, str, list[int]]:
    """Return the settings, the aggregator's name and the numbers of subwords of a translator's folder."""
    path = folder / SETTINGS
    text = read_text(path, limit=MAX_SETTINGS)
    try:
        about = parse_json(text)
        if about["format"] != FORMAT:
            raise ValueError(f"its format is {about['format']!r:.40}, not {FORMAT}")
        config = convert_sections(TRANSLATION_PRESETS["base"], about["settings"])
        sizes = [int(size) for size in about["vocabulary_sizes"]]
        if len(sizes) != 2 or not all(0 < size <= 1 << 24 for size in sizes):
            raise ValueError("vocabulary_sizes are not two numbers of subwords")
        return config, str(about["aggregator"]), sizes
    except (ProbingError, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise ProbingError(f"{path}: not the settings of a translator ({reason:.200})") from None


def _find_aggregator(folder: Path, name: str, given: str | None) -> AggregatorFactory:
    if given is None and name not in AGGREGATORS.names():
        raise ProbingError(
            f"{folder}: its aggregator {name!r} is a plug-in. Name the code to run by --aggregator, as in training"
        )
    factory: AggregatorFactory = AGGREGATORS.find(given or name).object
    return factory


def _load_model(
    path: Path, factory: AggregatorFactory, config: TranslationConfig, sizes: Sequence[int]
) -> EncoderDecoder:
    with torch.device("meta"):
        expected = build_encoder_decoder(factory, config.model, config.routing, vocabulary_sizes=sizes).state_dict()
    try:
        check_tensor_header(path)
        with safe_open(path, "pt") as file:
            names = list(file.keys())
            for name in names:
                shape = list(file.get_slice(name).get_shape())
                if name not in expected or shape != list(expected[name].shape):
                    raise ValueError(f"{name} is {shape}, not of this model")
            weights = {name: file.get_tensor(name) for name in names}
        model = build_encoder_decoder(factory, config.model, config.routing, vocabulary_sizes=sizes)
        own = model.state_dict(keep_vars=True)
        missing = {own[name].data_ptr() for name in own} - {own[name].data_ptr() for name in weights}
        if missing:
            raise ValueError(f"{next(name for name in own if own[name].data_ptr() in missing)} is missing")
        model.load_state_dict(weights, strict=False)
    except (OSError, SafetensorError, ValueError, RuntimeError, KeyError, TypeError) as error:
        reason = " ".join(str(error).split())
        raise ProbingError(f"{path}: not the weights of this translator ({reason:.200})") from None
    return model
