"""Encoders of translation runs, frozen, with their own subwords.

A sentence is written in the form of the run's source text, and its subwords and the end symbol go through the encoder,
as in training. A layer's vector is the mean over the subwords, without the end symbol, which belongs to no word.
Layer 0 is the embeddings with their positions; the last layer has the final norm, as the decoder sees it.
Shapes: T tokens of a batch laid end to end, B sentences, d width.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from msgspec import structs
from numpy.typing import NDArray

from probing.encoders.encoder import Recipe
from probing.encoders.layers import MIX, check_layer, choose_layers
from probing.encoders.options import EncoderOptions, detokenise_sentence
from probing.encoders.translation_runs import read_run
from probing.errors import ProbingError
from probing.model import Packing, Transformer, mean_of_tokens
from probing.native import products_in
from probing.registry import AGGREGATORS
from probing.results import Record, TranslatorIdentity, read_sentences, translator_folder
from probing.storage import check_path, hash_content, hash_json, hash_large_file
from probing.tasks import IndexedTask, Packed, pack
from probing.training import move
from probing.translation.subwords import END, Subwords, read_subwords
from probing.translation.text_form import TextForm
from probing.translation.translator import SETTINGS, SOURCE, WEIGHTS, load_translator, read_settings

SUBWORDS = "BPE (sentencepiece)"
"""Kind of a translator's subwords."""
BATCH_TOKENS = 4096
"""Approximate number of subwords that go through the encoder at a time."""
AGGREGATOR = "?aggregator="
"""What stands in a specification before the code of an aggregator that is a plug-in."""


def make_recipe(target: str, options: EncoderOptions) -> Recipe:
    """Return the recipe of a run's encoder, given by the run's record."""
    spec = f"translation:{target}"
    layer = options.layer or "last"
    check_layer(layer)
    file, _, aggregator = target.partition(AGGREGATOR)
    path = check_path(file)
    record = read_run(path)
    folder = translator_folder(path)
    config, name, _ = read_settings(folder)
    _check_aggregator(spec, record, aggregator or (name if name in AGGREGATORS.names() else ""))
    num_layers = config.model.num_layers
    layers = choose_layers(spec, layer, num_layers)
    form = _find_form(path, record)
    load = partial(TranslationEncoder.load, folder, layers, form, aggregator or None)
    identity = record.identity
    return Recipe(
        name=f"translation:{identity.model.name.replace(' layer ', ' layers ')}",  # which layer is probed follows
        label=identity.model.label,
        version=_hash_files(folder),
        settings={"pooling": "mean", "prose": form.prose, "lowercase": form.lowercase},
        layers=layers,
        all_layers=choose_layers(spec, "all", num_layers),
        mixes=layer == MIX,
        load=load,
        load_untrained=load,
        seed=identity.seed,
        translator=_describe(path, record, read_subwords(folder / SOURCE), form),
    )


def _check_aggregator(spec: str, record: Record, aggregator: str) -> None:
    """Refuse a plug-in that is not named, or whose code is another than that of the run."""
    if not aggregator:
        raise ProbingError(
            f"encoder {spec!r}: its aggregator {record.identity.settings['model']['aggregator']!r} is a plug-in. "
            f"Name the code to run: '{spec}{AGGREGATOR}file.py:Name'"
        )
    if AGGREGATORS.find(aggregator).version != record.identity.model.version:
        raise ProbingError(f"encoder {spec!r}: the code of the aggregator {aggregator!r} is not that of the run")


def _hash_files(folder: Path) -> str:
    try:
        return hash_json([hash_large_file(folder / name) for name in (WEIGHTS, SETTINGS, SOURCE)])
    except OSError as error:
        raise ProbingError(
            f"{folder}: the model cannot be read ({error.strerror}: {Path(error.filename).name})"
        ) from None


def _find_form(path: Path, record: Record) -> TextForm:
    """Return the form of the source text, of which the first test set is a sample."""
    assert record.translation is not None
    return TextForm.find(read_sentences(path, next(iter(record.translation.tests)), "source"))


def _describe(
    path: Path, record: Record, subwords: Subwords, form: TextForm
) -> Callable[[IndexedTask], TranslatorIdentity]:
    """Return a function that describes a run for the record of a task."""
    scores = record.translation
    assert scores is not None
    test, (name, identity) = next(iter(scores.tests)), (path.stem, record.identity)
    described = TranslatorIdentity(
        run=name,
        label=identity.model.label,
        data=identity.data,
        languages=identity.task,
        preset=identity.preset,
        settings=identity.settings,
        subwords=SUBWORDS,
        vocabulary_size=subwords.size,
        subwords_sha256=hash_content(subwords.model),
        test=test,
        bleu=scores.test.bleu,
        signature=scores.test.signature,
        spelled_out=0.0,
    )

    def describe(task: IndexedTask) -> TranslatorIdentity:
        return structs.replace(described, spelled_out=measure_spelled_out(task, subwords, lowercase=form.lowercase))

    return describe


