"""A translation run: the cells of a corpus, an experiment's models and seeds are planned, run and recorded."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch

from probing.corpus.language import LANGUAGE_CODE
from probing.corpus.parallel import PAIRS, prepare_parallel
from probing.display import Display, format_seconds
from probing.errors import ProbingError, unknown
from probing.execution import LocalProcesses
from probing.experiments.estimates import RunPlan
from probing.experiments.options import Place, SettingOptions
from probing.experiments.planning import take_shard
from probing.experiments.running import (
    Prepared,
    Summary,
    check_place,
    execute_cells,
    load_kernels,
    plan_run,
    prepare_cells,
    rename_models,
    sweep_before,
    writable,
)
from probing.experiments.together import divide_machine, follow, leading
from probing.experiments.translation_cells import TranslatorCell, run_translation_cell
from probing.registry import AGGREGATORS, COMPARED
from probing.results import CellIdentity, DataIdentity, ModelIdentity, Record
from probing.storage import resolve_path
from probing.training import Ranks, joining, pick_device, settle_precision
from probing.translation.parallel_files import ParallelFiles, find_parallel_files, name_parallel_files
from probing.translation.settings import ATTENTIONS, AttentionKind, TranslationConfig, resolve_translation_config

EMBEDDED = "mini"
"""Name of the embedded parallel text, and of its preset."""
FOLDER_PRESET = "tiny"
"""Preset of a user's own text."""
TABLES = ("components", "layers", "systems")
"""Tables 2, 3 and 4 of the paper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextOptions:
    """The parallel text of a run: the embedded one, a folder, or files named one by one."""

    folder: Path | None = None
    """Folder of text; none, if no files are named either, means the embedded text."""
    pairs: int | None = None
    """Number of training pairs of the embedded text."""
    pair: str | None = None
    """Languages of the folder's text, as in `en-de`."""
    train: tuple[Path | None, Path | None] = (None, None)
    dev: tuple[Path | None, Path | None] = (None, None)
    tests: Sequence[tuple[Path, Path]] = ()

    @property
    def is_embedded(self) -> bool:
        """Whether the text is the embedded one, because no other is named."""
        return self.folder is None and not self.tests and not any((*self.train, *self.dev))


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslationExperiment:
    """Models, data and settings: everything that decides which translations a run has."""

    aggregators: Sequence[str] = ()
    """Aggregators to train; with no table either, base, simple and em."""
    apply: Sequence[str] = ()
    """Attentions that have the aggregator; none means those of the preset."""
    layers: Sequence[int] = ()
    """Layers that have the aggregator; none means all."""
    tables: Sequence[str] = ()
    """Tables of the paper whose rows are trained."""
    text: TextOptions = field(default_factory=TextOptions)
    settings: SettingOptions = field(default_factory=SettingOptions)


@dataclass(frozen=True, slots=True)
class Variant:
    """A model of a translation run: an aggregator, and the attentions and layers that have it."""

    aggregator: str
    apply: tuple[AttentionKind, ...] = ()
    layers: tuple[int, ...] = ()
    """Layers, counted from 1; none means all."""


def run_translations(experiment: TranslationExperiment, place: Place, display: Display) -> Summary:
    """Train and score the translations of an experiment; those that are recorded already are skipped."""
    device = pick_device(place.device)
    with joining(device) as ranks, display.listening(), writable(place.results):
        if not ranks.is_first:
            display = Display(verbosity=-1)
        ready = _prepare(experiment, place, device, display, processes=ranks.count)
        if ranks.count > 1:
            return _run_together(ready, place, ranks, display)
        sweep_before(place.results, display)
        rename_models(ready.cells, ready.store)
        return execute_cells(ready, run_translation_cell, display, _describe_record, _describe_routing)


def _run_together(ready: Prepared[TranslatorCell], place: Place, ranks: Ranks, display: Display) -> Summary:
    """Run the cells as one of several processes that torchrun started."""
    if not isinstance(ready.backend, LocalProcesses):
        raise ProbingError("torchrun does not go with --backend: it is itself the way to several machines")
    ready = dataclasses.replace(ready, backend=divide_machine(ready.backend.device))
    if not ranks.is_first:
        cells = {cell.key: cell for cell in ready.cells}
        follow(cells, run_translation_cell, ranks, divide_machine(ready.backend.device), resolve_path(place.results))
        return Summary(0, 0, 0, cells=ready.cells)
    display.say(f"{ranks.count} processes train each cell together")
    with leading(run_translation_cell, ranks) as run_one:
        return execute_cells(ready, run_one, display, _describe_record, _describe_routing)


