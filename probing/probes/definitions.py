"""The probes: grids of configurations, and how each is trained."""

from __future__ import annotations

import dataclasses
import itertools
import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass

from probing.errors import ProbingError, unknown
from probing.training import Epoch


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """One point of a grid."""

    hidden: int
    """Hidden units; 0 means a linear classifier."""
    dropout: float = 0.0
    weight_decay: float = 0.0
    """The L2 penalty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A grid of configurations, and the settings of their training."""

    name: str
    configurations: tuple[Configuration, ...]
    """The best on dev is chosen, the first among equals."""
    standardise: bool
    """Whether dimensions get mean 0 and variance 1 over the training split, or less (see `standardise.LARGEST`)."""
    batch_size: int = 64
    passes: int = 1
    """Number of passes over the training split in an epoch, after which dev is scored."""
    min_steps: int = 0
    """Smallest number of steps of an epoch: a small training split is passed over more often."""
    max_epochs: int = 50
    patience: int = 5
    """Number of epochs without a better dev accuracy after which training stops; one more if `cumulative`."""
    cumulative: bool = False
    """Whether all epochs without a better dev accuracy are counted, not only those in a row, as in SentEval."""
    optimizer: str = "adam"
    learning_rate: float = 1e-3

    def count_passes(self, sentences: int) -> int:
        """Return the number of passes over a training split in an epoch."""
        return max(self.passes, math.ceil(self.min_steps / math.ceil(sentences / self.batch_size)))

    def stops(self, curve: Sequence[Epoch]) -> bool:
        """Return whether the training of a configuration with these epochs is over."""
        best = list(itertools.accumulate((epoch.score for epoch in curve), max))
        risen = [0, *(number for number in range(1, len(best)) if best[number] > best[number - 1])]
        if self.cumulative:
            return len(best) - len(risen) > self.patience
        return len(best) - 1 - risen[-1] >= self.patience

    def without_hidden_layer(self) -> Probe:
        """Return the same probe with linear classifiers instead of those with hidden units."""
        linear = (dataclasses.replace(item, hidden=0, dropout=0.0) for item in self.configurations)
        return dataclasses.replace(self, configurations=tuple(dict.fromkeys(linear)))


def senteval_probe(
    *,
    nhid: int = 0,
    dropout: float = 0.0,
    batch_size: int = 64,
    epoch_size: int = 4,
    max_epoch: int = 200,
    tenacity: int = 5,
    optim: str = "adam",
    learning_rate: float = 1e-3,
) -> Probe:
    """Return SentEval's own protocol, by the names that SentEval gives to its settings."""
    least = {"nhid": 0, "batch_size": 1, "epoch_size": 1, "max_epoch": 0, "tenacity": 0}
    for name, value in zip(least, (nhid, batch_size, epoch_size, max_epoch, tenacity), strict=True):
        if not isinstance(value, numbers.Integral) or value < least[name]:
            raise ProbingError(
                f"{name} of SentEval's classifier must be a whole number from {least[name]}, not {value!r}"
            )
    if not 0 <= dropout < 1:
        raise ProbingError(f"dropout of SentEval's classifier must be at least 0 and below 1, not {dropout!r}")
    return Probe(
        name="senteval",
        configurations=tuple(
            Configuration(hidden=nhid, dropout=dropout if nhid else 0.0, weight_decay=10.0**power)
            for power in range(-5, -1)
        ),
        standardise=False,
        batch_size=batch_size,
        passes=epoch_size,
        max_epochs=max_epoch // epoch_size + 1,  # SentEval stops once max_epoch is passed, not reached
        patience=tenacity,
        cumulative=True,
        optimizer=optim,
        learning_rate=learning_rate,
    )


PROBES = {
    "mlp": Probe(
        name="mlp",
        configurations=tuple(
            Configuration(hidden=hidden, dropout=dropout) for hidden in (50, 100, 200) for dropout in (0.0, 0.1, 0.2)
        ),
        standardise=True,
        min_steps=250,
    ),
    "linear": Probe(
        name="linear",
        configurations=tuple(Configuration(hidden=0, weight_decay=decay) for decay in (0.0, 1e-5, 1e-4, 1e-3, 1e-2)),
        standardise=True,
        min_steps=250,
    ),
    "senteval": senteval_probe(),
    "senteval-mlp": dataclasses.replace(senteval_probe(nhid=50), name="senteval-mlp"),
}
"""`mlp`: one hidden layer, its size and dropout chosen on dev; `linear`: L2 chosen on dev; `senteval`: as SentEval with
nhid 0, a linear classifier; `senteval-mlp`: as SentEval with nhid 50 and no dropout."""

LINEAR_TASKS = ("WC",)
"""Tasks whose probe never has a hidden layer, in SentEval and in Conneau et al. (2018)."""


def get_probe(name: str, *, task: str = "") -> Probe:
    """Return a probe as it is used on a task."""
    if name not in PROBES:
        raise unknown("probe", name, PROBES)
    return PROBES[name].without_hidden_layer() if task in LINEAR_TASKS else PROBES[name]
