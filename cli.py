"""The `probe` command: options -> one call into probing -> print. No logic lives here."""

from __future__ import annotations

import dataclasses
import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import click

from probing import __version__
from probing.commands.cache import cache
from probing.commands.data import data
from probing.commands.mistakes import Group
from probing.commands.parameters import COUNT, DATA, FILE, FOLDER, RESULTS, SETTINGS, Jobs, Seeds, Shard
from probing.errors import ProbingError

FORMATS = click.Choice(["table", "markdown", "latex", "csv", "json", "html"])
CONTROL = "random-labels|random-encoder"
CONTROL_HELP = "Also measure labels that can only be memorised, or the untrained encoder. Can be repeated."
AGGREGATOR_HELP = "base, simple, em, simple-code, em-code, all, module:Name or file.py:Name."

warn = partial(click.echo, err=True)


@click.group("probe", cls=Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="probe")
def main() -> None:
    """What does this sentence encoder know about language?

    \b
    probe run --task all --aggregator all    train and score; skips what is already done
    probe report                             the comparison table across Base, Simple and EM
    """


main.add_command(data)
main.add_command(cache)


@main.command()
@click.option("--task", "tasks", multiple=True, help="A task by any of its names, or all. [default: all]")
@click.option("--aggregator", "aggregators", multiple=True, help=f"{AGGREGATOR_HELP} [default: all, unless --encoder]")
@click.option("--encoder", "encoders", multiple=True, metavar="SPEC", help="Probe this encoder: see `probe encoders`.")
@click.option("--layer", metavar="0..n|all|last", help="Of a Hugging Face model. [default: last]")
@click.option("--pooling", metavar="mean|cls|max|last", help="Of a Hugging Face model. [default: mean]")
@click.option("--dtype", metavar="float32|float16", help="How frozen vectors are kept. [default: float32]")
@click.option("--probe", metavar="mlp|linear|senteval", help="The classifier on frozen vectors. [default: mlp]")
@click.option("--fine-tune", is_flag=True, help="Train the encoder, a torch module, together with the head.")
@click.option("--control", "controls", multiple=True, metavar=CONTROL, help=CONTROL_HELP)
@click.option("--baselines", is_flag=True, help="Also probe sentence length and bag of words.")
@click.option("--mdl", is_flag=True, help="Also measure description length by online coding.")
@DATA
@click.option("--preset", help="paper, small or mini. [default: the data set's own]")
@SETTINGS
@click.option("--layers-with-aggregator", metavar="1,2", help="Limit the aggregator to some layers; others are linear.")
@click.option("--seed", "single_seeds", multiple=True, type=int, help="Can be repeated. [default: 0]")
@click.option("--seeds", type=Seeds(), default=(), help="How many seeds (5 for 0 to 4), or a list of them (0,1,2).")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or mps.")
@click.option(
    "--jobs", type=Jobs(), default="auto", show_default=True, help="Cells at a time, each in its own process."
)
@RESULTS
@click.option("--force", is_flag=True, help="Run cells again that are already recorded.")
@click.option("--backend", default="loky", show_default=True, help="loky (processes of this machine), ray or dask.")
@click.option("--address", metavar="HOST:PORT", help="Of the Ray or Dask cluster. [default for ray: this machine's]")
@click.option("--gpus-per-cell", type=click.FloatRange(0), default=0.0, help="On a cluster; with 0.5 two share one.")
@click.option("--shard", type=Shard(), help="Run one of N fixed parts of the cells, counted from 1.")
@click.option("--plan", is_flag=True, help="Print the cells and an estimate of the time; run nothing.")
@click.option("--json", "as_json", is_flag=True, help="With --plan: print JSON for machines.")
@click.option("-q", "--quiet", is_flag=True, help="Print warnings and errors only.")
@click.option("-v", "--verbose", is_flag=True, help="Print a line for every epoch.")
def run(
    quiet: bool,
    verbose: bool,
    plan: bool,
    as_json: bool,
    layers_with_aggregator: str | None,
    aggregators: tuple[str, ...],
    **options: Any,
) -> None:
    """Train and score one model per task, aggregator or encoder, and seed.

    What is already recorded is skipped, so the same command goes on after an interruption. Several commands may work
    on one --results folder at a time, also from several machines: they divide the cells among them.
    Ends with exit code 0, 1 if a training failed, 2 for a mistake in the input, 130 after Ctrl-C, 143 after
    SIGTERM.

    \b
    probe run --task all --aggregator all
    probe run --task Tense --task SubNm --aggregator em --seeds 5
    probe run --data my_tasks/ --preset small --set training.max_epochs=5
    probe run --task-file my_task.tsv --aggregator my_file.py:MyAggregator
    probe run --encoder bag-of-words --encoder my_file.py:MyEncoder --probe linear
    probe run --encoder huggingface:my_model/ --layer all --pooling cls
    probe run --control random-labels --control random-encoder --baselines --mdl
    probe run --task all --seeds 5 --plan
    probe run --task all --seeds 5 --backend ray --address 10.0.0.1:6379 --gpus-per-cell 1
    probe run --task all --seeds 5 --shard $SLURM_ARRAY_TASK_ID/8     (sbatch --array=1-8)
    """
    from probing import runner
    from probing.display import Display

    if as_json and not plan:
        raise ProbingError("--json goes with --plan. For results as JSON, see `probe report --format json`")
    if layers_with_aggregator is not None:
        options["settings"] += (f"model.layers_with_aggregator={layers_with_aggregator}",)
    options["seeds"] = (*options.pop("single_seeds"), *options["seeds"]) or (0,)
    options |= {"aggregators": aggregators or None, "display": Display(verbosity=verbose - quiet)}
    if plan:
        planned = runner.plan(**options)
        click.echo(json.dumps(planned.as_dict(), indent=2) if as_json else planned.text())
        return
    summary = runner.run(**options)
    sys.exit(1 if summary.failed else 0)


