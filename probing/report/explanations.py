"""What `probe explain` left in a results folder: routing made visible for some sentences, and heads that were masked.

Shapes: H heads, L tokens, T iterations, G groups of capsules.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

ENDING = ".explanation.json"


def load_explanations(folder: Path, on_damaged: Callable[[str], None]) -> dict[str, list[dict[str, Any]]]:
    """Return the explained sentences and the masked heads of a folder; files that are none are named and left out."""
    found: dict[str, list[dict[str, Any]]] = {"sentences": [], "masking": []}
    for path in sorted(folder.glob(f"*{ENDING}")):
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            sentences = [_read_sentence(content)] if "layers" in content else []
            masking = [_read_masking(item) for item in content.get("masking", [])]
        except OSError as error:
            on_damaged(f"{path}: cannot be read ({error.strerror})")
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            on_damaged(f"{path}: not an explanation. Delete it and run `probe explain` again")
        else:
            found["sentences"] += sentences
            found["masking"] += masking
    return found


def _read_sentence(content: dict[str, Any]) -> dict[str, Any]:
    tokens = [_text(token) for token in content["tokens"]]
    layers = []
    for layer in content["layers"]:
        attention = _round(layer["attention"], 3)
        _require(all(len(head) == len(tokens) for head in attention))
        _require(all(len(row) == len(tokens) for head in attention for row in head))
        agreement = _round(layer.get("agreement") or [], 4)
        _require(all(len(iteration) == len(tokens) for iteration in agreement))
        layers.append({"attention": attention, "agreement": agreement})
    return {"task": _text(content["task"]), "model": _text(content["model"]), "tokens": tokens, "layers": layers}


def _read_masking(item: dict[str, Any]) -> dict[str, Any]:
    return {
        "task": _text(item["task"]),
        "model": _text(item["model"]),
        "head": str(item["head"]),
        "accuracy": _round(item["accuracy"], 2),
        "drop": _round(item["drop"], 2),
    }


def _text(value: object) -> str:
    _require(isinstance(value, str))
    return str(value)


def _round(value: Any, digits: int) -> Any:
    """Return numbers, nested in lists or not, with so many digits; anything else is an error."""
    if isinstance(value, list):
        return [_round(item, digits) for item in value]
    _require(type(value) in (int, float) and math.isfinite(value))
    return round(value, digits)


def _require(condition: bool) -> None:
    if not condition:
        raise ValueError
