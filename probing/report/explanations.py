"""Explanations that `probe explain` wrote to a results folder, for the page: sentences, and accuracies without a head.

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
from probing.experiments import EXPLANATION_ENDING
from probing.storage import parse_json, read_text

LIMIT = 1_500_000
"""Largest number of characters that the sentences add to a page; attention grows with the square of their length."""


@dataclass(frozen=True, slots=True)
class Explanations:
    """Contents of the explanation files as plain data, checked, with weights in thousandths."""

    sentences: Sequence[dict[str, Any]] = field(default=())
    """Explained sentences, each with task, model, tokens, gold, predicted and layers: attention (H, L, L) and, where
    heads are routed, agreement and share (R, L, H, G)."""
    masking: Sequence[dict[str, Any]] = field(default=())
    """Accuracies without one head, each with task, model, layer, head, accuracy and drop."""
    left_out: int = 0
    """Number of sentences beyond the page's limit."""

    def __bool__(self) -> bool:
        return bool(self.sentences or self.masking)


def load_explanations(folder: Path, on_damaged: Callable[[str], None], limit: int = LIMIT) -> Explanations:
    """Return the explanations of a folder; a damaged file is named to `on_damaged` and left out."""
    origins: list[dict[str, str]] = []
    by_file: list[list[dict[str, Any]]] = []
    masking: list[list[dict[str, Any]]] = []
    for path in sorted(folder.glob(f"*{EXPLANATION_ENDING}")):
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
        {"task": origin["task"], "model": name} for origin, name in zip(origins, _name_models(origins), strict=True)
    ]
    by_file = [[name | one for one in sentences] for name, sentences in zip(names, by_file, strict=True)]
    # All files' first sentences come before any second one, so that the limit cuts long files, not late ones.
    ordered = [one for turn in itertools.zip_longest(*by_file) for one in turn if one is not None]
    sizes = itertools.accumulate(len(json.dumps(one, separators=(",", ":"))) for one in ordered)
    kept = sum(size <= limit for size in sizes)
    named = [name | one for name, masked in zip(names, masking, strict=True) for one in masked]
    return Explanations(ordered[:kept], named, len(ordered) - kept)


def _read_origin(content: dict[str, Any]) -> dict[str, str]:
    """Return the fields that say which model was explained on which task."""
    seed = content["seed"]
    if type(seed) is not int:
        raise TypeError
    named = {name: _check_text(content[name]) for name in ("task", "model", "data", "preset", "key")}
    return named | {"seed": f"seed {seed}", "key": named["key"][:12]}


def _name_models(origins: Sequence[dict[str, str]]) -> list[str]:
    """Return a name for each explained model that distinguishes it from the other models of its task."""
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
    """Return one explained sentence with its weights in thousandths."""
    tokens = [_check_text(token) for token in content["tokens"]]
    length = len(tokens)
    layers = []
    for layer in content["layers"]:
        heads = len(layer["attention"])
        read = {"attention": _to_thousandths(layer["attention"], (heads, length, length))}
        for name in ("agreement", "share"):
            if name in layer:
                shape = (len(layer[name]), length, heads, len(layer[name][0][0][0]))
                read[name] = _to_thousandths(layer[name], shape)
        layers.append(read)
    gold = content["gold"]
    return {
        "tokens": tokens,
        "gold": None if gold is None else _check_text(gold),
        "predicted": _check_text(content["predicted"]),
        "layers": layers,
    }


def _read_masking(item: dict[str, Any]) -> dict[str, Any]:
    """Return the accuracy without one head."""
    numbers = {name: item[name] for name in ("layer", "head", "accuracy", "drop")}
    if not all(_is_number(number) for number in numbers.values()):
        raise ValueError
    return numbers


def _check_text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _to_thousandths(values: Any, shape: Sequence[int]) -> Any:
    """Return nested lists of numbers as whole thousandths; another shape is a ValueError."""
    if not shape:
        if not _is_number(values):
            raise ValueError
        return round(1000 * values)
    if not isinstance(values, list) or len(values) != shape[0]:
        raise ValueError
    return [_to_thousandths(item, shape[1:]) for item in values]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
