"""The documents are true where a test can tell: links resolve, commands parse, Python examples fit the functions.

`pytest tests/test_documents.py --rewrite-goldens` writes the tables of options, of settings' values and of the
translators' parameters anew.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

import probing
from probing.commands import main
from probing.config import PRESETS
from probing.translation.settings import TRANSLATION_PRESETS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
COMMAND_LINE = DOCS / "command-line.md"
DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ("*.md", "docs/*.md", "data/*.md", "results/*.md", "results/books/*.md")
    for path in ROOT.glob(pattern)
)
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OPTIONS = re.compile(r"<!-- options: (probe[a-z ]*) -->\n(.*?)<!-- /options -->", re.DOTALL)
DEFAULT = re.compile(r"\s*\[default(?: (for \w+))?: (.*)\]$")
OPERATORS = {"|", "||", "&&", ";", "&"}

each_document = pytest.mark.parametrize("document", DOCUMENTS)


def read(document: str) -> str:
    return (ROOT / document).read_text(encoding="utf-8")


def find_blocks(document: str, language: str) -> list[str]:
    """Return the fenced blocks of a language."""
    return [block for found, block in FENCE.findall(read(document)) if found == language]


def find_code(document: str) -> Iterator[tuple[str, bool]]:
    """Return the lines of shell blocks, continued lines joined, and inline code, which may leave out arguments."""
    for block in find_blocks(document, "sh"):
        yield from ((line, True) for line in block.replace("\\\n", " ").splitlines())
    yield from ((code, False) for code in re.findall(r"`([^`\n]+)`", FENCE.sub("", read(document))))


def split_commands(line: str) -> Iterator[list[str]]:
    """Return the commands of a shell line as lists of words, without comments, redirections and variables."""
    lexer = shlex.shlex(re.sub(r"\$\w+", "1", line), posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    for is_operator, group in itertools.groupby(lexer, lambda word: word in OPERATORS):
        if not is_operator:
            yield list(itertools.takewhile(lambda word: word not in ("<", ">", ">>"), group))


# README


def test_the_readme_fits_150_lines() -> None:
    assert len(read("README.md").splitlines()) <= 150


def test_every_page_is_in_both_indices() -> None:
    for page in DOCS.glob("*.md"):
        if page.name != "README.md":
            assert f"](docs/{page.name})" in read("README.md")
            assert f"]({page.name})" in read("docs/README.md")
    first = re.search(r"^- \[(.*?)\]", read("docs/README.md"), re.MULTILINE)
    assert first is not None
    assert first[1] == "Python"


# Links


def find_anchors(path: Path) -> set[str]:
    """Return the anchors of a document's headings, by GitHub's rules."""
    anchors: set[str] = set()
    for heading in re.findall(r"^#+ (.+)$", FENCE.sub("", path.read_text(encoding="utf-8")), re.MULTILINE):
        text = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        numbered = (f"{text}-{number}" for number in itertools.count(1))
        anchors.add(next(name for name in itertools.chain([text], numbered) if name not in anchors))
    return anchors


@each_document
def test_every_link_resolves(document: str) -> None:
    path = ROOT / document
    text = re.sub(r"(?<!\[)`[^`\n]*`(?!\])", "", FENCE.sub("", read(document)))
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if link.startswith(("https://", "http://")):
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        assert target.exists(), f"{document}: there is no {link}"
        assert target.is_relative_to(ROOT), f"{document}: {link} is outside the project"
        assert not anchor or anchor in find_anchors(target), (
            f"{document}: {name or 'the page'} has no heading #{anchor}"
        )


# Commands


@each_document
def test_every_command_parses(document: str) -> None:
    for line, whole in find_code(document):
        for words in split_commands(line) if re.search(r"\bprobe\b|-m probing\b", line) else ():
            if words[1:3] == ["-m", "probing"]:
                words[:3] = ["probe"]
            if words and words[0] == "probe":
                parse(words[1:], f"{document}: {line.strip()}", whole=whole)


def parse(words: list[str], line: str, *, whole: bool = True) -> None:
    """Parse a command line without running it; one that is not whole may lack arguments, such as `probe plot`."""
    command, context = main, click.Context(main, info_name="probe", **main.context_settings)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        name, *words = words
        assert name in command.commands, f"{line}: there is no command {name}"
        command = command.commands[name]
        if isinstance(command, click.Group):
            context = click.Context(command, info_name=name, parent=context)
    if isinstance(command, click.Group):
        known = {option for param in command.params for option in param.opts} | {"--help", "-h"}
        assert set(words) <= known, f"{line}: unknown option"
        return
    words = [word for word in words if word not in ("--help", "-h")]
    try:
        command.make_context(command.name, words, parent=context)
    except (click.UsageError, probing.ProbingError) as error:
        if whole or not isinstance(error, click.MissingParameter | click.BadOptionUsage):
            pytest.fail(f"{line}: {error}")


WRONG = ("probe rum", "probe run --tusk Tense", "probe plot pie -o x.svg", "probe plot dots", "probe data x")


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_command_is_found(line: str) -> None:
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        parse(line.split()[1:], line)


def test_shell_lines_are_split() -> None:
    line = "probe data fetch && probe run --shard $ID/8 | cut -d, -f5 > x.txt; probe report  # a comment"
    commands = [
        ["probe", "data", "fetch"],
        ["probe", "run", "--shard", "1/8"],
        ["cut", "-d,", "-f5"],
        ["probe", "report"],
    ]
    assert list(split_commands(line)) == commands


@each_document
def test_every_target_and_module_exists(document: str) -> None:
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for line, _ in find_code(document):
        for words in split_commands(line) if re.match(r"make |(python3? )", line) else ():
            if words[0] == "make":
                assert set(words[1:]) <= set(targets), f"{document}: {line}"
            elif words[1:2] == ["-m"] and words[2].partition(".")[0] in ("benchmarks", "tests", "probing"):
                place = ROOT / words[2].replace(".", "/")
                assert place.with_suffix(".py").is_file() or (place / "__main__.py").is_file(), f"{document}: {line}"


# The option tables


def walk_commands(command: click.Command = main, name: str = "probe") -> Iterator[tuple[str, click.Command]]:
    yield name, command
    for child in command.commands.values() if isinstance(command, click.Group) else ():
        yield from walk_commands(child, f"{name} {child.name}")


def describe_options(name: str, command: click.Command) -> str:
    """Return a command's usage and its options as Markdown."""
    with click.Context(command, info_name=name) as context:
        pieces = " ".join(command.collect_usage_pieces(context))
        rows = [describe_option(param, context) for param in command.params if isinstance(param, click.Option)]
    table = ["| option | value | default | meaning |", "|---|---|---|---|", *rows, ""] if rows else []
    return "\n".join(["```text", f"{name} {pieces}", "```", "", *table, ""])


