"""The `probe` command: options -> one call into probing -> print. No logic lives here."""

from __future__ import annotations

import dataclasses
import errno
import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click

from probing import __version__
from probing.errors import ProbingError
from probing.interruption import Terminated, terminable

FORMATS = click.Choice(["table", "markdown", "latex", "csv", "json", "html"])
CONTROL = "random-labels|random-encoder"
CONTROL_HELP = "Also measure labels that can only be memorised, or the untrained encoder. Can be repeated."
ONE_AGGREGATOR = "base, simple, em, simple-code, em-code, module:Name or file.py:Name."
AGGREGATOR_HELP = f"all (base, simple and em), {ONE_AGGREGATOR}"
IMBALANCE_HELP = "Where a label of SeLen, WC or ToCo is scarce: how many times as often others may occur."
KINDS = ("vectors", "explained", "shipped", "checkpoints")
FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)
COUNT = click.IntRange(1)
MOST_SEEDS = 10_000

Command = TypeVar("Command", bound=Callable[..., Any])


def together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return a decorator that gives a command several options, in this order."""

    def give(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return give


DATA = together(
    click.option("--data", help="senteval, mini, or a folder of task files. [default: senteval if there, else mini]"),
    click.option("--data-dir", type=FOLDER, help="Where SentEval's files are. [default: data/senteval]"),
    click.option("--task-file", "task_files", multiple=True, type=FILE, help="Your own task, in SentEval's format."),
)
SETTINGS = together(
    click.option("--config", "config_file", type=FILE, help="A TOML file with sections [model] and [training]."),
    click.option("--set", "settings", multiple=True, metavar="SECTION.KEY=VALUE", help="Change one setting."),
)
RESULTS = click.option(
    "--results", type=FOLDER, default="results", show_default=True, help="The folder of the records."
)


class Jobs(click.ParamType):
    """A number of processes, or `auto`."""

    name = "N|auto"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | None:
        return None if value in (None, "auto") else COUNT.convert(value, param, ctx)


class Seeds(click.ParamType):
    """A number of seeds, counted from 0, or a list of them."""

    name = "N|0,1,..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        try:
            numbers = [int(part) for part in value.split(",") if part.strip()]
        except ValueError:
            numbers = []
        if not numbers or ("," not in value and not 1 <= numbers[0] <= MOST_SEEDS):
            raise ProbingError(f"--seeds must be how many (5 for 0 to 4) or a list (0,1,2). Got {value!r}")
        return tuple(numbers) if "," in value else tuple(range(numbers[0]))


class Shard(click.ParamType):
    """One of several parts, counted from 1."""

    name = "I/N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        if isinstance(value, tuple):
            return value
        number, _, count = value.partition("/")
        if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
            raise ProbingError(f"--shard must be one of so many parts, from 1/8 to 8/8. Got {value!r}")
        return int(number), int(count)


STOPPED = (130, 143)
"""The exit codes after Ctrl-C and after SIGTERM."""


class Main(click.Group):
    """A command group that turns a user's mistake into one line and exit code 2."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Be the program. When it is stopped, all is in order by now, and Python needs a second to unload torch."""
        try:
            return super().__call__(*arguments, **options)
        except SystemExit as end:
            if isinstance(end.code, int) and end.code in STOPPED:
                with suppress(OSError, ValueError):  # who read what it says has gone
                    sys.stdout.flush()
                    sys.stderr.flush()
                os._exit(end.code)
            raise

    def make_context(self, *args: Any, **options: Any) -> click.Context:
        with _telling():
            return super().make_context(*args, **options)

    def invoke(self, ctx: click.Context) -> Any:
        if isinstance(sys.stdout, io.TextIOWrapper):
            # A name's stray bytes are told, as on stderr; in JSON they are escapes.
            sys.stdout.reconfigure(errors="backslashreplace")
        with _telling(), terminable():
            return super().invoke(ctx)


@contextmanager
def _telling() -> Iterator[None]:
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        _end(_describe(error))
    except ProbingError as error:
        _end(str(error))
    except KeyboardInterrupt as stop:
        sys.exit(STOPPED[isinstance(stop, Terminated)])
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
            _end(f"{error.filename or 'a file'} cannot be written ({error.strerror})")
        if error.errno in (errno.EACCES, errno.EPERM, errno.ENOTDIR) and error.filename is not None:
            _end(f"{error.filename} cannot be used ({error.strerror})")
        raise


def _end(line: str) -> NoReturn:
    click.echo(f"probe: {line}", err=True)
    sys.exit(2)


def _describe(error: click.UsageError) -> str:
    """Return what click says of a wrong option, in the form of all other mistakes."""
    message = error.format_message().rstrip(".")
    command = error.ctx.command_path if error.ctx else "probe"
    return f"{message[:1].lower()}{message[1:]}. See `{command} --help`"


