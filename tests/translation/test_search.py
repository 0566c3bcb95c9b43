"""Beam search: the same as an exhaustive search, and as a slow beam that keeps nothing."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from random import Random

import pytest
import torch

from probing.translation.encoder_decoder import EncoderDecoder
from probing.translation.search import Hypothesis, compute_penalty, translate
from probing.translation.settings import SearchConfig
from probing.translation.subwords import END
from tests.translation.models import make_model, run

CPU = torch.device("cpu")
AGGREGATORS = ("base", "simple", "em")


@torch.inference_mode()
def next_scores(model: EncoderDecoder, source: Sequence[int], prefix: Sequence[int]) -> list[float]:
    """Return the log probabilities of the subword after a prefix, computed from nothing."""
    return run(model, [source], [prefix])[-1].double().log_softmax(0).tolist()


def search_slowly(model: EncoderDecoder, source: Sequence[int], config: SearchConfig, n_best: int) -> list[Hypothesis]:
    """Beam search over one sentence as its definition reads, without any cache."""
    beam, limit = max(config.beam, n_best), len(source) + config.extra_length
    hypotheses: list[tuple[float, list[int]]] = [(0.0, [])]
    finished: list[Hypothesis] = []
    for length in range(1, limit + 1):
        candidates = []
        for score, prefix in hypotheses:
            scores = next_scores(model, source, prefix)
            tokens = [END] if length == limit else range(END, len(scores))
            candidates += [(score + scores[token], [*prefix, token]) for token in tokens]
        candidates.sort(key=lambda each: -each[0])
        candidates = candidates[: 2 * beam]
        ended = [(score, tokens) for score, tokens in candidates if tokens[-1] == END]
        finished += [Hypothesis(tokens[:-1], score / compute_penalty(length, config.alpha)) for score, tokens in ended]
        finished = sorted(finished, key=lambda each: -each.score)[:n_best]
        hypotheses = [each for each in candidates if each[1][-1] != END][:beam]
        best = max((score for score, _ in hypotheses), default=-math.inf)
        if len(finished) == n_best and finished[-1].score >= best / compute_penalty(limit, config.alpha):
            break
    return finished


def search_exhaustively(model: EncoderDecoder, source: Sequence[int], config: SearchConfig) -> Hypothesis:
    """Score every translation there is."""
    found = []
    for length in range(1, len(source) + config.extra_length + 1):
        for tokens in itertools.product([3, 4, 5], repeat=length - 1):
            score = sum(next_scores(model, source, tokens[:place])[token] for place, token in enumerate([*tokens, END]))
            found.append(Hypothesis(list(tokens), score / compute_penalty(length, config.alpha)))
    return max(found, key=lambda each: each.score)


def draw_sources(count: int, *, seed: int = 0, longest: int = 9, vocabulary: int = 12) -> list[list[int]]:
    random = Random(seed)
    return [[random.randrange(3, vocabulary) for _ in range(random.randint(0, longest))] for _ in range(count)]


def check_same(found: list[Hypothesis], expected: list[Hypothesis]) -> None:
    assert [each.tokens for each in found] == [each.tokens for each in expected]
    for one, other in zip(found, expected, strict=True):
        assert one.score == pytest.approx(other.score, abs=1e-4)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 2.0])
@pytest.mark.parametrize("seed", range(3))
def test_a_wide_beam_finds_the_best_translation_of_all(alpha: float, seed: int) -> None:
    model = make_model("em", vocabulary=6, seed=seed, sharpness=4.0)
    config = SearchConfig(beam=27, alpha=alpha, extra_length=2)
    (found,) = translate(model, [[3, 5]], config, device=CPU)
    check_same(found, [search_exhaustively(model, [3, 5], config)])


@pytest.mark.parametrize("aggregator", AGGREGATORS)
@pytest.mark.parametrize(("beam", "alpha", "n_best"), [(1, 0.6, 1), (4, 0.6, 1), (3, 1.0, 3), (2, 0.0, 5), (4, 3.0, 2)])
def test_keeping_keys_and_values_changes_nothing(aggregator: str, beam: int, alpha: float, n_best: int) -> None:
    model = make_model(aggregator, seed=beam, sharpness=5.0)
    config = SearchConfig(beam=beam, alpha=alpha, extra_length=6)
    sources = draw_sources(7, seed=beam)
    found = translate(model, sources, config, device=CPU, n_best=n_best)
    for source, hypotheses in zip(sources, found, strict=True):
        check_same(hypotheses, search_slowly(model, source, config, n_best))
    lengths = {len(hypothesis.tokens) for hypotheses in found for hypothesis in hypotheses}
    assert len(lengths) > 1, "hypotheses end at different steps"


@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_a_translation_does_not_depend_on_its_neighbours(aggregator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, config = make_model(aggregator, sharpness=5.0), SearchConfig(beam=3, extra_length=8)
    sources = draw_sources(40, longest=20)
    together = translate(model, sources, config, device=CPU)
    alone = [translate(model, [source], config, device=CPU)[0] for source in sources]
    monkeypatch.setattr("probing.translation.search.SENTENCES", 7)
    some = translate(model, sources, config, device=CPU)
    for one, two, three in zip(together, alone, some, strict=True):
        check_same(one, two)
        check_same(one, three)


def test_a_search_goes_on_after_the_first_end() -> None:
    """With a length penalty a longer translation can overtake the first that ends."""
    overtaken = 0
    for seed in range(30):
        model = make_model("base", seed=seed, sharpness=3.0)
        config = SearchConfig(beam=4, alpha=2.0, extra_length=10)
        source = [3, 4, 5]
        (found,) = translate(model, [source], config, device=CPU)
        first = search_slowly(model, source, SearchConfig(beam=4, alpha=2.0, extra_length=10), 1)
        check_same(found, first)
        ends_at_once = next_scores(model, source, [])[END] / compute_penalty(1, 2.0)
        overtaken += found[0].score > ends_at_once and len(found[0].tokens) > 3
    assert overtaken > 3


def test_no_translation_is_longer_than_allowed() -> None:
    model = make_model("base", sharpness=0.1)
    sources = draw_sources(10)
    config = SearchConfig(beam=2, alpha=5.0, extra_length=3)
    for source, (found,) in zip(sources, translate(model, sources, config, device=CPU), strict=True):
        assert len(found.tokens) <= len(source) + 2
        assert END not in found.tokens


def test_nothing_to_translate() -> None:
    assert translate(make_model(), [], SearchConfig(), device=CPU) == []


def test_progress_is_told() -> None:
    told: list[int] = []
    translate(make_model(), draw_sources(70), SearchConfig(beam=1, extra_length=2), device=CPU, on_done=told.append)
    assert told == sorted(told)
    assert told[-1] == 70