def describe_option(option: click.Option, context: click.Context) -> str:
    text = option.help or ""
    default = ""
    if match := DEFAULT.search(text):
        text, default = text[: match.start()], " ".join(filter(None, match.groups()))
    elif option.show_default:
        value = option.get_default(context)
        default = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    if option.multiple and "repeated" not in text:
        text += " Can be repeated."
    value = "" if option.is_flag else option.make_metavar(context)
    if isinstance(option.type, click.IntRange | click.FloatRange):
        value = f"{value.removesuffix(' RANGE')} ≥ {option.type.min}"
    if option.required:
        default = "(required)"
    names = ", ".join(f"`{name}`" for name in option.opts)
    return " | ".join([f"| {names}", *(cell.replace("|", "\\|") for cell in (value, default, text))]) + " |"


def test_the_option_tables_are_those_of_the_commands(request: pytest.FixtureRequest) -> None:
    commands = dict(walk_commands())

    def write(match: re.Match[str]) -> str:
        name = match[1]
        return f"<!-- options: {name} -->\n{describe_options(name, commands[name])}<!-- /options -->"

    text = COMMAND_LINE.read_text(encoding="utf-8")
    wanted = OPTIONS.sub(write, text)
    if request.config.getoption("--rewrite-goldens"):
        COMMAND_LINE.write_text(wanted, encoding="utf-8")
        text = wanted
    assert text == wanted, "docs/command-line.md is older than the commands: run this test with --rewrite-goldens"


def test_every_option_is_documented() -> None:
    text = COMMAND_LINE.read_text(encoding="utf-8")
    shown = {name for name, _ in OPTIONS.findall(text)}
    for name, command in walk_commands():
        assert f"`{name}`" in text or f"# {name}" in text, f"{name} is missing"
        options = [option for param in command.params if isinstance(param, click.Option) for option in param.opts]
        assert not options or name in shown, f"{name} has no option table"
        assert all(f"`{option}`" in text for option in options)


SETTINGS: dict[str, Mapping[str, Any]] = {"docs/command-line.md": PRESETS, "docs/translation.md": TRANSLATION_PRESETS}
"""Pages with a table of all settings, and the presets whose values stand in its columns."""