warn = partial(click.echo, err=True)


@click.group("probe", cls=Main, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="probe")
def main() -> None:
    """What does this sentence encoder know about language?

    \b
    probe run --task all --aggregator all    train and score; skips what is already done
    probe report                             the comparison table across Base, Simple and EM
    """


@main.command()
@click.option("--task", "tasks", multiple=True, help="A task by any of its names, or all. [default: all]")
@click.option("--aggregator", "aggregators", multiple=True, help=f"{AGGREGATOR_HELP} [default: all, unless --encoder]")
@click.option("--encoder", "encoders", multiple=True, metavar="SPEC", help="Probe this encoder: see `probe encoders`.")
@click.option("--layer", metavar="0..n|all|last", help="Of a Hugging Face model. [default: last]")
@click.option("--pooling", metavar="mean|cls|max|last", help="Of a Hugging Face model. [default: mean]")
@click.option("--dtype", metavar="float32|float16", help="How frozen vectors are kept. [default: float32]")
@click.option(
    "--probe",
    metavar="mlp|linear|senteval|senteval-mlp",
    help="The classifier on frozen vectors; the last two are SentEval's, with nhid 0 and 50. [default: mlp]",
)
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
@click.option("--plan", is_flag=True, help="Print the cells and an estimate of the time; record nothing.")
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
@click.option("--aggregator", default="em", show_default=True, help=ONE_AGGREGATOR)
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


@main.group()
def cache() -> None:
    """Look at or delete vectors, models, shipped files and checkpoints that are kept."""


@cache.command("list")
@RESULTS
def list_cache(results: Path) -> None:
    """List the cached vectors, and below them all else that is kept, the largest first.

    \b
    probe cache list
    probe cache list --results results
    """
    from tabulate import tabulate

    from probing.leftovers import describe_leftovers
    from probing.vectors import describe_cached

    headers = ["encoder", "task", "sentences", "dim", "layers", "kept as", "MB", "key"]
    click.echo(tabulate(describe_cached(), headers, floatfmt=".1f"))
    if rows := describe_leftovers(results):
        click.echo("\n" + tabulate(rows, ["kind", "what", "MB", "folder"], floatfmt=".1f"))


@cache.command("clear")
@click.option("--encoder", help="Only the vectors of this encoder, by the name that `probe cache list` shows.")
@click.option(
    "--kind",
    "kinds",
    type=click.Choice(KINDS),
    multiple=True,
    help="Only this kind. Can be repeated.  [default: all but checkpoints]",
)
@RESULTS
def clear_cache(encoder: str | None, kinds: tuple[str, ...], results: Path) -> None:
    """Delete what is kept and can be made again; results stay, and checkpoints unless they are named.

    \b
    probe cache clear
    probe cache clear --encoder bag-of-words
    probe cache clear --kind checkpoints --results results
    """
    from probing.leftovers import clear_leftovers
    from probing.vectors import clear_cached

    if encoder is not None and kinds not in ((), ("vectors",)):
        raise ProbingError(f"--encoder goes with --kind vectors. Got --kind {' --kind '.join(kinds)}")
    chosen = ("vectors",) if encoder is not None else kinds or KINDS[:-1]
    done = [clear_cached(encoder)] if "vectors" in chosen else []
    done.append(clear_leftovers(chosen, results))
    click.echo(f"{sum(count for count, _ in done)} entries deleted, {sum(size for _, size in done) / 1e6:.1f} MB")


@main.group()
def data() -> None:
    """Get, check, build and look at task files."""


@data.command()
@click.option("--task", "tasks", multiple=True, default=["all"], show_default=True, help="A task, or all ten.")
@click.option("--data-dir", default="data/senteval", show_default=True, help="The folder that the files go to.")
@click.option("--mirror", metavar="URL", help="Where the .txt files are: http, https or file:. [default: GitHub]")
@click.option("--offline", is_flag=True, help="Download nothing: verify what is there, name what is missing.")
@click.option("--force", is_flag=True, help="Overwrite files that are not SentEval's.")
def fetch(tasks: tuple[str, ...], data_dir: str, mirror: str | None, offline: bool, force: bool) -> None:
    """Download SentEval's ten task files and verify each.

    What is there and right is not downloaded again; a broken download goes on where it stopped.

    \b
    probe data fetch
    probe data fetch --task Tense,WC --mirror https://example.org/probing
    probe data fetch --mirror file:///media/disk/probing
    probe data fetch --offline
    """
    from probing import tasks as table
    from probing.corpus import download

    try:
        download.fetch(
            table.get_tasks(tasks),
            Path(data_dir),
            mirror=mirror or download.MIRROR,
            offline=offline,
            force=force,
            report=click.echo,
        )
    except KeyboardInterrupt:
        click.echo("probe: interrupted; what has arrived is kept: run the command again to go on", err=True)
        raise


