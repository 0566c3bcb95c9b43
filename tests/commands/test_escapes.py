"""No name, label or token can send an escape sequence to the terminal or break a line, in any command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from probing.display import Display, Status

Probe = Callable[..., tuple[int, str, str]]
HOSTILE = "x\x1b[2J\x9b31m\u202ey"
NAME = f"=a{HOSTILE}\nb"
SMALL = ["--preset", "mini", "--device", "cpu", "--set", "training.max_epochs=1", "--jobs", "1"]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which every name, label and token holds control characters."""
    folder = tmp_path_factory.mktemp("hostile") / NAME
    folder.mkdir()
    instances = [
        f"{split}\tL{label}{HOSTILE}\t{label}{HOSTILE} word{HOSTILE} {number}"
        for split in ("tr", "va", "te")
        for label in ("A", "B")
        for number in range(8)
    ]
    for name in (f"{NAME}.tsv", "past_present.txt"):
        (folder / name).write_text("\n".join(instances) + "\n", encoding="utf-8")
    (folder / f"{NAME}.py").write_text(
        "from probing.aggregators.linear import LinearAggregator\nclass Mine(LinearAggregator):\n    pass\n"
    )
    tree = f"(S (NP (DT the{HOSTILE}) (NN dog)) (VP (VBD slept)) (. .))\n"
    (folder / f"{NAME}.mrg").write_text(tree * 40, encoding="utf-8")
    return folder


def make_commands(folder: Path) -> list[list[object]]:
    task, results = folder / f"{NAME}.tsv", folder / f"results{NAME}"
    run = ["run", "--task-file", task, "--results", results, *SMALL]
    mine = folder / f"{NAME}.py"
    return [
        [*run, "--aggregator", "base", "--aggregator", f"{mine}:Mine", "-v"],
        [*run, "--aggregator", "base", "--plan"],
        [*run, "--aggregator", "base", "--plan", "--json"],
        [*run, "--encoder", "length", "--probe", "linear"],
        *(["report", "--results", results, "--format", name] for name in ("table", "markdown", "latex", "csv", "json")),
        ["compare", "Base", "Mine", "--results", results],
        ["compare", "Base", "Mine", "--results", results, "--json"],
        ["verify", results],
        ["merge", results, "-o", folder / f"merged{NAME}"],
        ["cache", "list", "--results", results],
        ["explain", "--task-file", task, "--aggregator", "base", "--results", results, *SMALL[:-2], "--count", "1"],
        ["explain", "--task-file", task, "--aggregator", "base", "--results", results, *SMALL[:-2], "--json"],
        ["data", "check", task],
        ["data", "check", task, "--json"],
        ["data", "build", "--trees", folder / f"{NAME}.mrg", "-o", folder / f"built{NAME}", "--train", "4"],
        ["data", "fetch", "--offline", "--data-dir", folder, "--task", "Tense"],
        ["report", "--results", folder / f"none{HOSTILE}"],
    ]


def test_every_command_prints_escapes(hostile: Path, probe: Probe) -> None:
    shown = ""
    for command in make_commands(hostile):
        _, out, err = probe(*command)
        for text in (out, err):
            raw = {character for character in text if not character.isprintable() and character != "\n"}
            assert not raw, (command[:3], raw, text)
            assert "\nb.tsv" not in text, "a line break of a name"
            assert "\nb: " not in text, "a line break of a name"
        assert out or err, command
        if "--json" in command or "json" in command:
            json.loads(out)
        shown += out + err
    assert "\\x1b[2J\\x9b31m\\u202ey" in shown
    sheet = next(hostile.glob("built*/datasheet.md")).read_text(encoding="utf-8")
    assert all(character.isprintable() or character == "\n" for character in sheet)


def test_a_progress_bar_shows_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    from io import StringIO

    from rich.console import Console

    shown = StringIO()
    display = Display(console=Console(file=shown, force_terminal=True, width=200, highlight=False, soft_wrap=True))
    with display.running([(f"cell{HOSTILE}", 1.0)]):
        display.update(Status(work=f"cell{HOSTILE}", fraction=0.5, text=f"[red]{HOSTILE}"))
        assert display._progress is not None
        display._progress.refresh()
    with display.counting(f"count{HOSTILE}", 3) as tell:
        tell(1)
    for told in ("cellx\\x1b[2J", "[red]x\\x1b[2J", "countx\\x1b[2J"):
        assert told in shown.getvalue()
    assert "\x1b[2J" not in shown.getvalue()
    assert "\x9b" not in shown.getvalue()
