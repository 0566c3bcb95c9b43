"""`probe translate run`: trains translators, translates the test sets, scores and records."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from probing.commands import options
from probing.commands.options import join_names
from probing.errors import ProbingError
from probing.translation.settings import ATTENTIONS, TRANSLATION_PRESETS


class Attentions(click.ParamType):
    """Attentions of an encoder-decoder."""

    name = ",".join(ATTENTIONS)

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        names = [part.strip() for part in str(value).split(",") if part.strip()]
        return ATTENTIONS if names == ["all"] else tuple(names)


class Layers(click.ParamType):
    """Layers, counted from 1."""

    name = "1,2"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        parts = [part.strip() for part in str(value).split(",") if part.strip()]
        if not parts or not all(part.isdecimal() and 0 < int(part) < 1000 for part in parts):
            raise ProbingError(f"--layers must be numbers of layers, counted from 1, such as 1,2. Got {value!r}")
        return tuple(map(int, parts))


APPLY = click.option(
    "--apply",
    type=Attentions(),
    default=(),
    help=f"Attentions that have the aggregator: all, or some of {join_names(ATTENTIONS, 'and')}. [default: enc-self]",
)
LAYERS = click.option("--layers", type=Layers(), default=(), help="Layers that have the aggregator. [default: all]")
PRESET = click.option(
    "--preset", help=f"Preset of settings: {join_names(TRANSLATION_PRESETS)}. [default: tiny; for mini, mini]"
)


@click.command()
@click.option(
    "--aggregator",
    "aggregators",
    multiple=True,
    help=f"Aggregator: all (base, simple and em), {options.ONE_AGGREGATOR}. [default: all, unless --table]",
)
@APPLY
@LAYERS
@click.option(
    "--table",
    "tables",
    multiple=True,
    metavar="components|layers|systems",
    help="Table of the paper (2, 3 or 4) whose rows to train. Can be repeated.",
)
@click.option(
    "--data",
    metavar="DIRECTORY",
    help="Folder of train.en, train.de, dev.*, test*.*, plain or packed; or mini, the embedded text. [default: mini]",
)
@click.option("--pair", metavar="en-de", help="Languages of the folder's text: the source, then the target.")
@click.option("--pairs", type=options.COUNT, help="Training pairs of the embedded text. [default: 20000]")
@click.option("--source", type=options.FILE, help="Source side of the training text, one sentence a line.")
@click.option("--target", type=options.FILE, help="Target side of the training text.")
@click.option("--dev-source", type=options.FILE, help="Source side of the dev set.")
@click.option("--dev-target", type=options.FILE, help="Target side of the dev set.")
@click.option("--test-source", "test_sources", multiple=True, type=options.FILE, help="Source side of a test set.")
@click.option("--test-target", "test_targets", multiple=True, type=options.FILE, help="Target side of that test set.")
@PRESET
@options.SETTINGS
@options.SEEDS
@options.DEVICE
@options.RESULTS
@options.EXECUTION
def run(
    aggregators: tuple[str, ...],
    apply: tuple[str, ...],
    layers: tuple[int, ...],
    tables: tuple[str, ...],
    data: str | None,
    pair: str | None,
    pairs: int | None,
    source: Path | None,
    target: Path | None,
    dev_source: Path | None,
    dev_target: Path | None,
    test_sources: tuple[Path, ...],
    test_targets: tuple[Path, ...],
    preset: str | None,
    config_file: Path | None,
    settings: tuple[str, ...],
    single_seeds: tuple[int, ...],
    seeds: tuple[int, ...],
    device: str,
    results: Path,
    jobs: int | None,
    force: bool,
    backend: str,
    address: str | None,
    gpus_per_cell: float,
    shard: tuple[int, int] | None,
    plan: bool,
    as_json: bool,
    quiet: bool,
    verbose: bool,
) -> None:
    """Train translators, translate the test sets, score and record.

    With no data named, the embedded text is used: sentences of the grammar, and their translations into a constructed
    language. Subwords are trained from the training text. The model is kept beside its record: see
    `probe translate text`. Runs that are already recorded are skipped, so the same command goes on after an
    interruption. The exit code is 0, or 1 if a training failed, 2 for a mistake in the input, 130 after Ctrl-C, 143
    after SIGTERM.

    \b
    probe translate run
    probe translate run --aggregator em --apply all --pairs 100000
    probe translate run --data multi30k/ --pair en-de --aggregator all
    probe translate run --data multi30k/ --pair en-de --aggregator em \\
        --apply enc-self,enc-dec --layers 1,2
    probe translate run --data multi30k/ --pair en-de \\
        --table components --table layers --seeds 3
    probe translate run --source train.en --target train.de \\
        --dev-source dev.en --dev-target dev.de \\
        --test-source test.en --test-target test.de --preset base
    probe translate run --data multi30k/ --pair en-de \\
        --set training.max_epochs=20 --set search.beam=8
    torchrun --nproc-per-node 4 -m probing translate run \\
        --data wmt/ --pair en-de --preset base
    """
    from probing.display import Display
    from probing.experiments import translating
    from probing.experiments.options import Place, SettingOptions

    if as_json and not plan:
        raise ProbingError("--json goes with --plan. For results as JSON, see `probe translate report --format json`")
    if len(test_sources) != len(test_targets):
        raise ProbingError("--test-source and --test-target go together: name both sides of each test set")
    experiment = translating.TranslationExperiment(
        aggregators=aggregators,
        apply=apply,
        layers=layers,
        tables=tables,
        text=translating.TextOptions(
            folder=None if data in (None, translating.EMBEDDED) else Path(data),
            pair=pair,
            pairs=pairs,
            train=(source, target),
            dev=(dev_source, dev_target),
            tests=list(zip(test_sources, test_targets, strict=True)),
        ),
        settings=SettingOptions(
            preset=preset, config_file=config_file, settings=settings, seeds=(*single_seeds, *seeds) or (0,)
        ),
    )
    place = Place(
        results=results,
        device=device,
        jobs=jobs,
        backend=backend,
        address=address,
        gpus_per_cell=gpus_per_cell,
        shard=shard,
        force=force,
    )
    display = Display(verbosity=verbose - quiet)
    if plan:
        planned = translating.plan_translations(experiment, place, display)
        if as_json:
            options.show(json.dumps(planned.as_dict(), indent=2))
        else:
            options.show_fitted(planned.text())
        return
    summary = translating.run_translations(experiment, place, display)
    if summary.cells and not quiet:
        options.warn(f"The table: {options.spell_command('translate', 'report', results=results)}")
    sys.exit(1 if summary.failed else 0)