def measure_spelled_out(task: IndexedTask, subwords: Subwords, *, lowercase: bool = False) -> float:
    """Return the percentage of the words of a task's sentences that subwords spell out character by character.

    A word is a token of two characters or more, all of them letters; all its occurrences in the file count.
    """
    counts = sum(np.bincount(split.tokens, minlength=len(task.words) + 1) for split in task.splits.values())
    places = [place for place, word in enumerate(task.words) if len(word) > 1 and all(map(_is_letter, word))]
    words = [task.words[place].lower() if lowercase else task.words[place] for place in places]
    weights = np.asarray(counts)[np.array(places, dtype=np.int64) + 1]
    spelled_out = np.array(subwords.find_spelled_out(words), dtype=bool)
    return float(100 * weights[spelled_out].sum() / max(1, weights.sum()))


def _is_letter(character: str) -> bool:
    """Return whether a character is a letter, or a mark that belongs to one."""
    return unicodedata.category(character)[0] in "LM"


@dataclass(frozen=True, slots=True)
class TranslationEncoder:
    """Means (n, layers, d) of some layers over the subwords of sentences."""

    encoder: Transformer
    subwords: Subwords
    layers: tuple[int, ...]
    form: TextForm
    device: torch.device

    @classmethod
    def load(
        cls,
        folder: Path,
        layers: tuple[int, ...],
        form: TextForm,
        aggregator: str | None,
        device: torch.device,
        weights_seed: int | None = None,
    ) -> TranslationEncoder:
        """Load the encoder of a run; with a seed, its weights are drawn as those of a run with this seed."""
        translator = load_translator(folder, device, aggregator=aggregator, weights_seed=weights_seed)
        return cls(translator.model.encoder, translator.source_subwords, layers, form, device)

    def spell(self, tokens: list[str]) -> str:
        """Return a sentence as the translator reads it."""
        text = detokenise_sentence(tokens) if self.form.prose else " ".join(tokens)
        return text.lower() if self.form.lowercase else text

    def encode(self, sentences: list[list[str]]) -> NDArray[np.float32]:
        texts = [self.spell(tokens) for tokens in sentences]
        segmented = self.subwords.encode(texts)
        if empty := [text for text, ids in zip(texts, segmented, strict=True) if not ids]:
            raise ValueError(f"{empty[0]!r} has no subwords")
        tokens = np.array([token for ids in segmented for token in (*ids, END)], np.int64)
        offsets = np.cumsum([0, *(len(ids) + 1 for ids in segmented)])
        vectors: NDArray[np.float32] | None = None
        for rows in _cut(np.diff(offsets)):
            block = self._run(pack(tokens, offsets, rows))
            if vectors is None:
                vectors = np.empty((len(sentences), *block.shape[1:]), np.float32)
            vectors[rows] = block
        assert vectors is not None
        return vectors

    @torch.inference_mode()
    def _run(self, packed: Packed) -> NDArray[np.float32]:
        """Return the vectors (B, layers, d) of sentences that end with END."""
        kept = packed.positions < packed.lengths[packed.rows] - 1
        words = Packed(packed.tokens[kept], packed.rows[kept], packed.positions[kept], packed.lengths - 1)
        packing, word_packing = self._make_packing(packed), self._make_packing(words)
        kept_T, tokens_T = (move(torch.from_numpy(numbers), self.device) for numbers in (kept, packed.tokens))
        with products_in(torch.float32, self.device):
            pooled = [
                mean_of_tokens(hidden_Td[kept_T], word_packing).cpu()
                for layer, hidden_Td in enumerate(self.encoder.iterate_layers(tokens_T, packing))
                if layer in self.layers
            ]
        stacked: NDArray[np.float32] = torch.stack(pooled, 1).numpy()
        return stacked

    def _make_packing(self, packed: Packed) -> Packing:
        rows, positions, lengths = map(torch.from_numpy, (packed.rows, packed.positions, packed.lengths))
        return Packing.build(rows, positions, lengths, int(packed.lengths.max())).map(partial(move, device=self.device))


def _cut(lengths: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Yield the rows of sentences from short to long, about as many at a time as have so many subwords."""
    order = np.argsort(lengths, kind="stable")
    groups = (np.cumsum(lengths[order]) - 1) // BATCH_TOKENS
    yield from np.split(order, np.flatnonzero(np.diff(groups)) + 1)
