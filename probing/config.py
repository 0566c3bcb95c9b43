"""Settings of a run: the model's sizes, the training's settings, the presets, and the names of all choices."""

from __future__ import annotations

import dataclasses
import math
import tomllib
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar

from probing.errors import ProbingError, unknown
from probing.storage import read_text

BACKENDS = ("loky", "ray", "dask")
"""Places where cells can run: processes of this machine, or a Ray or Dask cluster."""
CONTROLS = ("random-labels", "word-labels", "random-encoder")
"""Controls that can be measured beside every model."""
DEVICES = ("auto", "cpu", "cuda", "mps")
DTYPES = ("float32", "float16", "bfloat16")
"""Types in which frozen vectors can be kept."""
MODEL_DTYPES = ("auto", "float32", "float16", "bfloat16")
"""Types of a model's weights; auto means the one that it was saved in."""
POOLINGS = ("mean", "cls", "max", "last")
"""Ways to make one vector of a transformer's tokens."""
PROBES = ("mlp", "linear", "senteval", "senteval-mlp")
"""Names of the classifiers on frozen vectors, which `probes/definitions.py` defines."""


def _require(condition: bool, name: str, value: Any, allowed: str) -> None:
    if not condition:
        shown = ",".join(map(str, value)) if isinstance(value, tuple) else value
        raise ProbingError(f"{name} must be {allowed}. Got {shown!r}")


def check_field(config: Any, name: str, fits: bool, allowed: str) -> None:
    """Refuse a value of a section's field that does not fit."""
    _require(fits, f"{config.section}.{name}", getattr(config, name), allowed)


def check_sizes(config: Any) -> None:
    """Refuse sizes of a model that do not go together."""
    check_field(config, "dropout", 0 <= config.dropout < 1, "at least 0 and below 1")
    for name in ("num_heads", "num_capsules"):
        divides = config.model_dim % getattr(config, name) == 0
        check_field(config, name, divides, f"a divisor of model.model_dim={config.model_dim}")
    check_field(config, "votes", config.votes in ("shared", "per_head"), "shared or per_head")
    schedule = f"one number for each of model.iterations={config.iterations}"
    check_field(config, "inverse_temperature", len(config.inverse_temperature) in (0, config.iterations), schedule)
    exist = all(1 <= layer <= config.num_layers for layer in config.layers_with_aggregator)
    check_field(config, "layers_with_aggregator", exist, f"layers from 1 to model.num_layers={config.num_layers}")