def plan_translations(experiment: TranslationExperiment, place: Place, display: Display) -> RunPlan:
    """Return the cells that would be run with the same options, and an estimate of the time."""
    with display.listening():
        ready = _prepare(experiment, place, pick_device(place.device), display)
        return plan_run(ready, run_translation_cell, display)


def _prepare(
    experiment: TranslationExperiment, place: Place, device: torch.device, display: Display, *, processes: int = 1
) -> Prepared[TranslatorCell]:
    check_place(place)
    with display.measuring("reading the text, percent") as tell_share:
        corpus = _find_text(experiment.text, tell_share)
    cells = take_shard(plan_translation_cells(experiment, corpus, device, processes=processes), place.shard)
    presets = ", ".join(dict.fromkeys(cell.identity.preset for cell in cells))
    languages = f"{corpus.source_language}-{corpus.target_language}"
    display.say(f"data: {corpus.name} ({languages}); preset: {presets}; device: {device}")
    return prepare_cells(cells, device, place, display)


def _find_text(options: TextOptions, on_share: Callable[[float], None]) -> ParallelFiles:
    named = {
        "--source": options.train[0],
        "--target": options.train[1],
        "--dev-source": options.dev[0],
        "--dev-target": options.dev[1],
    }
    given = [name for name, path in named.items() if path is not None]
    if options.pairs is not None and not options.is_embedded:
        raise ProbingError(f"--pairs is the size of the embedded text: it goes with --data {EMBEDDED}, not with files")
    if options.folder is not None:
        if given or options.tests:
            raise ProbingError(f"{(*given, '--test-source')[0]} names files one by one and does not go with --data")
        return find_parallel_files(options.folder, options.pair, on_share)
    if not given and not options.tests:
        return _find_embedded(options, on_share)
    for name, path in named.items():
        if path is None:
            raise ProbingError(f"{name} is missing: files are named for training, dev and test, source and target")
    if options.pair is not None:
        raise ProbingError("--pair goes with --data: of files, --source and --target say which way")
    (source, target), (dev_source, dev_target) = options.train, options.dev
    assert source is not None
    assert target is not None
    assert dev_source is not None
    assert dev_target is not None
    return name_parallel_files(
        train=(source, target), dev=(dev_source, dev_target), tests=options.tests, on_share=on_share
    )


def _find_embedded(options: TextOptions, on_share: Callable[[float], None]) -> ParallelFiles:
    """Return the embedded text, which is made if it is not in the cache."""
    ways = (f"en-{LANGUAGE_CODE}", f"{LANGUAGE_CODE}-en")
    if options.pair not in (None, *ways):
        raise ProbingError(
            f"the embedded text is {ways[0]} or {ways[1]}. Got --pair {options.pair}. Name your own by --data"
        )
    folder = prepare_parallel(options.pairs or PAIRS, on_share=on_share)
    return dataclasses.replace(find_parallel_files(folder, options.pair or ways[0], on_share), name=EMBEDDED)


def plan_translation_cells(
    experiment: TranslationExperiment, corpus: ParallelFiles, device: torch.device, *, processes: int = 1
) -> list[TranslatorCell]:
    """Return a cell for each preset, model and seed, seed by seed; several processes make larger batches together."""
    data = DataIdentity(
        name=corpus.name,
        file=f"{corpus.train.source.name} {corpus.train.target.name}",
        sha256=corpus.identity,
    )
    cells: dict[str, TranslatorCell] = {}
    settings = experiment.settings
    for seed, preset in itertools.product(dict.fromkeys(settings.seeds), _choose_presets(experiment)):
        config = resolve_translation_config(preset, config_file=settings.config_file, settings=settings.settings)
        config = settle_precision(config, device)
        for variant in choose_variants(experiment, config):
            cell = _make_cell(variant, config, preset, seed, corpus, data, processes)
            cells.setdefault(cell.key, cell)
    return list(cells.values())


def _choose_presets(experiment: TranslationExperiment) -> list[str]:
    if experiment.settings.preset is not None:
        return [experiment.settings.preset]
    if list(experiment.tables) == ["systems"]:
        return ["base", "big"]
    return [EMBEDDED if experiment.text.is_embedded else FOLDER_PRESET]


