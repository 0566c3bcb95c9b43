"""The objective of a translation's training: smoothed cross-entropy, judged on dev by BLEU or by the loss.

One update has `batch_tokens` times `accumulate` times the number of processes tokens. It is divided into as many parts,
and each process trains on its own: the gradient is that of the whole, however it is divided.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from probing.model import Packing
from probing.native import products_in
from probing.tasks import Integers
from probing.training import ALONE, BatchSize, Evaluation, Ranks, move
from probing.translation.cross_entropy import smoothed_cross_entropy
from probing.translation.encoder_decoder import EncoderDecoder
from probing.translation.pair_batches import PairBatch, ParallelSplit
from probing.translation.scoring import compute_bleu
from probing.translation.search import translate
from probing.translation.settings import SearchConfig, TranslationTrainingConfig
from probing.translation.subwords import Subwords

DEV_TOKENS = 8192
"""Number of tokens of dev whose loss is computed together."""


@dataclass(frozen=True, slots=True)
class Update:
    """The pairs of one update, and this process's parts of them."""

    parts: Sequence[Integers]
    """Numbers of the pairs of each of this process's parts."""
    size: BatchSize
    """Size of the whole update."""
    is_empty: bool = False
    """Whether there was no pair left for this process: then its part counts nothing."""


@dataclass(frozen=True, slots=True)
class DevText:
    """The dev set: numbers for the loss, text for BLEU."""

    split: ParallelSplit
    references: Sequence[str]
    subwords: Subwords
    """Subwords of the target."""
    language: str = ""
    """Target language."""


class TranslationObjective:
    """Defines the loss of an update, the score on dev, and which score is better."""

    def __init__(
        self,
        model: EncoderDecoder,
        train: ParallelSplit,
        dev: DevText,
        settings: TranslationTrainingConfig,
        search: SearchConfig,
        *,
        device: torch.device,
        ranks: Ranks = ALONE,
    ) -> None:
        self.model, self.train, self.dev, self.settings, self.device = model, train, dev, settings, device
        self.search = SearchConfig(beam=1, alpha=search.alpha, extra_length=search.extra_length)
        self.ranks = ranks
        self.wrapped: nn.Module = ranks.wrap(model)

    def __len__(self) -> int:
        return len(self.train)

    def batches(self, order: Integers) -> Iterator[Update]:
        """Yield the updates of the pairs in the given order."""
        count = self.settings.accumulate * self.ranks.count
        for rows in self.train.groups(order, self.settings.batch_tokens * count):
            parts = divide(rows, self.train.count_tokens(rows), count)[self.ranks.rank :: self.ranks.count]
            mine = [part for part in parts if len(part)]
            target = int(np.sum(self.train.target_offsets[rows + 1] - self.train.target_offsets[rows]))
            source = int(np.sum(self.train.source_offsets[rows + 1] - self.train.source_offsets[rows]))
            size = BatchSize(examples=len(rows), tokens=source + target, weight=target)
            yield Update(mine or [rows[:1]], size, is_empty=not mine)

    def size(self, batch: Update) -> BatchSize:
        return batch.size

    def losses(self, batch: Update) -> Iterator[Tensor]:
        scale = 0.0 if batch.is_empty else self.ranks.count / batch.size.weight  # gradients are averaged over processes
        for number, rows in enumerate(batch.parts, 1):
            is_last = number == len(batch.parts)
            with nullcontext() if is_last or self.ranks.count == 1 else self.wrapped.no_sync():  # type: ignore[operator]
                pairs = self.train.batch(rows)
                yield self._add_up(self.wrapped, pairs, self.settings.label_smoothing) * scale

    def evaluate(self) -> Evaluation:
        loss = self.compute_dev_loss()
        if self.settings.select == "loss":
            return Evaluation(loss, {"dev_loss": loss})
        bleu = compute_bleu(self.translate_dev(), self.dev.references, language=self.dev.language)
        return Evaluation(bleu, {"dev_loss": loss, "dev_bleu": bleu})

    def is_better(self, score: float, best: float) -> bool:
        return score < best if self.settings.select == "loss" else score > best

    def is_perfect(self, score: float) -> bool:
        return self.settings.select == "bleu" and score == 100.0

    @torch.inference_mode()
    def compute_dev_loss(self) -> float:
        """Return the mean loss of a target subword of dev, without smoothing."""
        self.model.eval()
        split, total = self.dev.split, 0.0
        with products_in(torch.float32, self.device):
            for pairs in split.batches(np.arange(len(split)), DEV_TOKENS):
                total += float(self._add_up(self.model, pairs, 0.0))
        return total / max(1, len(split.target_tokens))

    def translate_dev(self) -> list[str]:
        """Return the greedy translations of dev."""
        found = translate(self.model, list_sources(self.dev.split), self.search, device=self.device)
        return self.dev.subwords.decode([hypotheses[0].tokens for hypotheses in found])

    def _add_up(self, model: nn.Module, pairs: PairBatch, smoothing: float) -> Tensor:
        """Return the loss of some pairs, summed over their target tokens."""
        source, source_packing, target, target_packing = pack_pairs(pairs, self.device)
        hidden_Td = model(source, source_packing, target, target_packing)
        targets_T = move(torch.from_numpy(pairs.target.tokens_out), self.device)
        return smoothed_cross_entropy(hidden_Td, self.model.output.weight, targets_T, smoothing)


def divide(rows: Integers, tokens: Integers, count: int) -> list[Integers]:
    """Return pairs in some parts of about equal numbers of tokens; parts may be empty."""
    if count == 1:
        return [rows]
    ends = np.cumsum(tokens)
    bounds = np.searchsorted(ends, ends[-1] * np.arange(1, count) / count, "right")
    return np.split(rows, bounds)


def pack_pairs(pairs: PairBatch, device: torch.device) -> tuple[Tensor, Packing, Tensor, Packing]:
    """Return the sources, and the targets as the decoder reads them, packed so that their views have the same pairs."""
    source, target = pairs.source, pairs.target
    order = torch.from_numpy(source.lengths + target.lengths).argsort(stable=True)
    packings = [
        Packing.build(
            torch.from_numpy(side.rows),
            torch.from_numpy(side.positions),
            torch.from_numpy(side.lengths),
            int(side.lengths.max()),
            order,
        ).map(partial(move, device=device))
        for side in (source, target)
    ]
    tokens = [move(torch.from_numpy(numbers), device) for numbers in (source.tokens, target.tokens_in)]
    return tokens[0], packings[0], tokens[1], packings[1]


def list_sources(split: ParallelSplit) -> list[list[int]]:
    """Return the subwords of each source of a split, without the end."""
    ends = split.source_offsets
    return [split.source_tokens[ends[row] : ends[row + 1] - 1].tolist() for row in range(len(split))]
