"""What `probe explain` left in a results folder, for the page: explained sentences, and accuracies without a head.

Shapes: H heads, L tokens of a sentence, R iterations of the routing, G groups of capsules.
"""

from __future__ import annotations

import itertools
import json
import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from probing.errors import ProbingError
from probing.storage.reading import parse_json, read_text

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
    origins: list[dict[str, str]] = []
    by_file: list[list[dict[str, Any]]] = []
    masking: list[list[dict[str, Any]]] = []
    for path in sorted(folder.glob(f"*{ENDING}")):
        try:
            content = parse_json(read_text(path))
            origin = _read_origin(content)
            sentences = [_read_sentence(item) for item in content["sentences"]]
            masked = [_read_masking(item) for item in content["masking"]]
        except ProbingError as error:
            on_damaged(str(error))
        except (ValueError, TypeError, KeyError, IndexError, OverflowError):
            on_damaged(f"{path}: not an explanation. Delete it and run `probe explain` again")
        else:
            origins.append(origin)
            by_file.append(sentences)
            masking.append(masked)
    names = [
        {"task": origin["task"], "model": name} for origin, name in zip(origins, _tell_apart(origins), strict=True)
    ]
    by_file = [[name | one for one in sentences] for name, sentences in zip(names, by_file, strict=True)]
    # The first sentence of each file comes before the second of any.
    ordered = [one for turn in itertools.zip_longest(*by_file) for one in turn if one is not None]
    sizes = itertools.accumulate(len(json.dumps(one, separators=(",", ":"))) for one in ordered)
    kept = sum(size <= limit for size in sizes)
    named = [name | one for name, masked in zip(names, masking, strict=True) for one in masked]
    return Explanations(ordered[:kept], named, len(ordered) - kept)


def _read_origin(content: dict[str, Any]) -> dict[str, str]:
    seed = content["seed"]
    if type(seed) is not int:
        raise TypeError
    named = {name: _text(content[name]) for name in ("task", "model", "data", "preset", "key")}
    return named | {"seed": f"seed {seed}", "key": named["key"][:12]}


def _tell_apart(origins: Sequence[dict[str, str]]) -> list[str]:
    """Return the name of each explained model, with what it takes to tell it from the others of its task."""
    names = [origin["model"] for origin in origins]
    for field_name in ("data", "preset", "seed", "key"):
        alike: dict[tuple[str, str], set[str]] = defaultdict(set)
        for origin, name in zip(origins, names, strict=True):
            alike[origin["task"], name].add(origin[field_name])
        names = [
            f"{name}, {origin[field_name]}" if len(alike[origin["task"], name]) > 1 else name
            for origin, name in zip(origins, names, strict=True)
        ]
    return names


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
