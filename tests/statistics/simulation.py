"""What models get right: written out, or drawn by chance."""

from __future__ import annotations

import numpy as np


def answers(text):
    """Return (seeds, sentences) from rows of 1 and 0."""
    return np.array([[character == "1" for character in row] for row in text.split()])


def simulate(rng, chances, *, seeds, spread=0.0):
    """Return what a model gets right: a sentence's chance, moved by the luck of each seed."""
    luck = rng.normal(0, spread, (seeds, 1))
    return rng.random((seeds, len(chances))) < chances + luck
