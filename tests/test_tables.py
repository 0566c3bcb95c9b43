"""The tables that the documents show are those that the records beside them give.

`make tables` writes them anew.
"""

from __future__ import annotations

import csv
import itertools
import math
import re
from pathlib import Path
from typing import Any

import pytest

from probing.report.blocks import CLAIMS_HEADING, escape_markdown
from probing.report.formats import load_and_render
from probing.report.grouping import load_records
from probing.report.table import make_tables

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
RESULTS = ROOT / "results"


def render(folder: str, format: str = "markdown", **options: Any) -> str:
    return load_and_render(RESULTS / folder, format, on_damaged=pytest.fail, **options)


@pytest.mark.parametrize(
    ("file", "folder", "options"),
    [
        ("table.md", "reference", {}),
        ("encoders.md", "encoders", {}),
        ("midi.md", "midi", {}),
        ("books/table.md", "books", {"reference": "base"}),
        ("books/table.tex", "books", {"reference": "base", "format": "latex"}),
        ("books/table.csv", "books", {"reference": "base", "format": "csv"}),
        ("books/paper/table.md", "books/paper", {"reference": "base"}),
        ("books/paper/table.tex", "books/paper", {"reference": "base", "format": "latex"}),
        ("books/paper/table.csv", "books/paper", {"reference": "base", "format": "csv"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_table_is_that_of_its_records(
    request: pytest.FixtureRequest, file: str, folder: str, options: dict[str, Any]
) -> None:
    path, text = RESULTS / file, render(folder, **options)
    if request.config.getoption("--rewrite-goldens"):
        path.write_text(text + "\n", encoding="utf-8")
    shown = path.read_text(encoding="utf-8")
    if path.suffix == ".csv":
        assert list_differences(shown, text + "\n") == []
    else:
        assert shown == text + "\n"


def list_differences(shown: str, text: str) -> list[tuple[str, str]]:
    """Return the cells in which two CSV texts differ."""
    rows = zip(*(csv.reader(lines.split("\n")) for lines in (shown, text)), strict=True)
    cells = itertools.chain.from_iterable(zip(*pair, strict=True) for pair in rows)
    return [pair for pair in cells if not are_alike(*pair)]


def are_alike(one: str, other: str) -> bool:
    """Compare two cells: texts exactly, but decimals, of which processors differ in the ninth digit, nearly."""
    if all(re.fullmatch(r"-?\d+\.\d+(e[+-]?\d+)?", cell) for cell in (one, other)):
        return math.isclose(float(one), float(other), rel_tol=1e-6)
    return one == other


def test_the_readme_shows_the_means(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    example = r"```python\n(.*?load_results.*?)```\n\n(.*?\n)\n"
    before, code, shown, after = re.split(example, read("README.md"), maxsplit=1, flags=re.DOTALL)
    monkeypatch.chdir(ROOT)
    exec(compile(code, "README.md", "exec"), {})
    table = capsys.readouterr().out
    if request.config.getoption("--rewrite-goldens"):
        README.write_text(f"{before}```python\n{code}```\n\n{table}\n{after}", encoding="utf-8")
        shown = table
    assert shown == table


@pytest.mark.parametrize(
    ("document", "folder", "options"),
    [
        ("docs/encoders.md", "encoders", {}),
        ("docs/books.md", "books", {"against_paper": True}),
        ("docs/books.md", "books/paper", {"against_paper": True}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_document_shows_it(
    request: pytest.FixtureRequest, document: str, folder: str, options: dict[str, Any]
) -> None:
    table = render(folder, **options).partition(f"\n\n{CLAIMS_HEADING}")[0]
    text = read(document)
    if request.config.getoption("--rewrite-goldens"):
        text = replace_table(text, folder, table)
        (ROOT / document).write_text(text, encoding="utf-8")
    assert table in text


def read(document: str) -> str:
    return (ROOT / document).read_text(encoding="utf-8")


def replace_table(text: str, folder: str, table: str) -> str:
    """Return a document with a table, its caption and notes in the place of the one after its command."""
    lines = text.split("\n")
    command = next(n for n, line in enumerate(lines) if f"probe report --results results/{folder} " in line)
    first = next(n for n in range(command, len(lines)) if lines[n].startswith("| Model"))
    after = next(n for n in range(first, len(lines)) if lines[n] and not lines[n].startswith(("|", "Test ", "Note: ")))
    return "\n".join([*lines[:first], *table.split("\n"), "", *lines[after:]])


@pytest.mark.parametrize(("folder", "preset"), [("books", "small"), ("books/paper", "paper")])
def test_the_claims_are_judged_by_the_records(request: pytest.FixtureRequest, folder: str, preset: str) -> None:
    path, heading = RESULTS / "books" / "README.md", f"| the paper's claim | here, preset `{preset}` | numbers: "
    (table,) = make_tables(load_records(RESULTS / folder, pytest.fail), against_paper=True, reference=None)
    rows = []
    for claim in table.claims:
        answer = claim.answer.replace("cannot be decided", "undecided")
        rows.append("| " + " | ".join(map(escape_markdown, (claim.text, answer, claim.numbers))) + " |")
    lines = path.read_text(encoding="utf-8").split("\n")
    first = 2 + next(number for number, line in enumerate(lines) if line.startswith(heading))
    shown = list(itertools.takewhile(lambda line: line.startswith("|"), lines[first:]))
    if request.config.getoption("--rewrite-goldens"):
        lines[first : first + len(shown)] = shown = rows
        path.write_text("\n".join(lines), encoding="utf-8")
    assert shown == rows
