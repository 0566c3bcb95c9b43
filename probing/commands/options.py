"""Options that several commands share, and the types of their values."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from probing import registry
from probing.commands import screen
from probing.config import BACKENDS, DEVICES, MODEL_DTYPES, POOLINGS, PRESETS
from probing.errors import ProbingError, as_lines, as_one_line, escape_json
from probing.registry import COMPARED
from probing.storage import check_path


class PathType(click.Path):
    """The path of a file or a folder, which need not exist."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return super().convert(check_path(value), param, ctx)


FILE = PathType(path_type=Path, dir_okay=False)
FOLDER = PathType(path_type=Path, file_okay=False)
COUNT = click.IntRange(1)
DEFAULT_RESULTS = Path("results")
MOST_SEEDS = 10_000
SMALLEST_ROOM = 20
"""Width of the last column of a list, however narrow the terminal is."""

Command = TypeVar("Command", bound=Callable[..., Any])


def warn(line: str) -> None:
    """Print a line to stderr."""
    click.echo(as_one_line(line), err=True)


def show(text: str) -> None:
    """Print lines; control characters in them, which a file name or a label may hold, are printed as escapes."""
    click.echo(as_lines(text))


def show_fitted(text: str) -> None:
    """Show prose and tables, cut and broken to fit the terminal."""
    show(screen.fit(text, find_width()))


def write(path: Path, content: bytes) -> None:
    """Write a file that the user asked for, and say so on stderr."""
    from probing.report.writing import write_file

    write_file(path, content)
    warn(f"{path} is written")


def spell_command(*words: str, results: Path) -> str:
    """Return a command on a results folder, as a user would type it."""
    return shlex.join(["probe", *words, *([] if results == DEFAULT_RESULTS else ["--results", str(results)])])


