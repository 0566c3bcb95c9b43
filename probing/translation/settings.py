"""Settings of a translation run, and its presets: `base` and `big` of the paper, `tiny` for small corpora.

Section 5.2 of Li et al. (2019); what the paper does not say is as in its authors' code. Nothing here imports torch.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from probing.config import (
    RoutingConfig,
    change_preset,
    check_at_least_one,
    check_descent,
    check_field,
    check_sizes,
)

AttentionKind = Literal["enc-self", "enc-dec", "dec-self"]
ATTENTIONS: tuple[AttentionKind, ...] = ("enc-self", "enc-dec", "dec-self")
"""The three attentions of an encoder-decoder, in the order of the paper's Table 2."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslatorConfig:
    """The sizes of the encoder-decoder, and where its heads are aggregated otherwise than linearly."""

    num_layers: int = 6
    """Number of layers of the encoder, and of the decoder."""
    model_dim: int = 512
    """d, the width of the hidden states."""
    num_heads: int = 8
    """H, the attention heads of a layer; divides model_dim."""
    feed_forward_dim: int = 2048
    dropout: float = 0.1
    num_capsules: int = 512
    """N, the output capsules of a routing; divides model_dim."""
    iterations: int = 3
    """T, the routing iterations."""
    votes: Literal["shared", "per_head"] = "shared"
    """Kind of input capsules: one layer on the concatenation, or one per head on its own output."""
    squash: bool = True
    """Whether simple routing squashes the capsules in every iteration."""
    inverse_temperature: tuple[float, ...] = ()
    """Lambda of EM routing for each iteration; empty means 1, 2, …, T."""
    apply: tuple[AttentionKind, ...] = ("enc-self",)
    """Attentions that have the aggregator: enc-self, enc-dec, dec-self; the others are linear."""
    layers_with_aggregator: tuple[int, ...] = ()
    """Layers, counted from 1, whose chosen attentions have the aggregator; empty means all."""
    tie: Literal["none", "target", "all"] = "none"
    """Embeddings that are one matrix: none, the target's with the softmax's, or all three (joint subwords only)."""

    section: ClassVar[str] = "model"

    def __post_init__(self) -> None:
        sizes = ("num_layers", "model_dim", "num_heads", "feed_forward_dim", "num_capsules", "iterations")
        check_at_least_one(self, *sizes)
        check_sizes(self)
        known = all(name in ATTENTIONS for name in self.apply)
        check_field(self, "apply", known, ", ".join(ATTENTIONS))
        check_field(self, "tie", self.tie in ("none", "target", "all"), "none, target or all")


