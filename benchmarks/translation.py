"""Translation against others of the same sizes: training, decoding, what routing costs in it, and how it grows.

Training: random pairs of 4 to 40 subwords, 13 on average, against torch.nn.Transformer in a plain padded loop with
torch.optim.Adam. For em in all three attentions, that one's attentions are written out, with em in plain torch
operations on padded tokens.
Decoding: random weights, sources of 13 subwords. The models are changed so that no translation ends by itself, and all
candidates make the same number of steps. CTranslate2 has the project's weights; it is measured if it is installed
(`pip install ctranslate2`).
"""

from __future__ import annotations

import functools
import multiprocessing
import statistics
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import torch
from rich.console import Group
from rich.table import Table

from benchmarks.measuring import median_ratio, take_turns
from benchmarks.translators import (
    CPU,
    PaddedTranslator,
    Size,
    build_translator,
    convert_to_ctranslate2,
    decode_with_marian,
    draw_pairs,
    draw_sources,
    forbid_end,
    has_ctranslate2,
    train_packed,
    train_padded,
)
from probing.translation.encoder_decoder import EncoderDecoder
from probing.translation.search import Hypothesis, translate
from probing.translation.settings import ATTENTIONS, SearchConfig

SIZES = {
    "tiny": Size(preset="tiny", vocabulary=10_000, batch_tokens=4096, pairs=500, sentences=256),
    "base": Size(preset="base", vocabulary=8000, batch_tokens=256, pairs=18, sentences=32),
}
SHARES = {"tiny": 3, "base": 7}
"""The rounds of a size are divided by this."""
LENGTH, BEAM = 13, 4
LENGTHS, BEAMS = (10, 20, 40, 80), (1, 2, 4, 8)
PLACES: dict[str, Sequence[str]] = {
    "base": (),
    "em in enc-self": ("enc-self",),
    "em in enc-dec": ("enc-dec",),
    "em in dec-self": ("dec-self",),
    "em in all three": ATTENTIONS,
}
PAPER = {
    "base": 1.67,
    "em in enc-self": 1.65,
    "em in enc-dec": 1.21,
    "em in dec-self": 1.21,
    "em in all three": 0.89,
}
"""Decoding speed in the paper's Table 2, in sentences a second."""
TRAINING_GOALS = {"base": 1.5, "em": 3.0}
"""How many times as fast as the padded loop training should be."""
MARIAN, CTRANSLATE2 = "Hugging Face", "CTranslate2"
DECODING_GOALS = {MARIAN: 2.0, CTRANSLATE2: 1 / 3}
"""How many times as fast as these decoding should be."""

PAUSE = 0.5
"""Seconds before each turn beside other libraries: the threads of CTranslate2 spin for 0.2 s after their work."""
_translator: Any = None
"""CTranslate2's translator, in its own process."""