def list_settings(presets: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Return each setting with its values in the presets, as a table shows them."""
    first = next(iter(presets.values()))
    for section in fields(first):
        for setting in fields(getattr(first, section.name)):
            values = [getattr(getattr(preset, section.name), setting.name) for preset in presets.values()]
            yield f"{section.name}.{setting.name}", list(map(show_setting, values))


def show_setting(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value).lower()


@pytest.mark.parametrize("document", SETTINGS)
def test_every_setting_is_documented_with_its_presets(document: str, request: pytest.FixtureRequest) -> None:
    text, presets = read(document), SETTINGS[document]
    assert f"| setting | {' | '.join(f'`{name}`' for name in presets)} | meaning |" in text
    for name, cells in list_settings(presets):
        row = re.sub(r"\|\s+(?=\|)", "| ", f"| `{name}` | {' | '.join(cells)} | ")
        if request.config.getoption("--rewrite-goldens"):
            old = rf"^\| `{re.escape(name)}` (?:\|[^|\n]*){{{len(cells)}}}\| "
            text = re.sub(old, lambda _, row=row: row, text, flags=re.MULTILINE)
        assert row in text, f"expected a row that begins with {row!r}"
    if request.config.getoption("--rewrite-goldens"):
        (ROOT / document).write_text(text, encoding="utf-8")


PARAMETERS = re.compile(r"<!-- parameters -->\n(.*?)<!-- /parameters -->", re.DOTALL)
PAPERS_ROWS = {
    "Base": ("88.0M", "base", "base", ()),
    "EM, layer 1, or 6": ("90.1M", "base", "em", ("model.layers_with_aggregator=1",)),
    "EM, layers 1,2": ("92.2M", "base", "em", ("model.layers_with_aggregator=1,2",)),
    "EM, layers 1-3, or 4-6": ("94.3M", "base", "em", ("model.layers_with_aggregator=1,2,3",)),
    "EM, all layers": ("100.6M", "base", "em", ()),
    "EM, `enc-self` and `enc-dec`": ("+25.2M", "base", "em", ("model.apply=enc-self,enc-dec",)),
    "EM, all three attentions": ("+37.8M", "base", "em", ("model.apply=enc-self,enc-dec,dec-self",)),
    "Big": ("264M", "big", "base", ()),
    "Big, EM, layers 1,2": ("297M", "big", "em", ("model.layers_with_aggregator=1,2",)),
}
"""Rows of the paper's tables: what it prints, and preset, aggregator and settings of `probe translate describe`."""


def describe_parameters() -> str:
    """Return the paper's numbers of parameters beside those that `probe translate describe` prints, as Markdown."""
    totals: dict[str, int] = {}
    rows = ["| model | parameters | added | the paper prints |", "|---|---:|---:|---:|"]
    for name, (printed, preset, aggregator, settings) in PAPERS_ROWS.items():
        options = ["--preset", preset, "--aggregator", aggregator, "--vocabulary", "24004,30829", "--json"]
        options += [part for setting in settings for part in ("--set", setting)]
        outcome = CliRunner().invoke(main, ["translate", "describe", *options])
        totals[name] = json.loads(outcome.stdout)["total"]
        added = totals[name] - totals["Big" if preset == "big" else "Base"]
        rows.append(f"| {name} | {totals[name]:,} | {f'{added:,}' if added else ''} | {printed} |")
    return "\n".join([*rows, ""])


def test_the_papers_parameters_are_those_of_the_command(request: pytest.FixtureRequest) -> None:
    text = read("docs/translation.md")
    wanted = PARAMETERS.sub(f"<!-- parameters -->\n{describe_parameters()}<!-- /parameters -->", text)
    if request.config.getoption("--rewrite-goldens"):
        (DOCS / "translation.md").write_text(wanted, encoding="utf-8")
        text = wanted
    assert text == wanted, "docs/translation.md has other figures: run this test with --rewrite-goldens"


# Python

python_pages = pytest.mark.parametrize("document", [name for name in DOCUMENTS if name.startswith(("README", "docs/"))])


@python_pages
def test_every_python_example_parses_and_calls_what_there_is(document: str) -> None:
    for block in find_blocks(document, "python"):
        tree = ast.parse(block)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "probing":
                module = importlib.import_module(str(node.module))
                for alias in node.names:
                    if not hasattr(module, alias.name):
                        importlib.import_module(f"{node.module}.{alias.name}")
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                check_call(node, node.func)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "results":
                assert hasattr(probing.Results, node.attr), f"Results has no {node.attr}"


def check_call(call: ast.Call, function: ast.Attribute) -> None:
    """Bind a call of `probing.NAME`, `probing.Results.NAME` or `results.NAME` to the real signature."""
    if not re.fullmatch(r"[\w.]+", ast.unparse(function)):  # a method of what a call returned
        return
    path = ast.unparse(function).split(".")
    if path[0] == "probing":
        target: Any = probing
        for name in path[1:]:
            target = getattr(target, name)
        first: list[object] = []
    elif path[0] == "results" and len(path) == 2:
        target, first = getattr(probing.Results, path[1]), [None]
    else:
        return
    named = {str(keyword.arg): None for keyword in call.keywords}
    try:
        inspect.signature(target).bind(*first, *[None] * len(call.args), **named)
    except TypeError as error:
        pytest.fail(f"{ast.unparse(call)}: {error}")


@pytest.mark.parametrize("name", ["evaluate", "train"])
def test_every_parameter_is_documented(name: str) -> None:
    section = read("docs/python.md").partition(f"`probing.{name}(")[2].partition("\n## ")[0]
    parameters = inspect.signature(getattr(probing, name)).parameters.values()
    shown = re.findall(r"^\| `(\w+)` \| (.*?) ?\| ", section.partition("\n### ")[0], re.MULTILINE)
    wanted = [(one.name, "" if one.default is one.empty else f"`{one.default!r}`") for one in parameters]
    assert shown == wanted


def test_every_public_name_and_column_is_documented() -> None:
    text = read("docs/python.md")
    from probing.report.frame import COLUMNS

    public = [name for name in probing.__all__ if not name.startswith("_")]
    assert all(f"`probing.{name}`" in text for name in public)
    assert all(f"`{column}`" in text for column in COLUMNS)
