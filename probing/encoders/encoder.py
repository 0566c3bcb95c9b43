"""The interface of an encoder, its recipe, which is known before it is loaded, and the check of its vectors."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from msgspec import structs
from numpy.typing import NDArray

from probing.encoders.known_reads import KnownReads
from probing.errors import ProbingError
from probing.results import UNTRAINED, TranslatorIdentity
from probing.tasks import IndexedTask, Task


@runtime_checkable
class Encoder(Protocol):
    """Any object with this method; no base class is needed.

    If it also has `prepare(sentences)`, that is called with all sentences of a task before the first `encode`.
    """

    def encode(self, sentences: list[list[str]]) -> Any:
        """Return the vectors (n, dim) of tokenised sentences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """An encoder that can be loaded, and everything that can change its vectors."""

    name: str
    """Name in records."""
    label: str
    """Name in tables."""
    version: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings beside the name, such as the pooling."""
    layers: tuple[int, ...] | None = None
    """Layers that `encode` returns as (n, layers, dim); None for an encoder that returns (n, dim)."""
    all_layers: tuple[int, ...] | None = None
    """All layers of the encoder."""
    mixes: bool = False
    """Whether the layers are one model, which learns their weights, and not a model each."""
    load: Callable[[torch.device], Any]
    """Return an `Encoder`, or `PrecomputedVectors`."""
    load_untrained: Callable[[torch.device, int], Any] | None = None
    """Function that loads the same architecture with weights drawn from a seed; None if that is impossible."""
    weights_seed: int | None = None
    """Seed of untrained weights."""
    covers: Callable[[Task], bool] = lambda task: True
    """Function that says whether there are vectors of a task."""
    reads: KnownReads | None = None
    """Files that the encoder was seen to read; None if the version covers them."""
    seed: int | None = None
    """Seed with which the encoder was trained, which its cells have; None if the encoder has no seed of its own."""
    translator: Callable[[IndexedTask], TranslatorIdentity] | None = None
    """Function that describes the translation run that the encoder is of, for the record of a task."""
    tells_version: bool = False
    """Whether the encoder of a user has a version of its own, by which it vouches for what nothing else can see."""

    @property
    def full_version(self) -> str:
        """The version, with that of the files that the encoder reads."""
        return self.version + (self.reads.describe() if self.reads is not None else "")

    def untrained(self, seed: int) -> Recipe:
        """Return the recipe of the same architecture before its training.

        The seed of the weights is no part of the name, version or settings: it is the seed of the cell.
        """
        load_untrained, describe = self.load_untrained, self.translator
        if load_untrained is None:
            raise no_untrained_form(self.name)
        return replace(
            self,
            name=f"{self.name}{UNTRAINED}",
            label=f"{self.label}{UNTRAINED}",
            weights_seed=seed,
            load=lambda device: load_untrained(device, seed),
            load_untrained=None,
            translator=describe and (lambda task: structs.replace(describe(task), bleu=None)),
        )


def no_untrained_form(name: str) -> ProbingError:
    """Return the error for an encoder without weights that can be drawn anew."""
    return ProbingError(
        f"encoder {name!r} has no untrained form. huggingface:NAME_OR_PATH, sentence-transformers:NAME_OR_PATH and "
        "translation:RUN have one, and your own has if it offers untrained(seed), which returns an encoder"
    )


def not_trainable(name: str, kind: type) -> ProbingError:
    """Return the error for an encoder that cannot be trained with the head."""
    return ProbingError(
        f"--fine-tune needs a torch.nn.Module. Encoder {name!r} made {kind.__name__}: "
        "probe it frozen, without --fine-tune"
    )


def list_parameters(function: Callable[..., Any]) -> list[str]:
    """Return the names of a callable's parameters; one of compiled code need not tell them."""
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []


def as_matrix(
    encoder: str,
    batch: str,
    sentences: int,
    vectors: Any,
    *,
    layers: int | None,
    dim: int | None = None,
    dtype: str = "float32",
) -> NDArray[Any]:
    """Return an encoder's vectors of a batch as an array (n, layers, dim), or raise an error that says what is wrong.

    The dimension must be that of the batches before, if there were any.
    """

    def wrong(what: str) -> ProbingError:
        return ProbingError(f"encoder {encoder!r}, {batch}: {what}")

    if isinstance(vectors, torch.Tensor):
        vectors = vectors.detach().to("cpu")
        vectors = vectors.float() if vectors.dtype == torch.bfloat16 else vectors
    try:
        matrix = np.asarray(_to_arrays(vectors))
    except (ValueError, TypeError) as error:
        raise wrong(f"encode must return an array (n, dim). Its rows cannot be put together: {error}") from None
    if matrix.dtype.kind not in "fiub":
        raise wrong(f"encode must return an array (n, dim) of numbers. Got {_describe(vectors, matrix)}")
    wanted = "(n, dim)" if layers is None else f"(n, {layers}, dim)"
    if matrix.ndim != (2 if layers is None else 3):
        raise wrong(f"encode must return an array {wanted}. Got {_describe(vectors, matrix)}")
    if len(matrix) != sentences:
        raise wrong(f"encode was given {sentences} sentences and returned {len(matrix)} rows")
    if not matrix.shape[-1]:
        raise wrong("encode returned vectors of dimension 0")
    if not np.isfinite(matrix).all():
        row = int(np.flatnonzero(~np.isfinite(matrix.reshape(sentences, -1)).all(1))[0])
        raise wrong(f"the vector of its sentence {row + 1} is not finite (it holds NaN or infinity)")
    if matrix.shape[-1] != (dim or matrix.shape[-1]):
        raise wrong(f"vectors of dimension {matrix.shape[-1]}, but {dim} before")
    with np.errstate(over="ignore"):
        matrix = round_to_bfloat16(matrix) if dtype == "bfloat16" else matrix.astype(dtype, copy=False)
    if not np.isfinite(matrix).all():
        raise wrong(f"a vector holds a number too large for {dtype}")
    return matrix[:, None] if layers is None else matrix


def round_to_bfloat16(matrix: NDArray[Any]) -> NDArray[np.float32]:
    """Return numbers that bfloat16 has, as float32: numpy does not know the type."""
    rounded: NDArray[np.float32] = torch.from_numpy(matrix.astype(np.float32)).bfloat16().float().numpy()
    return rounded


def _to_arrays(vectors: Any) -> Any:
    """Turn a list of tensors into a list of arrays: numpy cannot read tensors that need gradients."""
    if isinstance(vectors, Sequence):
        return [item.detach().cpu().float().numpy() if isinstance(item, torch.Tensor) else item for item in vectors]
    return vectors


def _describe(vectors: Any, matrix: NDArray[Any]) -> str:
    return f"{type(vectors).__name__} of shape {matrix.shape} and type {matrix.dtype}"
