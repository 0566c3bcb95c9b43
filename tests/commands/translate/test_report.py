"""`probe translate report`, and the other commands on a folder that holds translations too."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import probing
from probing.errors import ProbingError
from probing.results import Record, Store
from tests.translations import BASE, COMPONENTS, LAYERS, make_translation, save

Probe = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("results"), [*COMPONENTS, *LAYERS[2:]])


@pytest.fixture
def mixed(tmp_path: Path, make_record: Callable[..., Record]) -> Path:
    """Return a folder of two accuracies and two translations."""
    for model in ("base", "em"):
        Store(tmp_path / "mixed").save(make_record(model=model))
    return save(tmp_path / "mixed", COMPONENTS[:2])


def test_all_tables_are_printed(probe: Probe, folder: Path) -> None:
    code, out, err = probe("translate", "report", "--results", folder)
    assert (code, err) == (0, "")
    assert [line for line in out.splitlines() if "BLEU by" in line or line.startswith("Architecture")]
    assert "+37.8M" in out
    assert "[1,2]" in out
    assert "paper's claims" not in out


def test_one_table_against_the_paper(probe: Probe, folder: Path) -> None:
    code, out, _ = probe("translate", "report", "--results", folder, "--table", "layers", "--against", "paper")
    assert code == 0
    assert out.startswith("Layers ")
    assert "28.26" in out
    assert "- EM routing beats Base in each of the three attentions: " in out


@pytest.mark.parametrize("format", ["table", "markdown", "latex", "csv", "json", "html"])
def test_every_format_is_printed_and_written(probe: Probe, folder: Path, tmp_path: Path, format: str) -> None:
    code, out, err = probe("translate", "report", "--results", folder, "--format", format)
    assert (code, err) == (0, "")
    path = tmp_path / "new" / "report"
    assert probe("translate", "report", "--results", folder, "--format", format, "-o", path) == (
        0,
        "",
        f"{path} is written\n",
    )
    assert path.read_text(encoding="utf-8") == out
    if format == "json":
        assert {row["pair"] for row in json.loads(out)} == {"en-de"}


def test_a_page_is_not_shown_on_a_terminal(probe: Probe, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda self: True, raising=False)
    code, out, err = probe("translate", "report", "--results", folder, "--format", "html")
    assert (code, out) == (2, "")
    assert err == "probe: --format html makes a page, not text for a terminal: add -o report.html\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--test", "newstest2013"],
            "unknown test set 'newstest2013'. Did you mean 'newstest2014'? Known: newstest2014",
        ),
        (["--results", "nowhere"], "nowhere: no translations there. Run `probe translate run` first"),
    ],
)
def test_mistakes_are_one_line(probe: Probe, folder: Path, options: list[str], message: str) -> None:
    assert probe("translate", "report", "--results", folder, *options) == (2, "", f"probe: {message}\n")


def test_a_table_without_rows(probe: Probe, tmp_path: Path) -> None:
    code, out, err = probe("translate", "report", "--results", save(tmp_path, COMPONENTS), "--table", "layers")
    assert (code, out) == (2, "")
    assert err == (
        "probe: there are no rows for the table 'layers': it needs an aggregator in some of the layers. "
        "Run `probe translate run --table layers`, or leave out --table\n"
    )


def test_a_test_set_is_chosen(probe: Probe, tmp_path: Path) -> None:
    save(tmp_path, [replace(run, tests=("flickr2016", "coco")) for run in COMPONENTS[:2]])
    assert "flickr2016, 200 sentences" in probe("translate", "report", "--results", tmp_path)[1]
    assert "coco, 200 sentences" in probe("translate", "report", "--results", tmp_path, "--test", "coco")[1]


def test_help_imports_nothing_heavy() -> None:
    code = "import sys; from probing.commands import main; print({'torch', 'sacrebleu', 'pandas'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_a_report_can_be_piped(folder: Path) -> None:
    command = (
        f"{sys.executable} -m probing translate report --results {folder} --format csv | head -n 1 | cut -d, -f1-3"
    )
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("data,data_sha256,pair\n", "")


def test_probing_reports_leave_translations_out(probe: Probe, mixed: Path, tmp_path: Path) -> None:
    line = f"{mixed}: 2 translations are left out here. See `probe translate report`\n"
    code, out, err = probe("report", "--results", mixed)
    assert (code, err) == (0, line)
    assert "en-de" not in out
    assert probe("compare", "em", "base", "--results", mixed)[::2] == (0, line)
    assert probe("plot", "dots", "--results", mixed, "-o", tmp_path / "dots.svg") == (
        0,
        "",
        f"{line}{tmp_path / 'dots.svg'} is written\n",
    )
    for format in ("csv", "json", "html"):
        code, out, _ = probe("report", "--results", mixed, "--format", format)
        assert code == 0
        assert "en-de" not in out


def test_one_translation_is_counted_as_one(probe: Probe, tmp_path: Path, make_record: Callable[..., Record]) -> None:
    Store(tmp_path).save(make_record())
    save(tmp_path, [BASE])
    assert "1 translation is left out here." in probe("report", "--results", tmp_path)[2]


@pytest.mark.parametrize("command", [["report"], ["compare", "em", "base"]])
def test_only_translations_are_the_other_commands_business(probe: Probe, folder: Path, command: list[str]) -> None:
    message = f"probe: {folder}: only translations there (12). Use `probe translate report`\n"
    assert probe(*command, "--results", folder) == (2, "", message)


def test_python_leaves_translations_out_too(mixed: Path, folder: Path) -> None:
    with pytest.warns(UserWarning, match="2 translations are left out here"):
        frame = probing.load_results(mixed)
    assert set(frame["task"]) == {"Tense"}
    with pytest.raises(ProbingError, match="Use `probe translate report`"):
        probing.load_results(folder)


def test_a_folder_is_merged_verified_and_reported(probe: Probe, mixed: Path, tmp_path: Path) -> None:
    other = save(tmp_path / "other", COMPONENTS[1:3])
    joined = tmp_path / "joined"
    assert probe("merge", mixed, other, "--output", joined)[:2] == (
        0,
        f"{joined}: 5 records written, 0 were there already\n",
    )
    assert len(list(joined.glob("*.translator"))) == 3
    code, out, err = probe("translate", "report", "--results", joined, "--format", "html")
    assert (code, err) == (0, "")
    assert "are not beside its records" not in out
    assert make_translation(COMPONENTS[2]).path(joined).is_file()
