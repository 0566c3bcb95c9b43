"""What is printed to a terminal fits into it; what goes to a file or another program has all on one line."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from probing.commands import options
from probing.experiments import cleanup
from tests.commands.test_commands import FAST, GOOD
from tests.translations import COMPONENTS, save

Probe = Callable[..., tuple[int, str, str]]

RESULTS = Path(__file__).parents[2] / "results"
COMMANDS = {
    "report": ["report", "--results", RESULTS / "encoders"],
    "report --compare": ["report", "--results", RESULTS / "reference", "--compare", "base", "--against", "paper"],
    "compare": ["compare", "MiniLM layer 4", "Random bag of words", "--results", RESULTS / "encoders"],
    "translate report": ["translate", "report", "--results", "TRANSLATIONS", "--against", "paper", "--lowercase"],
    "tasks": ["tasks"],
    "encoders": ["encoders"],
    "aggregators": ["aggregators"],
    "describe": ["describe", "--aggregator", "em"],
    "translate describe": ["translate", "describe", "--aggregator", "em", "--vocabulary", "24004,30829"],
}

WORD = r"[\w.%]+"
HEADINGS = ["file", "called"]
"""Headings of columns whose content stands in another column of a narrow list."""


@pytest.fixture(scope="module")
def translations(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("translations"), COMPONENTS)


@pytest.mark.parametrize("width", [80, 120, 200])
@pytest.mark.parametrize("command", COMMANDS)
def test_no_line_is_wider_than_the_terminal(
    command: str, width: int, translations: Path, probe: Probe, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = [translations if part == "TRANSLATIONS" else part for part in COMMANDS[command]]
    code, whole, _ = probe(*parts)
    assert code == 0
    monkeypatch.setattr(options, "find_width", lambda: width)
    code, fitted, _ = probe(*parts)
    assert code == 0
    assert max(map(len, fitted.splitlines())) <= width
    assert set(re.findall(WORD, whole)) - set(HEADINGS) <= set(re.findall(WORD, fitted)), "nothing is left out"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_or_a_program_gets_whole_lines(command: str, translations: Path, probe: Probe) -> None:
    parts = [translations if part == "TRANSLATIONS" else part for part in COMMANDS[command]]
    _, whole, _ = probe(*parts)
    assert max(map(len, whole.splitlines())) > 80


@pytest.mark.parametrize("command", ["report --compare", "compare", "translate report"])
def test_a_caption_is_short_and_the_method_is_under_explain(
    command: str, translations: Path, probe: Probe, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = [translations if part == "TRANSLATIONS" else part for part in COMMANDS[command]]
    _, brief, _ = probe(*parts)
    _, explained, _ = probe(*parts, "--explain")
    methods = ["McNemar", "Wilson's", "randomisation or", "Koehn 2004", "sacrebleu: nrefs"]
    assert any(method in explained for method in methods)
    assert not any(method in brief for method in methods)
    monkeypatch.setattr(options, "find_width", lambda: 80)
    hint = "--explain tells how intervals and tests are computed."
    assert probe(*parts)[1].rstrip().endswith(hint)
    assert hint not in probe(*parts, "--explain")[1]


def test_a_run_ends_with_its_table_or_the_command_that_shows_it(
    probe: Probe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "task.tsv").write_text(GOOD, encoding="utf-8")
    command = ["run", "--task-file", "task.tsv", *FAST, "--aggregator", "base", "--results", "my results"]
    code, out, err = probe(*command)
    assert (code, out) == (0, "")
    assert err.endswith("The table: probe report --results 'my results'\n")
    assert probe(*command, "--quiet")[1:] == ("", "")
    monkeypatch.setattr(options, "find_width", lambda: 80)
    monkeypatch.setenv("LINES", "24")
    code, out, err = probe(*command)
    assert out.startswith("\nModel")
    assert "The table" not in err
    monkeypatch.setenv("LINES", "8")
    code, out, err = probe(*command)
    assert out == ""
    assert "The table: probe report" in err


@pytest.mark.parametrize("width", [80, 120, 200])
def test_a_folder_that_is_kept_has_a_single_row(width: int, probe: Probe, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"routing-{'0123456789abcdef' * 4}.so"
    kept = [("checkpoints", "files of a run on a cluster", 1234.5, name), ("kernels", "compiled library", 0.1, name)]
    monkeypatch.setattr(cleanup, "describe_leftovers", lambda results: kept)
    monkeypatch.setattr(options, "find_width", lambda: width)
    lines = probe("cache", "list")[1].splitlines()
    assert max(map(len, lines)) <= width
    (row,) = [line for line in lines if line.startswith("kernels")]
    assert row.split()[-2] == "0.1"
    assert row.split()[-1].startswith("routing-")
    assert row.endswith("cdef.so")
    assert (name in row) == (width > 80 + 40)
