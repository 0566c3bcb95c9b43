"""The figures that Li et al. (2019) print in their Tables 2, 3 and 4."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperFigures:
    """One row of the paper; what it does not print is None."""

    parameters: str
    """Number of parameters as it is printed."""
    bleu: float
    train: float | None = None
    """Updates a second in training."""
    decode: float | None = None
    """Sentences a second in decoding."""
    difference: float | None = None
    """BLEU - that of the baseline."""
    mark: str = ""
    """Arrow of the significance test; only Table 4 has them."""


SELF, CROSS, DECODER = "enc-self", "enc-dec", "dec-self"

COMPONENTS: dict[tuple[str, tuple[str, ...]], PaperFigures] = {
    ("base", ()): PaperFigures(parameters="88.0M", train=1.92, decode=1.67, bleu=27.31),
    ("simple", (SELF,)): PaperFigures(parameters="+12.6M", train=1.23, decode=1.66, bleu=27.98, difference=0.67),
    ("em", (SELF,)): PaperFigures(parameters="+12.6M", train=1.20, decode=1.65, bleu=28.28, difference=0.97),
    ("em", (CROSS,)): PaperFigures(parameters="+12.6M", train=1.20, decode=1.21, bleu=27.94, difference=0.63),
    ("em", (DECODER,)): PaperFigures(parameters="+12.6M", train=1.21, decode=1.21, bleu=28.15, difference=0.84),
    ("em", (SELF, CROSS)): PaperFigures(parameters="+25.2M", train=0.87, decode=1.20, bleu=28.45, difference=1.14),
    ("em", (SELF, CROSS, DECODER)): PaperFigures(
        parameters="+37.8M", train=0.66, decode=0.89, bleu=28.47, difference=1.16
    ),
}
"""Table 2: WMT14 En⇒De, Transformer-Base, by aggregator and attentions."""

LAYERS: dict[tuple[int, ...], PaperFigures] = {
    (): PaperFigures(parameters="88.0M", train=1.92, bleu=27.31),
    (1, 2, 3, 4, 5, 6): PaperFigures(parameters="100.6M", train=1.20, bleu=28.28),
    (4, 5, 6): PaperFigures(parameters="94.3M", train=1.54, bleu=28.26),
    (1, 2, 3): PaperFigures(parameters="94.3M", train=1.54, bleu=28.27),
    (1, 2): PaperFigures(parameters="92.2M", train=1.67, bleu=28.26),
    (6,): PaperFigures(parameters="90.1M", train=1.88, bleu=27.68),
    (1,): PaperFigures(parameters="90.1M", train=1.88, bleu=27.75),
}
"""Table 3: the same with EM routing in encoder self-attention, by layers of six."""

SYSTEMS: dict[tuple[str, bool, str], PaperFigures] = {
    ("base", False, "en-de"): PaperFigures(parameters="88M", bleu=27.31),
    ("base", True, "en-de"): PaperFigures(parameters="92M", bleu=28.26, mark="⇑"),
    ("big", False, "en-de"): PaperFigures(parameters="264M", bleu=28.58),
    ("big", True, "en-de"): PaperFigures(parameters="297M", bleu=28.96, mark="↑"),
    ("base", False, "zh-en"): PaperFigures(parameters="108M", bleu=24.13),
    ("base", True, "zh-en"): PaperFigures(parameters="112M", bleu=24.68, mark="⇑"),
    ("big", False, "zh-en"): PaperFigures(parameters="304M", bleu=24.56),
    ("big", True, "zh-en"): PaperFigures(parameters="337M", bleu=25.00, mark="↑"),
}
"""Table 4, the authors' own systems: by preset, whether the encoder's two lowest layers are routed, and languages."""


def find_layers(layers: Sequence[int], num_layers: int) -> tuple[int, ...] | None:
    """Return the layers of the paper's six that some layers of a stack of any depth correspond to, if there are any.

    These are all, the two lowest, the lowest, the top, the lower half and the upper half, in this order.
    """
    half = num_layers // 2
    every = range(1, num_layers + 1)
    roles = [(every, range(1, 7)), (range(1, 3), (1, 2)), ((1,), (1,)), ((num_layers,), (6,))]
    roles += [(every[:half], (1, 2, 3)), (every[half:], (4, 5, 6)), ((), ())]
    return next((tuple(papers) for ours, papers in roles if tuple(ours) == tuple(layers)), None)
