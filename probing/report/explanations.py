"""What `probe explain` left in a results folder, for the page: explained sentences, and accuracies without a head.

Shapes: H heads, L tokens of a sentence, R iterations of the routing, G groups of capsules.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ENDING = ".explanation.json"
LIMIT = 1_500_000
"""So many characters of sentences go into a page: attention grows with the square of their length."""


@dataclass(frozen=True, slots=True)
class Explanations:
    """Plain data, checked, with weights in thousandths."""

    sentences: Sequence[dict[str, Any]] = field(default=())
    """Each with task, model, tokens, gold, predicted and layers: attention (H, L, L) and, where heads are routed,
    agreement and share (R, L, H, G)."""
    masking: Sequence[dict[str, Any]] = field(default=())
    """Each with task, model, layer, head, accuracy and drop."""
    left_out: int = 0
    """Sentences beyond the page's limit."""

    def __bool__(self) -> bool:
        return bool(self.sentences or self.masking)


def load_explanations(folder: Path, on_damaged: Callable[[str], None], limit: int = LIMIT) -> Explanations:
    """Return the explanations of a folder; files that are none are named and left out."""
    by_file, masking = [], []
    for path in sorted(folder.glob(f"*{ENDING}")):
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            named = {"task": _text(content["task"]), "model": _text(content["model"])}
            sentences = [named | _read_sentence(item) for item in content["sentences"]]
            masked = [named | _read_masking(item) for item in content["masking"]]
        except OSError as error:
            on_damaged(f"{path}: cannot be read ({error.strerror})")
        except (ValueError, TypeError, KeyError, IndexError, RecursionError):
            on_damaged(f"{path}: not an explanation. Delete it and run `probe explain` again")
        else:
            by_file.append(sentences)
            masking += masked
    # The first sentence of each file comes before the second of any.
    ordered = [one for turn in itertools.zip_longest(*by_file) for one in turn if one is not None]
    sizes = itertools.accumulate(len(json.dumps(one, separators=(",", ":"))) for one in ordered)
    kept = sum(size <= limit for size in sizes)
    return Explanations(ordered[:kept], masking, len(ordered) - kept)


def _read_sentence(content: dict[str, Any]) -> dict[str, Any]:
    tokens = [_text(token) for token in content["tokens"]]
    length = len(tokens)
    layers = []
    for layer in content["layers"]:
        heads = len(layer["attention"])
        read = {"attention": _thousandths(layer["attention"], (heads, length, length))}
        for name in ("agreement", "share"):
            if name in layer:
                shape = (len(layer[name]), length, heads, len(layer[name][0][0][0]))
                read[name] = _thousandths(layer[name], shape)
        layers.append(read)
    gold = content["gold"]
    return {
        "tokens": tokens,
        "gold": None if gold is None else _text(gold),
        "predicted": _text(content["predicted"]),
        "layers": layers,
    }


def _read_masking(item: dict[str, Any]) -> dict[str, Any]:
    numbers = {name: item[name] for name in ("layer", "head", "accuracy", "drop")}
    if not all(_is_number(number) for number in numbers.values()):
        raise ValueError
    return numbers


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _thousandths(values: Any, shape: Sequence[int]) -> Any:
    """Return nested lists of numbers as whole numbers, if they have the shape that they should have."""
    if not shape:
        if not _is_number(values):
            raise ValueError
        return round(1000 * values)
    if not isinstance(values, list) or len(values) != shape[0]:
        raise ValueError
    return [_thousandths(item, shape[1:]) for item in values]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
