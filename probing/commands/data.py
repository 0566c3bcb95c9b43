"""`probe data`: task files are fetched, checked, built and shown."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from probing.commands.parameters import COUNT, FILE, FOLDER
from probing.errors import ProbingError

IMBALANCE_HELP = "Where a label of SeLen, WC or ToCo is scarce: how many times as often others may occur."


@click.group()
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
@click.option("--force", is_flag=True, help="Write into a folder that is not empty.")
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
