"""The candidates compute the same, translate equally long, and the figures are complete."""

from __future__ import annotations

import dataclasses
import time

import numpy as np
import pytest
import torch
from torch.nn import functional

from benchmarks import translation, translators
from benchmarks.page import write_section
from benchmarks.translators import CPU, PADDING, PaddedTranslator, Size, build_translator, draw_pairs, draw_sources
from probing.translation.objective import pack_pairs
from probing.translation.settings import ATTENTIONS, TRANSLATION_PRESETS, SearchConfig, TranslatorConfig
from probing.translation.subwords import END

CONDITIONS = {
    "threads": 1,
    "clock": "cpu",
    "rounds": 1,
    "implementation": "fused kernels",
    "machine": {"processor": "A Processor", "cores": 2, "python": "3.11.2", "torch": "2.13.0"},
}


@pytest.fixture(params=["all", "none"])
def size(request, monkeypatch):
    """Two layers of width 16, with tied or untied embeddings."""
    model = TranslatorConfig(
        num_layers=2, model_dim=16, num_heads=2, feed_forward_dim=24, num_capsules=16, dropout=0.0, tie=request.param
    )
    preset = dataclasses.replace(TRANSLATION_PRESETS["tiny"], model=model)
    monkeypatch.setitem(TRANSLATION_PRESETS, "toy", preset)
    return Size(preset="toy", vocabulary=50, batch_tokens=64, pairs=12, sentences=3)


def copy_weights(ours, padded):
    """Give a padded model the weights of the project's."""
    embeddings = [ours.encoder.embedding, ours.decoder.embedding, ours.output]
    for theirs, embedding in zip(padded.embeddings, embeddings, strict=False):
        theirs.load_state_dict(embedding.state_dict())
    transformer = padded.transformer
    for stack, own in ((transformer.encoder, ours.encoder), (transformer.decoder, ours.decoder)):
        stack.norm.load_state_dict(own.norm.state_dict())
        for layer, mine in zip(stack.layers, own.layers, strict=True):
            layer.linear1.load_state_dict(mine.feed_forward[0].state_dict())
            layer.linear2.load_state_dict(mine.feed_forward[2].state_dict())
            norms = [module for name, module in mine.named_children() if name.endswith("norm")]
            for theirs, norm in zip((layer.norm1, layer.norm2, getattr(layer, "norm3", None)), norms, strict=False):
                theirs.load_state_dict(norm.state_dict())
            copy_attention(layer.self_attn, mine.attention if own is ours.encoder else mine.self_attention)
            if own is ours.decoder:
                copy_attention(layer.multihead_attn, mine.memory_attention)


def copy_attention(theirs, mine):
    if isinstance(theirs, translators.WrittenAttention):
        theirs.aggregator.load_state_dict(mine.aggregator.state_dict())
        for linear, weight, bias in zip(
            (theirs.query, theirs.key, theirs.value),
            mine.query_key_value.weight.chunk(3),
            mine.query_key_value.bias.chunk(3),
            strict=True,
        ):
            linear.load_state_dict({"weight": weight, "bias": bias})
        return
    theirs.load_state_dict(
        {
            "in_proj_weight": mine.query_key_value.weight,
            "in_proj_bias": mine.query_key_value.bias,
            "out_proj.weight": mine.aggregator.output.weight,
            "out_proj.bias": mine.aggregator.output.bias,
        }
    )


@pytest.mark.parametrize("apply", [(), ATTENTIONS])
def test_the_padded_model_computes_the_same(size, apply):
    split, rows = draw_pairs(size.pairs, size.vocabulary), np.arange(size.pairs)
    ours, padded = build_translator(size, apply), PaddedTranslator(size, routed=bool(apply))
    copy_weights(ours, padded)
    source, before, after = translators.pad_pairs(split, rows)
    scores = padded.train()(source, before)[after != PADDING]
    expected = ours.score(ours(*pack_pairs(split.batch(rows), CPU)))
    torch.testing.assert_close(scores, expected, rtol=1e-4, atol=1e-5)


def test_the_pairs_are_like_captions():
    split = draw_pairs(20_000, 100)
    for tokens, offsets in (
        (split.source_tokens, split.source_offsets),
        (split.target_tokens, split.target_offsets),
    ):
        assert np.diff(offsets).mean() == pytest.approx(13, abs=0.3)
        assert np.all(tokens[offsets[1:] - 1] == END)


def test_no_translation_ends_before_its_limit(size):
    sources = draw_sources(5, 7, size.vocabulary)
    found = translation.decode(translators.forbid_end(build_translator(size)), sources, 4)
    assert [len(hypotheses[0].tokens) for hypotheses in found] == [7] * 5


def test_ctranslate2_has_the_same_weights(size):
    pytest.importorskip("ctranslate2")
    model = build_translator(size).eval()
    sources, targets = draw_sources(4, 6, size.vocabulary), draw_sources(4, 8, size.vocabulary)
    translator = translators.convert_to_ctranslate2(model, threads=1)
    texts = [[[str(token) for token in each] for each in side] for side in (sources, targets)]
    for source, target, scored in zip(sources, targets, translator.score_batch(*texts), strict=True):
        split = translators.ParallelSplit(
            np.array([*source, END]), np.array([0, 7]), np.array([*target, END]), np.array([0, 9])
        )
        log = functional.log_softmax(model.score(model(*pack_pairs(split.batch(np.arange(1)), CPU))), 1)
        expected = log[torch.arange(9), torch.tensor([*target, END])]
        torch.testing.assert_close(torch.tensor(scored.log_probs), expected, rtol=1e-4, atol=1e-4)


def test_ctranslate2_finds_the_same_translations(size):
    pytest.importorskip("ctranslate2")
    model = build_translator(size).eval()
    sources = draw_sources(6, 6, size.vocabulary)
    texts = [[str(token) for token in source] for source in sources]
    translator = translators.convert_to_ctranslate2(model, threads=1)
    options = {"suppress_sequences": [["<unk>"], ["<s>"]], "length_penalty": 0.0, "beam_size": 1}
    theirs = translator.translate_batch(texts, max_decoding_length=10, **options)
    ours = translators_greedy(model, sources)
    assert [[int(token) for token in each.hypotheses[0]] for each in theirs] == ours


def translators_greedy(model, sources):
    config = SearchConfig(beam=1, alpha=0.0, extra_length=5)
    return [found[0].tokens for found in translation.translate(model, sources, config, device=CPU)]


def test_the_figures_are_complete_and_written(size, monkeypatch):
    monkeypatch.setattr(translation, "SIZES", {"tiny": size})
    monkeypatch.setattr(translation, "LENGTHS", (3, 5))
    monkeypatch.setattr(translation, "BEAMS", (1, 2))
    monkeypatch.setattr(translation, "has_ctranslate2", lambda: False)
    figures = translation.measure(rounds=1, clock=time.perf_counter)
    assert list(figures["training"]["tiny"]) == ["base", "em"]
    assert figures["training"]["tiny"]["em"]["steps"] > 1
    assert list(figures["decoding"]["tiny"]) == ["base", "Hugging Face"]
    assert figures["routing"]["tiny"]["base"]["share"] == 1
    assert list(figures["growth"]["em"]["source tokens"]) == ["3", "5"]
    section = write_section({"translation": {"conditions": CONDITIONS, "figures": figures}})
    assert "The goals: base 1.5 times, em 3.0 times as fast." in section
    assert "CTranslate2 was not installed." in section
    assert "| 0.89 (0.53) |" in section
    assert "| em | beam = 1, 2 |" in section
    assert translation.render(figures).renderables[1].caption.endswith("CTranslate2 is not installed")