def choose_variants(experiment: TranslationExperiment, config: TranslationConfig) -> Iterator[Variant]:
    """Yield the models of an experiment for a preset's sizes."""
    for kind in experiment.apply:
        if kind not in ATTENTIONS:
            raise unknown("attention", kind, ATTENTIONS)
    for table in experiment.tables:
        if table not in TABLES:
            raise unknown("table", table, TABLES)
        yield from list_rows(table, config.model.num_layers)
    if experiment.tables and not experiment.aggregators:
        return
    names = [part.strip() for spec in experiment.aggregators for part in spec.split(",")] or ["all"]
    apply = tuple(kind for kind in ATTENTIONS if kind in (experiment.apply or config.model.apply))
    layers = tuple(dict.fromkeys(experiment.layers or config.model.layers_with_aggregator))
    for name in names:
        for spec in COMPARED if name.lower() == "all" else [name]:
            yield Variant(spec, apply, tuple(sorted(layers)))


def list_rows(table: str, num_layers: int) -> list[Variant]:
    """Return the rows of one of the paper's tables, for stacks of any depth."""
    self_attention: tuple[AttentionKind, ...] = ("enc-self",)
    base, half = Variant("base"), num_layers // 2
    if table == "components":
        applied: list[tuple[AttentionKind, ...]] = [("enc-dec",), ("dec-self",), ("enc-self", "enc-dec"), ATTENTIONS]
        routed = [Variant("simple", self_attention), Variant("em", self_attention)]
        return [base, *routed, *(Variant("em", apply) for apply in applied)]
    every = range(1, num_layers + 1)
    parts = {
        "layers": [every, every[half:], every[: num_layers - half], every[:2], every[-1:], every[:1]],
        "systems": [every[:2]],
    }[table]
    return [base, *(Variant("em", self_attention, tuple(part)) for part in parts if part)]


def _make_cell(
    variant: Variant,
    config: TranslationConfig,
    preset: str,
    seed: int,
    corpus: ParallelFiles,
    data: DataIdentity,
    processes: int,
) -> TranslatorCell:
    found = AGGREGATORS.find(variant.aggregator)
    layers = () if len(variant.layers) == config.model.num_layers else variant.layers
    linear = found.name == "base"  # it is the same wherever it is applied
    model = dataclasses.replace(
        config.model,
        apply=() if linear else variant.apply,
        layers_with_aggregator=() if linear else layers,
    )
    config = dataclasses.replace(config, model=model)
    if config.model.tie == "all" and not config.subwords.joint:
        raise ProbingError("model.tie=all needs subwords.joint=true: both languages share one matrix of embeddings")
    settings = config.as_dict()
    settings["model"] = {"aggregator": found.name, **settings["model"]}
    if processes > 1:
        settings["training"] = {**settings["training"], "processes": processes}
    places = [] if linear else [" + ".join(model.apply), *([name_layers(layers)] if layers else [])]
    identity = CellIdentity(
        task=f"{corpus.source_language}-{corpus.target_language}",
        family="translation",
        seed=seed,
        preset=preset,
        data=data,
        model=ModelIdentity(
            name=" ".join([found.name, *(place.replace(" + ", "+") for place in places)]),
            label=", ".join([found.label, *places]),
            version=found.version,
        ),
        settings=settings,
        measure="translation",
    )
    return TranslatorCell(identity=identity, corpus=corpus, aggregator=variant.aggregator, config=config)


def name_layers(layers: Sequence[int]) -> str:
    """Return layers as a reader writes them: `layer 1`, `layers 1,2` or `layers 1-3`."""
    if len(layers) == 1:
        return f"layer {layers[0]}"
    is_range = len(layers) > 2 and list(layers) == list(range(layers[0], layers[-1] + 1))
    return f"layers {layers[0]}-{layers[-1]}" if is_range else f"layers {','.join(map(str, layers))}"


def _describe_record(record: Record) -> str:
    """Return the outcome of a translation in a line."""
    took = format_seconds(record.timing.seconds)
    if record.translation is None:
        return f"failed after {took}: {record.error}"
    scores = record.translation
    tests = ", ".join(f"{name} BLEU {test.bleu:.2f}" for name, test in scores.tests.items())
    dev = f"dev {'BLEU' if scores.dev_measure == 'bleu' else 'loss'} {scores.dev_score:.2f}"
    averaged = f", average of {scores.averaged}" if scores.averaged > 1 else ""
    steps = scores.curve[-1]["steps"]
    return f"{tests}; {dev} after {steps} steps{averaged}, {took}, {record.timing.tokens_per_second:,.0f} tokens/s"


def _describe_routing(cells: Sequence[TranslatorCell], device: torch.device) -> str:
    """Compile the kernels before the processes start, each of which would compile them otherwise."""
    return load_kernels([cell.config.routing.implementation for cell in cells if cell.aggregator != "base"], device)