def find_width() -> int | None:
    """Return the width of the terminal; None if the output goes to a file or to another program."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def show_list(rows: Sequence[Sequence[object]], headers: Sequence[str]) -> None:
    """Print rows under headers; the last column, which is prose, is broken at words where a terminal ends."""
    from tabulate import tabulate

    room = find_room(rows, headers)
    click.echo(tabulate(rows, headers, maxcolwidths=room and [None] * (len(headers) - 1) + [room]))


def find_room(rows: Sequence[Sequence[object]], headers: Sequence[str]) -> int | None:
    """Return the width that a terminal leaves to the last column of a list; None without a terminal."""
    if (width := find_width()) is None:
        return None
    # tabulate leaves two spaces between columns, and two more than a header needs.
    used = [
        max(len(header) + 2, *(len(str(row[place])) for row in rows)) + 2 for place, header in enumerate(headers[:-1])
    ]
    return max(width - sum(used), SMALLEST_ROOM)


def show_json(text: str) -> None:
    """Print a JSON text, its control characters as escapes."""
    click.echo(escape_json(text))


def join_names(names: Any, last: str = "or") -> str:
    """Return names as a sentence lists them: a, b or c."""
    *most, final = names
    return f"{', '.join(most)} {last} {final}" if most else final


def together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return a decorator that gives a command several options, in this order."""

    def give(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return give


class Jobs(click.ParamType):
    """A number of processes, or `auto`."""

    name = "N|auto"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | None:
        return None if value in (None, "auto") else COUNT.convert(value, param, ctx)


class SentencesAtATime(click.ParamType):
    """A number of sentences, or `auto`."""

    name = "N|auto"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | None:
        if value in (None, "auto"):
            return None
        if not str(value).isdecimal() or not int(value):
            raise ProbingError(f"--batch-size must be a number from 1, or auto. Got {value!r}")
        return int(value)


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
            raise ProbingError(f"--seeds must be a number of seeds (5 for 0 to 4) or a list (0,1,2). Got {value!r}")
        return tuple(numbers) if "," in value else tuple(range(numbers[0]))


class Shard(click.ParamType):
    """One of several parts, counted from 1."""

    name = "I/N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        if isinstance(value, tuple):
            return value
        number, _, count = value.partition("/")
        if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
            raise ProbingError(f"--shard must be a number and how many shards there are, such as 3/8. Got {value!r}")
        return int(number), int(count)


ONE_AGGREGATOR = f"{', '.join(registry.AGGREGATORS.builtins)}, module:Name or file.py:Name"
TASKS = click.option("--task", "tasks", multiple=True, help="Task by any of its names, or all. [default: all]")
PRESET = click.option("--preset", help=f"Preset of settings: {join_names(PRESETS)}. [default: the data set's own]")
DEVICE = click.option("--device", default="auto", show_default=True, help=f"Device: {join_names(DEVICES)}.")
RESULTS = click.option(
    "--results", type=FOLDER, default=str(DEFAULT_RESULTS), show_default=True, help="Folder of the records."
)
FILTERS = together(
    click.option("--task", "tasks", multiple=True, help="Only these tasks. Can be repeated, or a list with commas."),
    click.option("--model", "models", multiple=True, help="Only these models, by their names in `probe report`."),
    click.option("--data", multiple=True, help="Only these data sets."),
    click.option("--preset", "presets", multiple=True, help="Only these presets."),
    click.option("--seed", "seeds", multiple=True, metavar="N", help="Only these seeds."),
    click.option("--all-versions", is_flag=True, help="Show the older versions of an edited plug-in as well."),
)
"""Fields of a Selection."""
EXPLAIN = click.option("--explain", is_flag=True, help="Say below a text table how its figures were computed.")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
DATA = together(
    click.option(
        "--data",
        help="Data set: senteval, mini, midi, or a folder of task files. [default: senteval if there, else mini]",
    ),
    click.option("--data-dir", type=FOLDER, help="Folder of SentEval's files. [default: data/senteval]"),
    click.option("--task-file", "task_files", multiple=True, type=FILE, help="Your own task, in SentEval's format."),
)
CONFIG = click.option("--config", "config_file", type=FILE, help="TOML file of settings, in sections such as [model].")
SETTINGS = together(
    CONFIG,
    click.option("--set", "settings", multiple=True, metavar="SECTION.KEY=VALUE", help="Value of a single setting."),
)
BY = click.option(
    "--by",
    "by",
    multiple=True,
    metavar="SECTION.KEY",
    help="Setting of a sweep, against which accuracies are shown. Can be repeated.",
)
AGGREGATORS = click.option(
    "--aggregator",
    "aggregators",
    multiple=True,
    help=f"Aggregator: all ({join_names(COMPARED, 'and')}), {ONE_AGGREGATOR}. [default: all, unless --encoder]",
)
ENCODER_OPTIONS = together(
    click.option("--layer", metavar="LAYERS", help="Layers: 3, -1, 0-6, 0,3,6, all, last, or mix. [default: last]"),
    click.option("--pooling", metavar="|".join(POOLINGS), help="Pooling over the tokens. [default: mean]"),
    click.option(
        "--batch-size", type=SentencesAtATime(), metavar="N|auto", help="Sentences at a time; fewer if memory lacks."
    ),
    click.option(
        "--model-dtype",
        metavar="|".join(MODEL_DTYPES),
        help="Type of the model's weights. [default: auto, as they were saved]",
    ),
    click.option("--device-map", metavar="auto", help="Spread a large model over all devices (needs accelerate)."),
    click.option("--prompt", metavar="TEXT", help="Text around each sentence, which stands in for {text}."),
    click.option("--no-special-tokens", is_flag=True, help="Leave out tokens such as [CLS] and </s>."),
    click.option("--detokenise", is_flag=True, help="Write sentences as prose: can't for ca n't."),
    click.option("--trust-remote-code", is_flag=True, help="Run Python code that comes with the model."),
)
"""Options of encoders that offer them; those of Hugging Face offer all."""
SEEDS = together(
    click.option(
        "--seed", "single_seeds", multiple=True, type=int, help="Seed of a run. Can be repeated. [default: 0]"
    ),
    click.option("--seeds", type=Seeds(), default=(), help="Number of seeds (5 for 0 to 4), or a list (0,1,2)."),
)
EXECUTION = together(
    click.option(
        "--jobs",
        type=Jobs(),
        metavar="N|auto",
        default="auto",
        show_default=True,
        help="Number of cells at a time, each in its own process.",
    ),
    click.option("--force", is_flag=True, help="Run cells again that are already recorded."),
    click.option(
        "--backend",
        default=BACKENDS[0],
        show_default=True,
        help=f"Place where cells run: {BACKENDS[0]} (processes of this machine), {join_names(BACKENDS[1:])}.",
    ),
    click.option("--address", metavar="HOST:PORT", help="Address of the cluster. [default for ray: this machine's]"),
    click.option(
        "--gpus-per-cell",
        type=click.FloatRange(0),
        default=0.0,
        help="GPUs per cell on a cluster; 0.5 lets two cells share one.",
    ),
    click.option("--shard", type=Shard(), help="Shard to run: one of N fixed parts of the cells, counted from 1."),
    click.option("--plan", is_flag=True, help="Print the cells and an estimate of the time; record nothing."),
    click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON."),
    click.option("-q", "--quiet", is_flag=True, help="Print warnings and errors only."),
    click.option("-v", "--verbose", is_flag=True, help="Print a line for every epoch."),
)
