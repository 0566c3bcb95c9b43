"""The options of a run: which models are measured, on which data, with which settings, and where they run.

The command line and Python callers make the same dataclasses; nothing here imports torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from probing.errors import ProbingError

if TYPE_CHECKING:
    from probing.encoders import Recipe

LARGEST_SEED = 2**32 - 1
DEFAULT_RESULTS = Path("results")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """The models of a run, and the measures that are taken of each."""

    aggregators: Sequence[str] = ()
    """Aggregators to train; with no encoder either, base, simple and em."""
    encoders: Sequence[str] = ()
    """Specifications of encoders to probe."""
    recipes: Sequence[Recipe] = ()
    """Encoders to probe that no specification names, such as objects of a Python program."""
    encoder_options: Mapping[str, Any] = field(default_factory=dict)
    """Options of encoders that offer them: layer, pooling, batch_size, model_dtype, device_map, prompt,
    no_special_tokens, detokenise and trust_remote_code."""
    dtype: str | None = None
    """Type in which frozen vectors are kept."""
    probe: str | None = None
    """Classifier on frozen vectors."""
    fine_tune: bool = False
    controls: Sequence[str] = ()
    baselines: bool = False
    mdl: bool = False
    """Whether the description length is measured as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataOptions:
    """The tasks of a run, and the files that they are read from."""

    tasks: Sequence[str] = ()
    """Names of tasks; with no task file either, all ten."""
    data: str | None = None
    """`senteval`, `mini`, `midi` or a folder; None means senteval if its files are there, mini otherwise."""
    data_dir: Path | None = None
    """Folder of SentEval's files."""
    task_files: Sequence[Path] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingOptions:
    """The settings and seeds of a run."""

    preset: str | None = None
    """Name of the preset; None means the data set's own."""
    config_file: Path | None = None
    settings: Sequence[str] = ()
    """Changes of the form section.key=value."""
    variants: Sequence[Sequence[str]] = ((),)
    """Further changes, one set after the other: a sweep has several, and every cell for each."""
    seeds: Sequence[int] = (0,)

    def __post_init__(self) -> None:
        for seed in self.seeds:
            if not 0 <= seed <= LARGEST_SEED:
                raise ProbingError(f"a seed must be a whole number from 0 to {LARGEST_SEED}. Got {seed}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """Models, data and settings: everything that decides which cells a run has."""

    models: ModelOptions = field(default_factory=ModelOptions)
    data: DataOptions = field(default_factory=DataOptions)
    settings: SettingOptions = field(default_factory=SettingOptions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The place where cells run and where their records go; nothing here changes a number."""

    results: Path = DEFAULT_RESULTS
    device: str = "auto"
    jobs: int | None = None
    """Number of cells that run at a time; None means one per core."""
    backend: str = "loky"
    address: str | None = None
    """Address of the Ray or Dask cluster."""
    gpus_per_cell: float = 0.0
    shard: tuple[int, int] | None = None
    """Number of the shard, counted from 1, and the number of all shards."""
    force: bool = False
    """Whether cells that are already recorded are run again."""
