"""Explanations that `probe explain` wrote to a results folder, for the page: sentences, and accuracies without a head.

Shapes: H heads, L tokens of a sentence, R iterations of the routing, G groups of capsules.
"""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import UNSET, Meta, Struct, UnsetType, structs

from probing.errors import ProbingError
from probing.results import EXPLANATION_ENDING
from probing.storage import parse_json, read_text

LIMIT = 1_500_000
"""Largest number of characters that the sentences add to a page; attention grows with the square of their length."""
MAX_LISTS = 2_000_000
"""Largest number of lists in a file; it has one for each head, token and iteration."""
Number = Annotated[int, Meta(ge=-(10**15), le=10**15)] | Annotated[float, Meta(ge=-1e15, le=1e15)]
"""Finite number whose thousandths are a whole number of 64 bits; a whole one stays whole."""


class SavedLayer(Struct):
    """Weights of one layer in a file."""

    attention: list[list[list[Number]]]
    agreement: list[list[list[list[Number]]]] | UnsetType = UNSET
    share: list[list[list[list[Number]]]] | UnsetType = UNSET


class SavedSentence(Struct):
    """Explained sentence in a file."""

    tokens: list[str]
    gold: str | None
    predicted: str
    layers: list[SavedLayer]


class SavedHead(Struct):
    """Accuracy without one head in a file."""

    layer: Number
    head: Number
    accuracy: Number
    drop: Number


class SavedRouting(Struct):
    """Routing of one layer in a file."""

    layer: int
    heads: int
    effective_heads: list[Number]
    activation: Number | None = None
    spread: Number | None = None


class SavedExplanation(Struct):
    """Fields of a file that the page shows, or that tell its model from others."""

    task: str
    model: str
    data: str
    preset: str
    seed: int
    key: str
    sentences: list[SavedSentence]
    masking: list[SavedHead]
    routing: list[SavedRouting] | UnsetType = UNSET


@dataclass(frozen=True, slots=True)
class Explanations:
    """Contents of the explanation files as plain data, checked, with weights in thousandths."""

    sentences: Sequence[dict[str, Any]] = field(default=())
    """Explained sentences, each with task, model, tokens, gold, predicted and layers: attention (H, L, L) and, where
    heads are routed, agreement and share (R, L, H, G)."""
    masking: Sequence[dict[str, Any]] = field(default=())
    """Accuracies without one head, each with task, model, layer, head, accuracy and drop."""
    routing: Sequence[dict[str, Any]] = field(default=())
    """Routed layers, each with task, model, layer, heads, effective_heads by iteration, activation and spread."""
    left_out: int = 0
    """Number of sentences beyond the page's limit."""

    def __bool__(self) -> bool:
        return bool(self.sentences or self.masking or self.routing)


def load_explanations(folder: Path, on_damaged: Callable[[str], None], limit: int = LIMIT) -> Explanations:
    """Return the explanations of a folder; a damaged file is named to `on_damaged` and left out."""
    saved: list[SavedExplanation] = []
    by_file: list[list[dict[str, Any]]] = []
    for path in sorted(folder.glob(f"*{EXPLANATION_ENDING}")):
        try:
            content = msgspec.convert(parse_json(read_text(path), groups=MAX_LISTS), SavedExplanation)
            by_file.append([_describe_sentence(sentence) for sentence in content.sentences])
            saved.append(content)
        except ProbingError as error:
            on_damaged(str(error))
        except ValueError:
            on_damaged(f"{path}: not an explanation. Delete it and run `probe explain` again")
    names = [{"task": one.task, "model": name} for one, name in zip(saved, _name_models(saved), strict=True)]
    by_file = [[name | one for one in sentences] for name, sentences in zip(names, by_file, strict=True)]
    # All files' first sentences come before any second one, so that the limit cuts long files, not late ones.
    ordered = [one for turn in itertools.zip_longest(*by_file) for one in turn if one is not None]
    sizes = itertools.accumulate(len(json.dumps(one, separators=(",", ":"))) for one in ordered)
    kept = sum(size <= limit for size in sizes)
    masking = [name | structs.asdict(head) for name, one in zip(names, saved, strict=True) for head in one.masking]
    routing = [
        name | structs.asdict(layer) for name, one in zip(names, saved, strict=True) for layer in (one.routing or ())
    ]
    return Explanations(ordered[:kept], masking, routing, len(ordered) - kept)


def _name_models(saved: Sequence[SavedExplanation]) -> list[str]:
    """Return a name for each explained model that distinguishes it from the other models of its task."""
    names = [one.model for one in saved]
    marks_of_each = [(one.data, one.preset, f"seed {one.seed}", one.key[:12]) for one in saved]
    for marks in zip(*marks_of_each, strict=True):
        alike: dict[tuple[str, str], set[str]] = defaultdict(set)
        for one, name, mark in zip(saved, names, marks, strict=True):
            alike[one.task, name].add(mark)
        names = [
            f"{name}, {mark}" if len(alike[one.task, name]) > 1 else name
            for one, name, mark in zip(saved, names, marks, strict=True)
        ]
    return names


def _describe_sentence(sentence: SavedSentence) -> dict[str, Any]:
    """Return one explained sentence with its weights in thousandths; weights of a wrong shape are a ValueError."""
    length = len(sentence.tokens)
    layers = []
    for layer in sentence.layers:
        weights = {name: np.array(values) for name, values in structs.asdict(layer).items() if values is not UNSET}
        heads = len(layer.attention)
        for name, array in weights.items():
            routed = (len(array), length, heads, array.shape[-1])
            if array.shape != ((heads, length, length) if name == "attention" else routed):
                raise ValueError(f"{name} has the shape {array.shape}")
        layers.append({name: np.rint(1000 * array).astype(int).tolist() for name, array in weights.items()})
    return structs.asdict(sentence) | {"layers": layers}
