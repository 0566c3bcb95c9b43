"""`probe data`: task files are downloaded, checked, built and looked at."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import click

from probing.commands import options
from probing.errors import ProbingError, as_one_line

ONE_OR_ALL = click.option(
    "--task", "tasks", multiple=True, default=["all"], show_default=True, help="Task by any of its names, or all."
)


@click.group()
def data() -> None:
    """Download, check, build and look at task files."""


@data.command()
@ONE_OR_ALL
@click.option("--data-dir", default="data/senteval", show_default=True, help="Folder to which the files go.")
@click.option("--mirror", metavar="URL", help="Address of the .txt files: http, https or file:. [default: GitHub]")
@click.option("--offline", is_flag=True, help="Download nothing: verify the files that are there, name missing ones.")
@click.option("--force", is_flag=True, help="Overwrite files that are not SentEval's.")
def fetch(tasks: tuple[str, ...], data_dir: str, mirror: str | None, offline: bool, force: bool) -> None:
    """Download SentEval's ten task files and verify each.

    Files that are there and right are not downloaded again; a broken download goes on where it stopped.

    \b
    probe data fetch
    probe data fetch --task Tense,WC --mirror https://example.org/probing
    probe data fetch --mirror file:///media/disk/probing
    probe data fetch --offline
    """
    from probing.corpus import download
    from probing.tasks import get_tasks

    try:
        download.fetch(
            get_tasks(tasks),
            Path(data_dir),
            mirror=mirror or download.MIRROR,
            offline=offline,
            force=force,
            report=options.show,
        )
    except KeyboardInterrupt:
        options.warn("probe: interrupted; the part that has arrived is kept: run the command again to go on")
        raise


@data.command()
@click.argument("paths", nargs=-1, required=True, metavar="DIR_OR_FILE...")
@options.AS_JSON
@click.option("--strict", is_flag=True, help="End with exit code 1 if there are warnings.")
def check(paths: tuple[str, ...], as_json: bool, strict: bool) -> None:
    """Verify task files: format, balance, duplicates, leakage.

    An error makes a file unusable (exit code 2), a warning makes its scores doubtful, a note is worth knowing.
    Of a folder, the files that are named after a task are checked.

    \b
    probe data check data/senteval
    probe data check my_tasks/ my_own_task.txt --strict
    probe data check data/senteval --json
    """
    from probing.corpus.checks import check as check_files

    show = options.show_json if as_json else options.show_fitted
    sys.exit(check_files([Path(path) for path in paths], report=show, as_json=as_json, strict=strict))


@data.command()
@click.argument("more", nargs=-1, type=options.FILE, metavar="[FILE...]")
@click.option("--trees", multiple=True, type=options.FILE, help="File of Penn-style brackets, compressed or not.")
@click.option("--conllu", multiple=True, type=options.FILE, help="CoNLL-U file, compressed or not.")
@click.option("--text", multiple=True, type=options.FILE, help="File of raw text, compressed or not.")
@click.option("--parser", help="Parser of raw text: spacy:MODEL, stanza:LANGUAGE or udpipe:FILE.")
@click.option("--given", multiple=True, type=options.FILE, help="Task file to take unchanged; the others are built.")
@click.option("--extend", "extended", multiple=True, type=options.FILE, help="Task file to extend with training lines.")
@click.option("-o", "--output", required=True, type=options.FOLDER, help="Folder to which the task files go.")
@click.option("--train", type=options.COUNT, default=100_000, show_default=True, help="Size of the training split.")
@click.option("--dev", type=options.COUNT, default=10_000, show_default=True, help="Size of the development split.")
@click.option("--test", type=options.COUNT, default=10_000, show_default=True, help="Size of the test split.")
@click.option(
    "--imbalance",
    type=options.COUNT,
    help="Largest allowed ratio between label frequencies (SeLen, WC, ToCo). "
    "[default: 1, or up to 10 where balanced labels are scarce]",
)
@click.option(
    "--min-train",
    type=options.COUNT,
    help="Do not build a task with fewer training lines. [default: 1000, or half of a smaller --train]",
)
@click.option(
    "--min-test",
    type=options.COUNT,
    help="Do not build a task with fewer test lines. [default: 385 (5 points of error), or half of a smaller --test]",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed: another one draws other sentences.")
@ONE_OR_ALL
@click.option("--jobs", type=options.COUNT, help="Number of processes. [default: one for each core, for large files]")
@click.option("--skip-bad", is_flag=True, help="Count and skip trees that cannot be read.")
@click.option("--force", is_flag=True, help="Write into a folder that is not empty; its task files are replaced.")
def build(
    more: tuple[Path, ...],
    trees: tuple[Path, ...],
    conllu: tuple[Path, ...],
    text: tuple[Path, ...],
    parser: str | None,
    given: tuple[Path, ...],
    extended: tuple[Path, ...],
    output: Path,
    train: int,
    dev: int,
    test: int,
    imbalance: int | None,
    min_train: int | None,
    min_test: int | None,
    seed: int,
    tasks: tuple[str, ...],
    jobs: int | None,
    skip_bad: bool,
    force: bool,
) -> None:
    """Build the ten tasks from any corpus: trees, dependencies or raw text.

    Raw text is split and parsed by a parser that you have; its parses are kept, so that a second build costs no
    parsing. Without a parser, SeLen, WC and BShif are built.

    If a corpus is too small, a task is the largest set that it allows. Where that is too small to be scored, the task
    is not built, and the reason is printed. The datasheet in the folder (datasheet.md, datasheet.json) states sources,
    bounds, counts, baselines, and what was left out and why.
    From dependencies, DepDepth and RootDep stand for TrDep and ToCo. The exit code is 1 if no task could be built.

    \b
    probe data build --trees wsj.mrg --output my_tasks
    probe data build --trees parsed/*.txt.gz --skip-bad --output my_tasks
    probe data build --conllu de_gsd-ud-train.conllu \\
        --output german --train 5000 --dev 500 --test 500
    probe data build --trees books.txt.gz \\
        --given odd_man_out.txt --extend bigram_shift.txt --imbalance 10 -o books
    probe data build --text novels/*.txt --parser spacy:en_core_web_sm -o novels
    probe run --data my_tasks
    """
    formats: dict[Literal["penn", "conllu", "text"], tuple[Path, ...]] = {"penn": trees, "conllu": conllu, "text": text}
    named = [format for format, files in formats.items() if files]
    if len(named) != 1:
        raise ProbingError(
            "name the corpus with --trees FILE (Penn brackets), --conllu FILE or --text FILE (raw text): one of these"
        )
    if parser is not None and not text:
        raise ProbingError("--parser is for raw text: it goes with --text")
    from probing.corpus.builders.files import build_files

    try:
        sheet = build_files(
            formats[named[0]] + more,
            named[0],
            output,
            parser=parser,
            given=given,
            extended=extended,
            train=train,
            dev=dev,
            test=test,
            imbalance=imbalance,
            min_train=min_train,
            min_test=min_test,
            seed=seed,
            tasks=tasks,
            jobs=jobs,
            skip_bad=skip_bad,
            force=force,
        )
    except KeyboardInterrupt:
        if parser is not None:
            options.warn("probe: interrupted; what has been parsed is kept: run the command again to go on")
        raise
    options.show_fitted(sheet.to_table())
    built = sum(one.reason is None for one in sheet.tasks)
    options.show(f"\n{as_one_line(str(output))}: {built} task files and datasheet.md")
    if text and parser is None:
        options.show("With --parser, raw text also gives DepDepth, RootDep, Tense, SubNm, ObjNm, SOMO and CoIn")
    sys.exit(0 if built else 1)


@data.command()
@click.option("--count", type=options.COUNT, default=10, show_default=True, help="Number of sentences.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed: another one gives other sentences.")
@click.option("--trees", is_flag=True, help="Print Penn-style brackets, as `probe data build --trees` reads them.")
@click.option("--parallel", is_flag=True, help="Print each sentence with its translation, gloss, tree and phenomena.")
@click.option("--task", help="Task of the embedded data of which labelled instances are printed instead.")
def sample(count: int, seed: int, trees: bool, parallel: bool, task: str | None) -> None:
    """Print sentences of the embedded grammar, or instances of the embedded data.

    \b
    probe data sample --count 5
    probe data sample --trees --count 100000 --seed 7 > trees.txt
    probe data sample --parallel --count 5
    probe data sample --task SOMO
    """
    if parallel and (trees or task is not None):
        other = "--trees" if trees else "--task"
        raise ProbingError(f"--parallel and {other} exclude each other: pairs come with their trees and have no task")
    if task is not None:
        if trees:
            raise ProbingError("--trees and --task exclude each other: a task's instances have no trees")
        from probing.corpus.mini import sample_task

        for label, tokens in sample_task(task, count, seed=seed):
            click.echo(f"{label}\t{' '.join(tokens)}")
        return
    from probing.corpus.grammar import format_tree, generate

    if parallel:
        from probing.corpus.language import format_pair, translate

        for number, sentence in enumerate(generate(seed, count)):
            click.echo(("\n" if number else "") + format_pair(translate(sentence)))
        return
    for sentence in generate(seed, count):
        click.echo(format_tree(sentence.tree) if trees and sentence.tree else " ".join(sentence.tokens))


@data.command()
@click.option("--task", required=True, help="Task by any of its names.")
@options.DATA
@click.option("-o", "--output", type=options.FILE, help="File to write. [default: print]")
def export(
    task: str, data: str | None, data_dir: Path | None, task_files: tuple[Path, ...], output: Path | None
) -> None:
    """Print the sentences of a task in the order of its file: vector i of `precomputed:` belongs to line i.

    \b
    probe data export --task Tense > sentences.txt
    probe data export --task SeLen --data my_tasks/ --output sentences.txt
    """
    from probing.corpus.source import choose_source, own_files
    from probing.storage import write_atomically
    from probing.tasks import iterate_instances

    source = own_files(task_files) if task_files else choose_source([task], data=data, data_dir=data_dir)
    found = [path for one, path in source.files.items() if task.lower() in [name.lower() for name in one.spellings]]
    if len(found) != 1:
        names = ", ".join(one.name for one in source.files)
        raise ProbingError(f"--task must be a single task of the files. Got {task!r}, and files for {names}")
    lines = [" ".join(tokens) for _, _, tokens in iterate_instances(found[0])]
    if output is None:
        options.show("\n".join(lines))
        return
    write_atomically(output, "".join(f"{line}\n" for line in lines))
    options.show(f"{as_one_line(str(output))}: {len(lines):,} sentences")