@main.command()
@RESULTS
@click.option("--format", type=FORMATS, default="table", show_default=True, help="How to print it.")
@click.option("--compare", "reference", metavar="MODEL", help="Mark what differs significantly from this model.")
@click.option("--against", type=click.Choice(["paper"]), help="Add the paper's figures, and check its claims.")
@click.option("-o", "--output", type=FILE, help="Write to a file instead of the terminal.")
def report(results: Path, format: str, reference: str | None, against: str | None, output: Path | None) -> None:
    """Print the comparison table across Base, Simple, EM and all others found.

    Each figure has its 95 % interval; bold are the best of a column and all that are not significantly worse.

    \b
    probe report
    probe report --compare base
    probe report --against paper
    probe report --format latex -o table.tex
    probe report --format csv | cut -d, -f5,7,11
    probe report --format html -o report.html
    """
    from probing.report.files import write_file
    from probing.report.formats import load_and_render

    if format == "html" and output is None and sys.stdout.isatty():
        raise ProbingError("--format html makes a page, not text for a terminal: add -o report.html")
    colour = output is None and sys.stdout.isatty()
    text = load_and_render(
        results,
        format,
        against_paper=against == "paper",
        reference=reference,
        colour=colour,
        on_damaged=warn,
    )
    if output is None:
        click.echo(text)
    else:
        write_file(output, f"{text}\n".encode(errors="replace"))


@main.command()
@click.argument("folders", nargs=-1, required=True, type=FOLDER, metavar="DIR...")
@click.option("-o", "--output", type=FOLDER, required=True, help="The folder that all records go to.")
def merge(folders: tuple[Path, ...], output: Path) -> None:
    """Join results folders, as of runs on several machines.

    Two records of one cell with different numbers contradict each other: both files are named, and nothing is written
    (exit code 2). A damaged file is named and left out (exit code 1).

    \b
    probe merge node1/results node2/results --output results
    probe merge shard-*/ --output results && probe report
    """
    from probing.merging import merge as merge_folders

    merged = merge_folders(folders, output, on_damaged=warn)
    click.echo(f"{output}: {merged.written} records written, {merged.there} were there already")
    sys.exit(1 if merged.damaged else 0)


@main.command()
@click.argument("kind", type=click.Choice(["dots", "curves", "confusion", "layers"]))
@click.option("-o", "--output", type=FILE, required=True, help="The figure: .svg, .png or .pdf.")
@RESULTS
@click.option("--task", help="Only this task. [default: all that there are]")
@click.option("--model", help="Only this model, as `probe report` calls it. [default: all]")
@click.option("--data", help="Where there are several data sets: which.")
@click.option("--preset", help="Where there are several presets: which.")
def plot(results: Path, **options: Any) -> None:
    """Draw a figure for a paper, as wide as a column.

    dots: accuracies with 95 % intervals; curves: dev accuracy by epoch; confusion: which labels one model takes for
    which on one task; layers: accuracies by task and layer of an encoder. Needs matplotlib: pip install
    'probing[plots]'.

    \b
    probe plot dots -o dots.pdf
    probe plot curves --task Tense -o curves.svg
    probe plot confusion --task TrDep --model em -o confusion.png
    probe plot layers --model bert-base-uncased -o layers.pdf
    """
    from probing.report.plots import load_and_plot

    load_and_plot(results, **options, on_damaged=warn)