@dataclass(frozen=True, slots=True, kw_only=True)
class SubwordConfig:
    """The subwords that both texts are segmented into."""

    vocabulary_size: int = 32_000
    """Number of subwords, of each side or of both together; a small corpus may have fewer."""
    joint: bool = False
    """Whether both languages share one set of subwords."""
    character_coverage: float = 0.9999
    """Share of the text's characters that are subwords; rarer ones are spelled as bytes, so that none is unknown."""
    max_length: int = 256
    """Number of subwords beyond which a training pair is dropped."""

    section: ClassVar[str] = "subwords"

    def __post_init__(self) -> None:
        check_field(self, "vocabulary_size", 300 <= self.vocabulary_size <= 1_000_000, "from 300 to 1000000")
        check_field(self, "character_coverage", 0.5 <= self.character_coverage <= 1, "from 0.5 to 1")
        check_at_least_one(self, "max_length")


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslationTrainingConfig:
    """The settings of the optimisation loop."""

    max_epochs: int = 100
    max_steps: int = 100_000
    """Number of updates after which training ends, whatever the epoch."""
    validate_every: int = 0
    """Number of updates between two looks at dev; 0 means once an epoch."""
    patience: int = 10
    """Number of looks at dev without a better score after which training stops."""
    select: Literal["bleu", "loss"] = "bleu"
    """Score on dev by which the best weights are chosen: BLEU of greedy translations, or the loss."""
    batch_tokens: int = 4096
    """Number of tokens in a batch, counted on the longer side of each pair."""
    accumulate: int = 1
    """Number of batches whose gradients are summed for one update."""
    learning_rate: float = 7e-4
    """Peak of the learning rate; (d * warmup_steps)^-0.5 is the paper's."""
    warmup_steps: int = 4000
    """The learning rate rises linearly over these steps, then falls with the inverse square root."""
    clip_norm: float = 0.0
    """The largest gradient norm; 0 turns clipping off."""
    label_smoothing: float = 0.1
    """Share of the probability that is spread over the other subwords."""
    average: int = 5
    """Number of last looks at dev whose weights are averaged, if that is no worse on dev than the best weights."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Type of numbers in training: `auto` is bfloat16 where that is faster; scoring is always float32."""

    section: ClassVar[str] = "training"

    def __post_init__(self) -> None:
        sizes = ("max_epochs", "max_steps", "patience", "batch_tokens", "accumulate", "warmup_steps", "average")
        check_at_least_one(self, *sizes)
        check_descent(self)
        check_field(self, "validate_every", self.validate_every >= 0, "0 or above")
        check_field(self, "select", self.select in ("bleu", "loss"), "bleu or loss")
        check_field(self, "label_smoothing", 0 <= self.label_smoothing < 1, "at least 0 and below 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchConfig:
    """The settings of beam search."""

    beam: int = 4
    """Number of hypotheses that are kept at each step; 1 is greedy search."""
    alpha: float = 0.6
    """Exponent of the length penalty ((5 + length) / 6)^alpha."""
    extra_length: int = 50
    """Number of subwords by which a translation may be longer than its source."""

    section: ClassVar[str] = "search"

    def __post_init__(self) -> None:
        check_at_least_one(self, "beam", "extra_length")
        check_field(self, "alpha", 0 <= self.alpha <= 10, "from 0 to 10")


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslationConfig:
    """All settings of a translation run, by section."""

    model: TranslatorConfig = field(default_factory=TranslatorConfig)
    routing: RoutingConfig = field(default_factory=RoutingConfig)
    subwords: SubwordConfig = field(default_factory=SubwordConfig)
    training: TranslationTrainingConfig = field(default_factory=TranslationTrainingConfig)
    search: SearchConfig = field(default_factory=SearchConfig)

    def as_dict(self) -> dict[str, dict[str, Any]]:
        """Return the settings by section and name."""
        return dataclasses.asdict(self)


TRANSLATION_PRESETS: dict[str, TranslationConfig] = {
    "base": TranslationConfig(
        training=TranslationTrainingConfig(accumulate=8, validate_every=1000),
    ),
    "big": TranslationConfig(
        model=TranslatorConfig(
            model_dim=1024, num_heads=16, feed_forward_dim=4096, num_capsules=1024, dropout=0.3, apply=("enc-self",)
        ),
        training=TranslationTrainingConfig(accumulate=8, validate_every=1000, learning_rate=4.94e-4),
    ),
    "tiny": TranslationConfig(
        model=TranslatorConfig(
            num_layers=4,
            model_dim=128,
            num_heads=4,
            feed_forward_dim=256,
            dropout=0.3,
            num_capsules=128,
            tie="all",
        ),
        subwords=SubwordConfig(vocabulary_size=10_000, joint=True),
        training=TranslationTrainingConfig(learning_rate=5e-3, warmup_steps=2000, average=10),
        search=SearchConfig(beam=5),
    ),
    "mini": TranslationConfig(
        model=TranslatorConfig(
            num_layers=2,
            model_dim=128,
            num_heads=4,
            feed_forward_dim=256,
            dropout=0.1,
            num_capsules=128,
            tie="target",
        ),
        subwords=SubwordConfig(vocabulary_size=2000, joint=False, max_length=64),
        training=TranslationTrainingConfig(
            max_epochs=6, batch_tokens=2048, learning_rate=3e-3, warmup_steps=400, average=3
        ),
    ),
}
"""`base` and `big` have the paper's sizes, `tiny` suits small corpora on a laptop's CPU, `mini` the embedded text."""


def resolve_translation_config(
    preset: str, *, config_file: Path | None = None, settings: Iterable[str] = ()
) -> TranslationConfig:
    """Return a preset of translation changed by a TOML file, then by `section.key=value` settings."""
    return change_preset(TRANSLATION_PRESETS, preset, config_file=config_file, settings=settings)
