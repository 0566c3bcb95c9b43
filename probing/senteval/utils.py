"""SentEval's small functions, which scripts written for it import."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from probing.encoders import DotDict as dotdict  # noqa: N813 - the name that it has in SentEval
from probing.probes import OPTIMIZERS, parse_optimizer

__all__ = ["cosine", "create_dictionary", "dotdict", "get_optimizer"]

MARKS = ("<s>", "</s>", "<p>")
"""Words that come first in a dictionary."""


def create_dictionary(sentences: Iterable[Iterable[str]]) -> tuple[list[str], dict[str, int]]:
    """Return the words of sentences, the most frequent first after three marks, and the number of each."""
    counts = Counter(word for tokens in sentences for word in tokens)
    others = sorted((word for word in counts if word not in MARKS), key=lambda word: -counts[word])
    words = [*MARKS, *others]
    return words, {word: number for number, word in enumerate(words)}


def cosine(u: Any, v: Any) -> Any:
    """Return the cosine of the angle between two vectors."""
    return np.dot(u, v) / (np.linalg.norm(u) * np.linalg.norm(v))


def get_optimizer(s: str) -> tuple[Any, dict[str, float]]:
    """Return the class of torch.optim that `adam` or `sgd,lr=0.1` names, and its settings."""
    import torch

    method, settings = parse_optimizer(s)
    return getattr(torch.optim, OPTIMIZERS[method]), settings
