"""Beam search: all sentences of a batch at once, with nothing projected twice.

A sentence is over only when no open hypothesis can beat its finished ones, and then it leaves the batch.
Shapes: B sentences of a batch, E hypotheses of each (the beam), R = B*E, S source tokens, H heads, d width, V subwords.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from probing.native import FastProducts
from probing.translation.decoder_cache import DecoderCache
from probing.translation.encoder_decoder import EncoderDecoder
from probing.translation.settings import SearchConfig
from probing.translation.subwords import BEGIN, END, UNKNOWN_SUBWORD

NEVER = [UNKNOWN_SUBWORD, BEGIN]
"""Subwords that no translation has."""
SOURCE_TOKENS = 2048
"""Approximate number of source tokens that are translated together."""
SENTENCES = 64
"""Most sentences that are translated together."""
BLOCK = 1 << 19
"""Approximate number of scores of next subwords that are made at a time: few enough for a processor's cache."""
COMPACTED = 0.75
"""Share of sentences that are still open below which finished ones leave the batch."""


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A translation."""

    tokens: list[int]
    """Subwords, without the end."""
    score: float
    """Log probability, divided by the length penalty."""


def compute_penalty(length: int, alpha: float) -> float:
    """Return the length penalty of a translation, whose end counts as a subword."""
    return float(((5 + length) / 6) ** alpha)


@torch.inference_mode()
def translate(
    model: EncoderDecoder,
    sources: Sequence[Sequence[int]],
    config: SearchConfig,
    *,
    device: torch.device,
    n_best: int = 1,
    on_done: Callable[[int], None] = lambda count: None,
) -> list[list[Hypothesis]]:
    """Return the `n_best` translations of each source (subwords without the end), the best first.

    `on_done` receives the number of sentences translated so far.
    """
    model.eval()
    outputs: list[list[Hypothesis]] = [[] for _ in sources]
    order = sorted(range(len(sources)), key=lambda place: -len(sources[place]))
    done = 0
    products = FastProducts(frozen=True)
    while done < len(order):
        longest = len(sources[order[done]]) + 1
        rows = order[done : done + max(1, min(SENTENCES, SOURCE_TOKENS // longest))]
        with products:
            search = Search.begin(model, [sources[row] for row in rows], config, device, n_best=n_best)
            results = search.run()
        for row, found in zip(rows, results, strict=True):
            outputs[row] = found
        done += len(rows)
        on_done(done)
    return outputs


@dataclass(slots=True)
class Finished:
    """The finished hypotheses of one sentence, the best first."""

    wanted: int
    hypotheses: list[Hypothesis] = field(default_factory=list)

    def add(self, hypothesis: Hypothesis) -> None:
        """Keep a hypothesis if it is one of the best."""
        self.hypotheses.append(hypothesis)
        self.hypotheses.sort(key=lambda each: -each.score)
        del self.hypotheses[self.wanted :]

    @property
    def bar(self) -> float:
        """Score that a new hypothesis must exceed."""
        return self.hypotheses[-1].score if len(self.hypotheses) == self.wanted else -math.inf


@dataclass(slots=True)
class Search:
    """A beam search over a batch of sentences."""

    model: EncoderDecoder
    cache: DecoderCache
    config: SearchConfig
    limits: list[int]
    """Largest number of subwords of each open sentence's translation, its end included."""
    places: list[int]
    """Number of each open sentence in the batch."""
    finished: list[Finished]
    """Finished hypotheses of all sentences of the batch."""
    scores: Tensor
    """Log probability of each open hypothesis, (B, E); minus infinity where there is none."""
    tokens: Tensor
    """Last subword of each open hypothesis, (B, E)."""
    history: Tensor
    """Subwords of the open hypotheses, (B, E, steps)."""

    @classmethod
    def begin(
        cls,
        model: EncoderDecoder,
        sources: Sequence[Sequence[int]],
        config: SearchConfig,
        device: torch.device,
        *,
        n_best: int,
    ) -> Search:
        """Encode the sources; each begins with one open hypothesis."""
        beam = max(config.beam, n_best)
        lengths = np.array([len(source) + 1 for source in sources])
        limits = [int(length) - 1 + config.extra_length for length in lengths]
        scores = torch.full((len(sources), beam), -math.inf, device=device)
        scores[:, 0] = 0.0
        tokens = torch.full((len(sources), beam), BEGIN, device=device)
        cache = DecoderCache.build(model, sources, beam, max(limits), device)
        finished = [Finished(n_best) for _ in sources]
        return cls(
            model,
            cache,
            config,
            limits,
            list(range(len(sources))),
            finished,
            scores,
            tokens,
            tokens[..., None][..., :0],
        )

    def run(self) -> list[list[Hypothesis]]:
        """Search until every sentence is over."""
        while self.places:
            self.advance()
        return [finished.hypotheses for finished in self.finished]

    def advance(self) -> None:
        """Extend all open hypotheses by one subword."""
        hidden_Rd = self.cache.step(self.tokens)
        length = self.history.shape[2] + 1
        scores, parents, tokens = self._extend(hidden_Rd, length)
        ended = tokens == END
        self._finish(scores, parents, ended, length)
        beam = self.scores.shape[1]
        # The first `beam` candidates that go on; a stable sort by whether they end keeps their order.
        kept = ended.to(torch.uint8).argsort(dim=1, stable=True)[:, :beam]
        self.scores = scores.masked_fill(ended, -math.inf).gather(1, kept)
        self.tokens, parents = tokens.gather(1, kept), parents.gather(1, kept)
        past = self.history.gather(1, parents[..., None].expand(-1, -1, length - 1))
        self.history = torch.cat([past, self.tokens[..., None]], 2)
        self.cache.follow(parents)
        self._leave(length)

    def _extend(self, hidden_Rd: Tensor, length: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return scores, parents and subwords of each sentence's best candidates, the best first, (B, 2E)."""
        sentences, beam = self.scores.shape
        best, tokens, ends = self._look_ahead(hidden_Rd, 2 * beam)
        count = best.shape[1]
        best = best.view(sentences, beam, count) + self.scores.unsqueeze(2)
        if length in self.limits:  # the last subword of a translation is its end
            last = torch.tensor([limit == length for limit in self.limits], device=best.device)
            forced = torch.full_like(best, -math.inf)
            forced[:, :, 0] = ends.view(sentences, beam) + self.scores
            best = torch.where(last[:, None, None], forced, best)
            tokens = torch.where(last.repeat_interleave(beam)[:, None], END, tokens)
        scores, chosen = best.view(sentences, -1).topk(min(2 * beam, beam * count), 1)
        return scores, chosen // count, tokens.view(sentences, -1).gather(1, chosen)

    def _look_ahead(self, hidden_Rd: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return log probabilities and numbers of each hypothesis's best next subwords, and that of its end, (R,)."""
        size = len(self.model.output.weight)
        rows = max(16, BLOCK // size) if hidden_Rd.device.type == "cpu" else len(hidden_Rd)
        found = []
        for part_Rd in hidden_Rd.split(rows):
            logits_RV = self.model.score(part_Rd).float()
            normalisers = logits_RV.logsumexp(1, keepdim=True)
            logits_RV[:, NEVER] = -math.inf
            best, tokens = logits_RV.topk(min(count, size), 1)
            found.append((best - normalisers, tokens, logits_RV[:, END] - normalisers.squeeze(1)))
        best, tokens, ends = map(torch.cat, zip(*found, strict=True))
        return best, tokens, ends

    def _finish(self, scores: Tensor, parents: Tensor, ended: Tensor, length: int) -> None:
        """Keep the hypotheses that end here."""
        penalty = compute_penalty(length, self.config.alpha)
        ends = (ended & scores.isfinite()).nonzero().tolist()
        if not ends:
            return
        values, parents_list = scores.double().div(penalty).tolist(), parents.tolist()
        past = self.history.tolist()
        for row, candidate in ends:
            finished = self.finished[self.places[row]]
            if (score := values[row][candidate]) > finished.bar:
                finished.add(Hypothesis(past[row][parents_list[row][candidate]], score))

    def _leave(self, length: int) -> None:
        """Close the sentences of which no open hypothesis can beat the finished ones."""
        best = self.scores.amax(1).tolist()
        for row, place in enumerate(self.places):
            # Log probabilities only fall: at best, a hypothesis keeps its own and has the largest penalty.
            bound = best[row] / compute_penalty(self.limits[row], self.config.alpha)
            if length >= self.limits[row] or self.finished[place].bar >= bound:
                self.scores[row] = -math.inf
                best[row] = -math.inf
        open_rows = [row for row, score in enumerate(best) if score > -math.inf]
        if not open_rows or len(open_rows) <= COMPACTED * len(self.places):
            self._keep(open_rows)

    def _keep(self, rows: list[int]) -> None:
        """Drop all other sentences from the batch."""
        kept = torch.tensor(rows, dtype=torch.int64, device=self.scores.device)
        self.places = [self.places[row] for row in rows]
        self.limits = [self.limits[row] for row in rows]
        self.scores, self.tokens = self.scores[kept], self.tokens[kept]
        self.history = self.history[kept]
        self.cache.keep(kept)