@data.command()
@click.argument("paths", nargs=-1, required=True, metavar="DIR_OR_FILE...")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
@click.option("--strict", is_flag=True, help="End with exit code 1 if there are warnings.")
def check(paths: tuple[str, ...], as_json: bool, strict: bool) -> None:
    """Verify task files: format, balance, duplicates, leakage.

    An error makes a file unusable (exit code 2), a warning makes its scores doubtful, a note is worth knowing.
    Of a folder, the files that bear a task's name are checked.

    \b
    probe data check data/senteval
    probe data check my_tasks/ my_own_task.txt --strict
    probe data check data/senteval --json
    """
    from probing.corpus import checking

    sys.exit(checking.check([Path(path) for path in paths], report=click.echo, as_json=as_json, strict=strict))


@data.command()
@click.argument("more", nargs=-1, type=FILE, metavar="[FILE...]")
@click.option("--trees", multiple=True, type=FILE, help="Files of Penn-style brackets, gzipped or not.")
@click.option("--conllu", multiple=True, type=FILE, help="CoNLL-U files, gzipped or not.")
@click.option("--given", multiple=True, type=FILE, help="A task file to take as it is; the others are built.")
@click.option("--extend", "extended", multiple=True, type=FILE, help="A task file to take; trees add to its training.")
@click.option("-o", "--output", required=True, type=FOLDER, help="The folder that the task files go to.")
@click.option("--train", type=COUNT, default=100_000, show_default=True, help="Instances of the training split.")
@click.option("--dev", type=COUNT, default=10_000, show_default=True, help="Instances of the development split.")
@click.option("--test", type=COUNT, default=10_000, show_default=True, help="Instances of the test split.")
@click.option("--imbalance", type=COUNT, default=1, show_default=True, help=IMBALANCE_HELP)
@click.option("--seed", type=int, default=0, show_default=True, help="Another seed draws other sentences.")
@click.option("--task", "tasks", multiple=True, default=["all"], show_default=True, help="A task, or all ten.")
@click.option("--skip-bad", is_flag=True, help="Count and skip trees that cannot be read.")
@click.option("--force", is_flag=True, help="Write into a folder that is not empty: its task files go.")
def build(
    more: tuple[Path, ...], trees: tuple[Path, ...], conllu: tuple[Path, ...], output: Path, **options: Any
) -> None:
    """Build the ten tasks from any parsed corpus.

    Where a corpus is too small, a task is the largest balanced set that it gives. The datasheet in the folder
    (datasheet.md, datasheet.json) tells sources, bounds, counts, baselines, and what was left out and why.
    From dependencies, DepDepth and RootDep stand for TrDep and ToCo. Ends with exit code 1 if no task could be built.

    \b
    probe data build --trees wsj.mrg --output my_tasks
    probe data build --trees parsed/*.txt.gz --skip-bad --output my_tasks
    probe data build --conllu de_gsd-ud-train.conllu --output german --train 5000 --dev 500 --test 500
    probe data build --trees books.txt.gz --given odd_man_out.txt --extend bigram_shift.txt --imbalance 10 -o books
    probe run --data my_tasks
    """
    if bool(trees) == bool(conllu):
        raise ProbingError("name the corpus with --trees FILE (Penn brackets) or with --conllu FILE, one of the two")
    from probing.corpus.builders.files import build_files

    sheet = build_files((trees or conllu) + more, "penn" if trees else "conllu", output, **options)
    click.echo(sheet.to_table())
    built = sum(one.reason is None for one in sheet.tasks)
    click.echo(f"\n{output}: {built} task files and datasheet.md")
    sys.exit(0 if built else 1)


@data.command()
@click.option("--count", type=COUNT, default=10, show_default=True, help="How many sentences.")
@click.option("--seed", type=int, default=0, show_default=True, help="Another seed gives other sentences.")
@click.option("--trees", is_flag=True, help="Print Penn-style brackets, as `probe data build --trees` reads them.")
@click.option("--task", help="Print labelled instances of one task of the embedded data instead.")
def sample(count: int, seed: int, trees: bool, task: str | None) -> None:
    """Print sentences of the embedded grammar, or instances of the embedded data.

    \b
    probe data sample --count 5
    probe data sample --trees --count 100000 --seed 7 > trees.txt
    probe data sample --task SOMO
    """
    if task is not None:
        if trees:
            raise ProbingError("--trees and --task exclude each other: a task's instances have no trees")
        from probing.corpus.mini import sample_task

        for label, tokens in sample_task(task, count, seed=seed):
            click.echo(f"{label}\t{' '.join(tokens)}")
        return
    from probing.corpus.grammar import format_tree, generate

    for sentence in generate(seed, count):
        click.echo(format_tree(sentence.tree) if trees and sentence.tree else " ".join(sentence.tokens))
