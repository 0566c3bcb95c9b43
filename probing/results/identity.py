"""The identity of a cell: everything that can change its numbers, the key made of it, and its record's file name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType, structs

from probing.results.numbers import Count, Percentage, Value
from probing.storage import hash_json, make_name
from probing.tasks import Family

FORMAT = 1
"""Version of the record's form; it rises when records change, or when the same settings give other numbers."""

TRANSLATION_FORMAT = 2
"""The same of translations: their products and attention give other last digits than those of format 1."""

Measure = Literal["accuracy", "random-labels", "word-labels", "description-length", "translation"]
"""What a cell measures: a task, its controls with random or word labels, its labels' description length, or BLEU."""

Control = Literal["random-labels", "word-labels"]
"""A control in which a task's sentences have other labels, which can only be memorised."""
LABEL_CONTROLS: tuple[Control, ...] = ("random-labels", "word-labels")

UNTRAINED, FINE_TUNED = " untrained", " fine-tuned"
"""Endings of the names of models: a control with untrained weights, and an encoder that was trained with the head."""


class DataIdentity(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The data that a cell was trained and scored on."""

    name: str
    """Name of the data set: `senteval`, `mini`, `midi`, a folder's name, or `own` for a user's own task files."""
    file: str
    sha256: str
    verified: bool | None = None
    """Whether the file is SentEval's own, byte by byte; null when it does not claim to be."""
    datasheet: str | None = None
    """Identity that the folder's datasheet states."""


class ModelIdentity(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The model that a cell measured."""

    name: str
    label: str
    """Name of its row in tables."""
    version: str
    """`built-in`, a plug-in's version, or the hash of its file."""

    def variant(self, ending: str) -> ModelIdentity:
        """Return the identity of a variant, such as the untrained model."""
        return structs.replace(self, name=f"{self.name}{ending}", label=f"{self.label},{ending}")


class TranslatorIdentity(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The translation run whose encoder a cell probes: its data, its settings, its subwords and its BLEU."""

    run: str
    """Name of the run's record, without its ending."""
    label: str
    """Name of the run in tables of translations."""
    data: DataIdentity
    languages: str
    """Source and target, as in `en-de`."""
    preset: str
    settings: Mapping[str, Mapping[str, Value]]
    """All settings of the run by section."""
    subwords: str
    """Kind of the source's subwords."""
    vocabulary_size: Count
    """Number of the source's subwords."""
    subwords_sha256: str
    test: str
    """Test set of the BLEU, the first of the run's."""
    bleu: Percentage | None
    """BLEU of detokenised, cased text; null for the untrained encoder."""
    signature: str
    """Signature of sacrebleu: how BLEU was computed."""
    spelled_out: Percentage
    """Percentage of the words of the task's sentences that the subwords spell out character by character."""


class CellIdentity(Struct, frozen=True, kw_only=True):
    """One cell: data set x task x model x preset x settings x seed x measure."""

    task: str
    """Name of the probing task, or the languages of a translation, as in `en-de`."""
    family: Family | Literal["translation"]
    seed: int
    preset: str
    data: DataIdentity
    model: ModelIdentity
    settings: Mapping[str, Mapping[str, Any]]
    """All settings by section."""
    measure: Measure = "accuracy"
    translator: TranslatorIdentity | UnsetType = UNSET
    """Translation run whose encoder is probed. It is no part of the key: the model's version covers its files."""

    @property
    def key(self) -> str:
        """Hash of everything that can change the cell's numbers."""
        settings = dict(self.settings)
        if "retries" in settings.get("training", {}):  # it says how long to try, not what is measured
            settings["training"] = {**settings["training"], "retries": 0}
        content: dict[str, Any] = {
            "format": FORMAT,
            "sha256": self.data.sha256,
            "task": self.task,
            "model": [self.model.name, self.model.version],
            "preset": self.preset,
            "settings": settings,
            "seed": self.seed,
        }
        if self.measure != "accuracy":
            content["measure"] = self.measure
        if self.measure == "translation":
            content["format"] = TRANSLATION_FORMAT
        return hash_json(content)

    @property
    def title(self) -> str:
        """Name of the cell in messages."""
        own = " (own file)" if self.data.name == "own" and self.family != "own" else ""
        plain = self.measure in ("accuracy", "translation")
        measure = "" if plain else f", {self.measure.replace('-', ' ')}"
        return f"{self.task}{own} {self.model.label} seed {self.seed}{measure}"

    def path(self, folder: Path, key: str | None = None) -> Path:
        """Return the file of the cell's record in a results folder; its key, if it is known, need not be made again."""
        measure = [] if self.measure == "accuracy" else [self.measure]
        key = self.key if key is None else key
        parts = (self.data.name, self.task, self.model.name, self.preset, f"seed{self.seed}", *measure, key[:12])
        return folder / ("--".join(map(make_name, parts)) + ".json")
