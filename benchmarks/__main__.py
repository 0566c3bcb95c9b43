"""Measure everything, print the tables, write the figures as JSON.

    python -m benchmarks                       all of it, about fifteen minutes on an idle machine
    python -m benchmarks --only routing --rounds 5 --clock cpu --threads 1

On a machine that is busy with other work, `--clock cpu --threads 1` counts the seconds that a step itself was running.
A part that is not measured keeps the figures that the file has. What got slower than the file's figures is marked.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from rich.console import Console

from benchmarks import corpus, embedding, epochs, growth, products, reporting, routing, running, translation
from benchmarks.comparing import list_slower, render_slower
from benchmarks.measuring import CLOCKS, name_machine
from probing.aggregators.implementation import describe

PARTS: dict[str, ModuleType] = {
    "routing": routing,
    "epochs": epochs,
    "products": products,
    "running": running,
    "growth": growth,
    "reporting": reporting,
    "corpus": corpus,
    "embedding": embedding,
    "translation": translation,
}
RESULTS = Path(__file__).with_name("results.json")


def main() -> None:
    parser = argparse.ArgumentParser(
        "python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", choices=PARTS, help="a part; all of them by default")
    parser.add_argument("--rounds", type=int, default=15, help="turns of each candidate (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), help="(default: %(default)s)")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="(default: %(default)s)")
    parser.add_argument("--output", type=Path, default=RESULTS, help="(default: benchmarks/results.json)")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    console = Console()
    figures: dict[str, Any] = json.loads(options.output.read_text("utf-8")) if options.output.is_file() else {}
    conditions = {
        "threads": options.threads,
        "clock": options.clock,
        "rounds": options.rounds,
        "implementation": re.sub(r"\S*/", "", describe("auto", "cpu").partition(" (")[0]),  # without paths
        "machine": name_machine(),
    }
    for name in options.only or PARTS:
        start = time.monotonic()
        measured = PARTS[name].measure(rounds=options.rounds, clock=CLOCKS[options.clock])
        console.print(PARTS[name].render(measured))
        console.print(f"{name}: measured in {time.monotonic() - start:.0f} s\n")
        now = {"conditions": conditions, "figures": measured}
        if name in figures:
            console.print(render_slower(name, list_slower(figures[name], now)))
        figures[name] = now
        options.output.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