@main.command()
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@RESULTS
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
def compare(first: str, second: str, results: Path, as_json: bool) -> None:
    """Compare two models, task by task and overall.

    A and B are models as `probe report` calls them, or by their registered names. Differences are A - B, paired on the
    test sentences, with 95 % intervals and p-values.

    \b
    probe compare em base
    probe compare "EM (iterations=2)" "EM (iterations=3)"
    probe compare em simple --json
    """
    from probing.report.comparison import load_and_compare

    text = load_and_compare(results, first, second, as_json=as_json, on_damaged=warn)
    click.echo(text)


@main.command()
@click.option("--task", "tasks", multiple=True, help="A task by any of its names, or all. [default: all]")
@click.option("--aggregator", "aggregators", multiple=True, help=f"{AGGREGATOR_HELP} [default: all]")
@click.option("--sentence", "sentences", multiple=True, metavar="TOKENS", help="Tokens separated by spaces.")
@click.option("--count", type=click.IntRange(0), default=3, show_default=True, help="Test sentences, if none is named.")
@click.option("--groups", type=COUNT, default=8, show_default=True, help="Of capsules, shown together.")
@DATA
@click.option("--preset", help="paper, small or mini. [default: the data set's own]")
@SETTINGS
@click.option("--seed", type=int, default=0, show_default=True, help="Which of the models.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or mps.")
@RESULTS
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
def explain(seed: int, as_json: bool, aggregators: tuple[str, ...], **options: Any) -> None:
    """Show what a model attends to, how routing weighs its heads, and what it is without each head.

    A model that was not explained before is trained first, as `probe run` does it with the same options. What is shown
    goes into the results folder, too, where `probe report --format html` finds it.

    \b
    probe explain --task Tense --aggregator em --sentence "the dogs slept ."
    probe explain --task all --count 2 > heads.txt
    probe explain --task SubNm --aggregator simple --json
    """
    from probing import explanation
    from probing.display import Display

    explained = explanation.explain(aggregators=aggregators or None, seeds=(seed,), display=Display(), **options)
    if as_json:
        click.echo(json.dumps([dataclasses.asdict(each) for each in explained], ensure_ascii=False))
    else:
        click.echo(explanation.render(explained))


@main.command()
@click.option("--preset", default="paper", show_default=True, help="paper, small or mini.")
@click.option("--aggregator", default="em", show_default=True, help=AGGREGATOR_HELP)
@SETTINGS
@click.option("--vocabulary-size", type=COUNT, default=30_000, show_default=True, help="Words embedded.")
@click.option("--num-classes", type=COUNT, default=2, show_default=True, help="Labels of the task.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
def describe(as_json: bool, **options: Any) -> None:
    """Print a model's parameters part by part and its tensors' shapes.

    \b
    probe describe --preset paper --aggregator em
    probe describe --aggregator base --set model.num_layers=6 --json
    """
    from probing import runner

    description = runner.describe(**options)
    click.echo(json.dumps(dataclasses.asdict(description), indent=2) if as_json else description.text())


@main.command()
def tasks() -> None:
    """List the probing tasks."""
    from tabulate import tabulate

    from probing.tasks import COUNTERPARTS, TASKS

    rows = [
        (task.name, task.family, task.classes or "", f"{task.file}.txt", ", ".join(task.spellings[1:3]), task.asks)
        for task in TASKS + COUNTERPARTS
    ]
    click.echo(tabulate(rows, ["task", "family", "classes", "file", "also called", "asks for"]))


@main.command()
def aggregators() -> None:
    """List the aggregators: built-in and installed."""
    from tabulate import tabulate

    from probing.registry import AGGREGATORS

    click.echo(tabulate(AGGREGATORS.summaries(), ["aggregator", "in tables", "what it is"]))


@main.command()
def encoders() -> None:
    """List the encoders: built-in, installed, and what else can be named."""
    from tabulate import tabulate

    from probing.encoders.specification import summaries

    click.echo(tabulate(summaries(), ["--encoder", "what it is"]))