def check_at_least_one(config: Any, *names: str) -> None:
    """Refuse numbers below one."""
    for name in names:
        check_field(config, name, getattr(config, name) >= 1, "at least 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """The sizes of the encoder and its head; the defaults are the paper's."""

    num_layers: int = 3
    model_dim: int = 512
    """d, the width of the hidden states."""
    num_heads: int = 8
    """H, the attention heads of a layer; divides model_dim."""
    feed_forward_dim: int = 2048
    head_dim: int = 512
    """Number of hidden units of the MLP head."""
    dropout: float = 0.1
    num_capsules: int = 512
    """N, the output capsules of a routing; divides model_dim."""
    iterations: int = 3
    """T, the routing iterations."""
    votes: Literal["shared", "per_head"] = "shared"
    """Kind of input capsules: one layer on the concatenation, or one per head on its own output."""
    squash: bool = True
    """Whether simple routing squashes the capsules in every iteration."""
    inverse_temperature: tuple[float, ...] = ()
    """Lambda of EM routing for each iteration; empty means 1, 2, …, T."""
    layers_with_aggregator: tuple[int, ...] = ()
    """Layers, counted from 1, that have the aggregator, while the others are linear; empty means all."""

    section: ClassVar[str] = "model"

    def __post_init__(self) -> None:
        sizes = ("num_layers", "model_dim", "num_heads", "feed_forward_dim", "head_dim", "num_capsules", "iterations")
        check_at_least_one(self, *sizes)
        check_sizes(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingConfig:
    """The settings of the optimisation loop."""

    sentences: int = 0
    """Number of training sentences, a random subset that is the same for all models and seeds; 0 means all."""
    max_epochs: int = 20
    min_epoch_steps: int = 100
    """Smallest number of steps of an epoch: a small training split is passed over several times in one epoch."""
    patience: int = 4
    """Number of epochs without a better dev accuracy after which training stops."""
    batch_size: int = 64
    """Number of sentences in a training batch."""
    learning_rate: float = 5e-4
    warmup: float = 0.1
    """Share of the planned steps in which the learning rate rises; then it falls with the inverse square root."""
    weight_decay: float = 0.0
    """Share of the weights, times the learning rate, that each step takes from matrices and embeddings."""
    word_dropout: float = 0.0
    """Share of the words that training replaces by the unknown word."""
    label_smoothing: float = 0.0
    """Share of the target that training spreads evenly over all labels."""
    average: int = 1
    """Number of last epochs whose weights are averaged, if that is no worse on dev than the best epoch."""
    clip_norm: float = 1.0
    """The largest gradient norm; 0 turns clipping off."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Type of numbers in training: `auto` is bfloat16 where that is faster; scoring is always float32."""
    min_frequency: int = 2
    """Smallest frequency of a word in the training split; rarer words count as unknown, which is so learned, too."""
    max_vocabulary: int = 50_000
    retries: int = 0
    """How often a training that never leaves chance, or breaks down, is started again with another seed."""

    section: ClassVar[str] = "training"

    def __post_init__(self) -> None:
        counts = ("max_epochs", "min_epoch_steps", "patience", "batch_size", "average", "min_frequency")
        check_at_least_one(self, *counts, "max_vocabulary")
        check_descent(self)
        for name in ("sentences", "weight_decay", "retries"):
            check_field(self, name, getattr(self, name) >= 0, "0 or above")
        for name in ("warmup", "word_dropout", "label_smoothing"):
            check_field(self, name, 0 <= getattr(self, name) < 1, "at least 0 and below 1")

    def count_passes(self, sentences: int) -> int:
        """Return the number of passes over so many training sentences in an epoch."""
        return math.ceil(self.min_epoch_steps / self._count_batches(sentences))

    def count_steps(self, sentences: int) -> int:
        """Return the number of steps on so many training sentences, if all epochs are needed."""
        return self.max_epochs * self.count_passes(sentences) * self._count_batches(sentences)

    def _count_batches(self, sentences: int) -> int:
        return math.ceil(sentences / self.batch_size)


def check_descent(config: Any) -> None:
    """Refuse settings of the optimiser that do not fit."""
    check_field(config, "learning_rate", config.learning_rate > 0, "above 0")
    check_field(config, "clip_norm", config.clip_norm >= 0, "0 or above")
    known = ("auto", "float32", "bfloat16")
    check_field(config, "precision", config.precision in known, "auto, float32 or bfloat16")


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingConfig:
    """Computation of the routings; it does not change the model."""

    implementation: Literal["auto", "fused", "reference"] = "auto"
    """`auto`: fused kernels where they can be had, else plain torch operations; `reference`: always the latter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """All settings of a run, by section."""

    model: ModelConfig = field(default_factory=ModelConfig)
    routing: RoutingConfig = field(default_factory=RoutingConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)

    def as_dict(self) -> dict[str, dict[str, Any]]:
        return dataclasses.asdict(self)


PRESETS: dict[str, Config] = {
    "paper": Config(),
    "small": Config(
        model=ModelConfig(model_dim=128, feed_forward_dim=512, head_dim=128, num_capsules=128, dropout=0.3),
        training=TrainingConfig(learning_rate=1e-3),
    ),
    "mini": Config(
        model=ModelConfig(model_dim=64, num_heads=4, feed_forward_dim=128, head_dim=64, num_capsules=64),
        training=TrainingConfig(max_epochs=5, min_epoch_steps=30, patience=2, batch_size=32, learning_rate=2e-3),
    ),
}
"""`paper` has the paper's sizes, `small` suits real data on a laptop's CPU, `mini` the embedded data."""

DEFAULT_PRESETS = {"senteval": "paper", "mini": "mini", "midi": "mini"}
"""The preset of each data set; a folder of task files has `small`."""


AnyConfig = TypeVar("AnyConfig", bound=Any)
"""Dataclass of settings by section."""
MAX_FILE = 1 << 14
"""Largest file of settings in bytes: the time of the TOML parser grows with the square of a key's length."""


def resolve_config(preset: str, *, config_file: Path | None = None, settings: Iterable[str] = ()) -> Config:
    """Return a preset of probing changed by a TOML file, then by `section.key=value` settings."""
    return change_preset(PRESETS, preset, config_file=config_file, settings=settings)


def change_preset(
    presets: Mapping[str, AnyConfig], preset: str, *, config_file: Path | None = None, settings: Iterable[str] = ()
) -> AnyConfig:
    """Return one of some presets changed by a TOML file, then by `section.key=value` settings."""
    if preset not in presets:
        raise unknown("preset", preset, presets)
    config = presets[preset]
    converted: dict[str, dict[str, Any]] = {}
    if config_file is not None:
        converted = _check(config, _read_toml(config_file), f"{config_file}: ")
    changes: dict[str, dict[str, Any]] = {}
    for setting in settings:
        path, equals, value = setting.partition("=")
        section, dot, key = path.strip().partition(".")
        if not (equals and dot):
            raise ProbingError(f"--set {setting!r} is not of the form section.key=value, e.g. model.num_layers=2")
        changes.setdefault(section, {})[key] = value.strip()
    for section, values in _check(config, changes, "").items():
        converted[section] = converted.get(section, {}) | values
    return _replace(config, converted)


def convert_sections(config: AnyConfig, sections: Mapping[str, Any]) -> AnyConfig:
    """Return settings changed by those that a JSON file has, by section."""
    return _replace(config, _check(config, sections, ""))


def _replace(config: AnyConfig, converted: Mapping[str, Mapping[str, Any]]) -> AnyConfig:
    # Only the outcome has to make sense: a file may set what goes together with a --set.
    sections = {name: dataclasses.replace(getattr(config, name), **values) for name, values in converted.items()}
    changed: AnyConfig = dataclasses.replace(config, **sections)
    return changed


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_text(path, limit=MAX_FILE))
    except ValueError as error:
        raise ProbingError(f"{path}: not valid TOML ({error})") from None
    except RecursionError:
        raise ProbingError(f"{path}: not valid TOML (nested too deeply)") from None


def _check(config: Any, changes: Mapping[str, Any], where: str) -> dict[str, dict[str, Any]]:
    """Return the changes by section and key, each converted to its field's type."""
    sections = {item.name: getattr(config, item.name) for item in dataclasses.fields(config)}
    known = [f"{name}.{item.name}" for name, value in sections.items() for item in dataclasses.fields(value)]
    checked: dict[str, dict[str, Any]] = {}
    for name, values in changes.items():
        if not isinstance(values, Mapping):
            raise ProbingError(f"{where}{name!r} stands outside a section. Sections: {', '.join(sections)}")
        for key in values:
            if f"{name}.{key}" not in known:
                elsewhere = [setting for setting in known if setting.endswith(f".{key}")]
                raise ProbingError(f"{where}{unknown('setting', f'{name}.{key}', known, near=elsewhere)}")
        if name not in sections:
            raise ProbingError(f"{where}{unknown('section', name, sections)}")
        hints = typing.get_type_hints(type(sections[name]))
        checked[name] = {key: _convert(f"{where}{name}.{key}", value, hints[key]) for key, value in values.items()}
    return checked


def _convert(name: str, value: Any, hint: Any) -> Any:
    """Return a value of the field's type from a TOML value or from text on the command line."""
    if typing.get_origin(hint) is tuple:
        item = typing.get_args(hint)[0]
        parts = value if isinstance(value, list) else [p for p in str(value).split(",") if p.strip()]
        return tuple(_convert(name, part, item) for part in parts)
    if typing.get_origin(hint) is Literal:
        _require(value in typing.get_args(hint), name, value, " or ".join(typing.get_args(hint)))
        return value
    kind = {int: "a whole number", float: "a number", bool: "true or false"}[hint]
    if isinstance(value, str):
        value = _parse(value.strip(), hint)
    if hint is float and type(value) is int:
        value = float(value)
    finite = hint is not float or (type(value) is float and abs(value) < float("inf"))
    _require(type(value) is hint and finite, name, value, kind)
    return value


def _parse(text: str, hint: type) -> Any:
    if hint is bool:
        return {"true": True, "false": False}.get(text.lower(), text)
    try:
        return hint(text)
    except ValueError:
        return text
