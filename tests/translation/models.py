"""Small encoder-decoders for tests, and packed inputs for them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from probing.config import RoutingConfig
from probing.model import Packing
from probing.registry import AGGREGATORS
from probing.translation.encoder_decoder import EncoderDecoder, build_encoder_decoder
from probing.translation.settings import ATTENTIONS, TranslatorConfig
from probing.translation.subwords import BEGIN, END

ALL = ("enc-self", "enc-dec", "dec-self")
assert ALL == ATTENTIONS


def make_model(
    aggregator: str = "em",
    *,
    apply: Sequence[str] = ALL,
    vocabulary: int = 12,
    seed: int = 0,
    dtype: torch.dtype = torch.float32,
    sharpness: float = 1.0,
    **changes: object,
) -> EncoderDecoder:
    """Return a model of two layers, d = 8, with random weights; sharper ones are surer of their next subword."""
    torch.manual_seed(seed)
    sizes = {"num_layers": 2, "model_dim": 8, "num_heads": 2, "feed_forward_dim": 16, "num_capsules": 8}
    config = TranslatorConfig(**{**sizes, "dropout": 0.0, "apply": tuple(apply), **changes})  # type: ignore[arg-type]
    factory = AGGREGATORS.find(aggregator).object
    model = build_encoder_decoder(factory, config, RoutingConfig(), vocabulary_sizes=(vocabulary, vocabulary))
    with torch.no_grad():
        model.output.weight *= sharpness
    return model.to(dtype).eval()


def pack(sentences: Sequence[Sequence[int]], order: Tensor | None = None) -> tuple[Tensor, Packing]:
    """Return sentences as packed tokens."""
    lengths = torch.tensor([len(sentence) for sentence in sentences])
    rows = torch.arange(len(sentences)).repeat_interleave(lengths)
    positions = torch.cat([torch.arange(len(sentence)) for sentence in sentences])
    tokens = torch.tensor([token for sentence in sentences for token in sentence])
    return tokens, Packing.build(rows, positions, lengths, int(lengths.max()), order)


def run(model: EncoderDecoder, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> Tensor:
    """Return the scores (T, V) of the subwords after each token of the targets."""
    lengths = torch.tensor([len(source) + len(target) for source, target in zip(sources, targets, strict=True)])
    order = lengths.argsort()
    source, source_packing = pack([[*each, END] for each in sources], order)
    target, target_packing = pack([[BEGIN, *each] for each in targets], order)
    return model.score(model(source, source_packing, target, target_packing))