def measure(*, rounds: int, clock: Callable[[], float]) -> dict[str, Any]:
    """Return the figures of training, decoding and routing by size, and those of growth by aggregator."""
    figures: dict[str, Any] = {"training": {}, "decoding": {}, "routing": {}}
    for name, size in SIZES.items():
        turns = max(1, rounds // SHARES[name])
        figures["training"][name] = measure_training(size, rounds=turns, clock=clock)
        figures["decoding"][name] = measure_decoding(size, rounds=turns, clock=clock)
        figures["routing"][name] = measure_routing(size, rounds=turns, clock=clock)
    smallest = next(iter(SIZES.values()))
    figures["growth"] = measure_growth(smallest, rounds=max(1, rounds // 5), clock=clock)
    return figures


def measure_training(size: Size, *, rounds: int, clock: Callable[[], float]) -> dict[str, Any]:
    """Return, by aggregator, the time of a step and how many times as fast an epoch is as the padded loop's."""
    split = draw_pairs(size.pairs, size.vocabulary)
    steps = len(list(split.groups(np.arange(len(split)), size.batch_tokens)))
    tokens = len(split.source_tokens) + len(split.target_tokens)
    candidates: dict[str, Callable[[], object]] = {}
    for name, apply in (("base", ()), ("em", ATTENTIONS)):
        candidates[name] = train_packed(build_translator(size, apply), size, split)
        candidates[f"{name}, padded"] = train_padded(PaddedTranslator(size, routed=name == "em"), size, split)
    seconds = take_turns(candidates, rounds=rounds, clock=clock, title=f"training, {size.preset}")
    return {
        name: {
            "steps": steps,
            "milliseconds": 1000 * statistics.median(seconds[name]) / steps,
            "padded_milliseconds": 1000 * statistics.median(seconds[f"{name}, padded"]) / steps,
            "tokens_per_second": tokens / statistics.median(seconds[name]),
            "speedup": median_ratio(seconds[f"{name}, padded"], seconds[name]),
        }
        for name in TRAINING_GOALS
    }


def decode(model: EncoderDecoder, sources: Sequence[Sequence[int]], beam: int) -> list[list[Hypothesis]]:
    """Return the project's translations, as long as their sources."""
    return translate(model, sources, SearchConfig(beam=beam, extra_length=1), device=CPU)


def measure_decoding(size: Size, *, rounds: int, clock: Callable[[], float]) -> dict[str, Any]:
    """Return, by candidate, sentences and subwords a second, and how many times as fast the project's base is."""
    sources = draw_sources(size.sentences, LENGTH, size.vocabulary)
    model = forbid_end(build_translator(size))
    candidates: dict[str, Callable[[], object]] = {
        "base": functools.partial(decode, model, sources, BEAM),
        MARIAN: decode_with_marian(size, sources, BEAM),
    }
    if has_ctranslate2():
        candidates[CTRANSLATE2] = _decode_with_ctranslate2(size, sources)
    seconds = take_turns(candidates, rounds=rounds, clock=clock, title=f"decoding, {size.preset}", pause=PAUSE)
    return {
        name: {
            "sentences_per_second": len(sources) / statistics.median(taken),
            "subwords_per_second": len(sources) * (LENGTH + 1) / statistics.median(taken),
            "speedup": median_ratio(taken, seconds["base"]),
        }
        for name, taken in seconds.items()
    }


def _decode_with_ctranslate2(size: Size, sources: Sequence[Sequence[int]]) -> Callable[[], object]:
    """Return a call that decodes with CTranslate2 in a process of its own: where it has run, torch stays slower."""
    process = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
    process.submit(_load_ctranslate2, size, torch.get_num_threads()).result()
    texts = [[str(token) for token in source] for source in sources]
    return lambda: process.submit(_run_ctranslate2, texts).result()


def _load_ctranslate2(size: Size, threads: int) -> None:
    global _translator
    _translator = convert_to_ctranslate2(forbid_end(build_translator(size)), threads=threads)


def _run_ctranslate2(texts: list[list[str]]) -> None:
    steps = LENGTH + 1
    _translator.translate_batch(
        texts, beam_size=BEAM, min_decoding_length=steps, max_decoding_length=steps, max_batch_size=len(texts)
    )


def measure_routing(size: Size, *, rounds: int, clock: Callable[[], float]) -> dict[str, Any]:
    """Return, by where em is, sentences decoded in a second and their share of base's."""
    sources = draw_sources(size.sentences, LENGTH, size.vocabulary)
    candidates = {
        name: functools.partial(decode, forbid_end(build_translator(size, apply)), sources, BEAM)
        for name, apply in PLACES.items()
    }
    seconds = take_turns(candidates, rounds=rounds, clock=clock, title=f"routing in decoding, {size.preset}")
    return {
        name: {
            "sentences_per_second": len(sources) / statistics.median(taken),
            "share": median_ratio(seconds["base"], taken),
        }
        for name, taken in seconds.items()
    }


def measure_growth(size: Size, *, rounds: int, clock: Callable[[], float]) -> dict[str, Any]:
    """Return, by aggregator, what grows and its value, milliseconds of decoding for a sentence."""
    figures: dict[str, Any] = {}
    for name, apply in (("base", ()), ("em", ATTENTIONS)):
        model = forbid_end(build_translator(size, apply))
        for what, values in (("source tokens", LENGTHS), ("beam", BEAMS)):
            candidates = {}
            for value in values:
                length, beam = (value, BEAM) if what == "source tokens" else (LENGTH, value)
                sources = draw_sources(size.sentences, length, size.vocabulary)
                candidates[str(value)] = functools.partial(decode, model, sources, beam)
            seconds = take_turns(candidates, rounds=rounds, clock=clock, title=f"growth, {what}, {name}")
            figures.setdefault(name, {})[what] = {
                value: {
                    "milliseconds": 1000 * statistics.median(taken) / size.sentences,
                    "time_ratio": median_ratio(taken, seconds[str(values[0])]),
                }
                for value, taken in seconds.items()
            }
    return figures


def render(figures: dict[str, Any]) -> Group:
    """Return the figures as tables."""
    training = Table("size", "aggregator", "tokens/s", "ms a step", "padded loop", "times as fast", title="Training")
    decoding = Table("size", "candidate", "sentences/s", "base is … times as fast", title=f"Decoding, beam {BEAM}")
    routing = Table("size", "where", "sentences/s", "of base", "the paper's", title="Routing in decoding")
    grown = Table("aggregator", "what grows", "to", "ms a sentence", "times the first", title="Growth of decoding")
    for size in figures["training"]:
        for name, row in figures["training"][size].items():
            cells = f"{row['milliseconds']:.0f}", f"{row['padded_milliseconds']:.0f}", f"{row['speedup']:.2f}"
            training.add_row(size, name, f"{row['tokens_per_second']:,.0f}", *cells)
        for name, row in figures["decoding"][size].items():
            decoding.add_row(size, name, f"{row['sentences_per_second']:.1f}", f"{row['speedup']:.2f}")
        for name, row in figures["routing"][size].items():
            paper = f"{PAPER[name] / PAPER['base']:.2f}"
            routing.add_row(size, name, f"{row['sentences_per_second']:.1f}", f"{row['share']:.2f}", paper)
    for name, parts in figures["growth"].items():
        for what, rows in parts.items():
            for value, row in rows.items():
                grown.add_row(name, what, value, f"{row['milliseconds']:.1f}", f"{row['time_ratio']:.2f}x")
    training.caption = ", ".join(f"{name} {goal:.1f}" for name, goal in TRAINING_GOALS.items()).join(["Goals: ", ""])
    decoding.caption = ", ".join(f"{name} {goal:.2f}" for name, goal in DECODING_GOALS.items()).join(["Goals: ", ""])
    if not has_ctranslate2():
        decoding.caption += f". {CTRANSLATE2} is not installed"
    return Group(training, decoding, routing, grown)
