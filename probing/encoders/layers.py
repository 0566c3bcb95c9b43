"""Layers of a model by number, from the end, as ranges and lists, all of them, or their learned mix."""

from __future__ import annotations

import re
from typing import Any

from probing.errors import ProbingError

MIX = "mix"
"""All layers, weighed by weights that are learned with the probe (Peters et al. 2018)."""
FORMS = "a number from 0 (the embeddings), from the end (-1), a range (0-6), a list (0,3,6), all, last or mix"
PART = re.compile(r"(-?\d+)(?:-(\d+))?")


def check_layer(layer: str) -> None:
    """Refuse what cannot be a layer of any model."""
    known = layer in ("all", "last", MIX)
    if not known and not all(PART.fullmatch(part.strip()) for part in layer.split(",")):
        raise ProbingError(f"--layer must be {FORMS}. Got {layer!r}")


def count_layers(config: Any) -> int:
    """Return the number of layers that a model's configuration states, of its encoder if it has a decoder as well."""
    text = config.get_text_config()
    names = ("encoder_layers", "num_layers", "num_hidden_layers") if config.is_encoder_decoder else ()
    for name in (*names, "num_hidden_layers"):
        if isinstance(found := getattr(text, name, None), int):
            return found
    encoder = getattr(config, "encoder", None)
    if encoder is not None:
        return count_layers(encoder)
    raise ProbingError(f"a model of type {config.model_type!r} does not tell how many layers it has")


def choose_layers(name: str, layer: str, num_layers: int) -> tuple[int, ...]:
    """Return the layers asked for, in rising order; layer 0 is the embeddings."""
    if layer in ("all", MIX):
        return tuple(range(num_layers + 1))
    if layer == "last":
        return (num_layers,)
    chosen: set[int] = set()
    for part in layer.split(","):
        match = PART.fullmatch(part.strip())
        assert match is not None
        first = int(match[1])
        first = first if first >= 0 else num_layers + 1 + first
        last = first if match[2] is None else int(match[2])
        if not 0 <= first <= last <= num_layers:
            raise ProbingError(
                f"encoder {name!r}: --layer must be 0 to {num_layers}, -1 to -{num_layers + 1}, a range or list of "
                f"them, all, last or mix. Got {layer!r}"
            )
        chosen |= set(range(first, last + 1))
    return tuple(sorted(chosen))
