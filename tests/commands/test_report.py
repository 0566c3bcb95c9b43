"""`probe report --format html` and `probe plot`, through the command."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from probing.commands import main
from probing.results.store import Store


@pytest.fixture
def results(tmp_path, make_record):
    folder = tmp_path / "results"
    Store(folder).save(make_record())
    return folder


@pytest.fixture
def probe(results):
    def run(*arguments):
        return CliRunner().invoke(main, [arguments[0], *map(str, arguments[1:]), "--results", str(results)])

    return run


def test_a_page_is_written(probe, tmp_path):
    done = probe("report", "--format", "html", "-o", tmp_path / "new" / "report.html")
    assert (done.exit_code, done.output) == (0, f"{tmp_path / 'new' / 'report.html'} is written\n")
    assert (tmp_path / "new" / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_page_can_be_piped_but_not_shown_on_a_terminal(probe, monkeypatch):
    assert probe("report", "--format", "html").output.startswith("<!doctype html>")
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda self: True, raising=False)
    done = probe("report", "--format", "html")
    assert (done.exit_code, done.output) == (
        2,
        "probe: --format html makes a page, not text for a terminal: add -o report.html\n",
    )


def test_a_report_that_cannot_be_written_is_named(probe, tmp_path):
    (tmp_path / "file").touch()
    done = probe("report", "-o", tmp_path / "file" / "report.txt")
    assert done.exit_code == 2
    assert done.output.startswith(f"probe: {tmp_path}/file/report.txt: cannot be written (")


def test_a_figure_is_written(probe, tmp_path):
    pytest.importorskip("matplotlib")
    done = probe("plot", "dots", "-o", tmp_path / "dots.pdf")
    assert (done.exit_code, done.output) == (0, f"{tmp_path / 'dots.pdf'} is written\n")
    assert (tmp_path / "dots.pdf").read_bytes().startswith(b"%PDF")


def test_a_mistake_is_one_line(probe, tmp_path):
    done = probe("plot", "dots", "-o", tmp_path / "dots.gif")
    assert (done.exit_code, done.output) == (
        2,
        f"probe: {tmp_path}/dots.gif: a figure's name must end in .svg, .png or .pdf. Got '.gif'\n",
    )


@pytest.mark.parametrize("stray", [chr(0xDCFF), chr(0xD800)], ids=["a byte", "half a character"])
@pytest.mark.parametrize(
    "arguments",
    [("report", "--format", name) for name in ("table", "markdown", "latex", "csv", "json", "html")]
    + [("compare", "em", "base", *json) for json in ((), ("--json",))],
    ids=" ".join,
)
def test_a_name_with_stray_bytes_is_printed_and_written(results, make_record, change, stray, arguments, tmp_path):
    """As of `--data` with a folder whose name is not Unicode; its record is read back with such characters."""
    for model in ("base", "em"):
        made = make_record("Tense", model, settings={"encoder": {"path": f"p{stray}"}})
        named = change(made, identity__model__label=f"{model}{stray}", identity__data__name=f"d{stray}")
        Store(results).save(named)
    command = [sys.executable, "-m", "probing", *arguments, "--results", str(results)]
    strict = {**os.environ, "PYTHONIOENCODING": "utf-8:strict"}
    done = subprocess.run(command, capture_output=True, env=strict, check=False)
    assert (done.returncode, done.stderr.decode()) == (0, "")
    text = done.stdout.decode()
    if "json" in arguments or "--json" in arguments:
        assert json.loads(text)
    if arguments[0] == "report":
        output = tmp_path / "report"
        assert subprocess.run([*command, "-o", str(output)], capture_output=True, check=False).returncode == 0
        assert output.read_text(encoding="utf-8")
