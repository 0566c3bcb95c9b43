"""This version beside another one: training steps of both take turns, in two processes that wait for each other.

    python -m benchmarks.versions FOLDER       where FOLDER is a checkout of the other version

Batches are drawn at random, as in a training: no two have the same number of tokens.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.measuring import median_ratio

HERE = Path(__file__).parent.parent
CASES = {
    "small base, float32": ("small", "base", "float32", 40),
    "small simple, float32": ("small", "simple", "float32", 25),
    "small em, float32": ("small", "em", "float32", 25),
    "small em, bfloat16": ("small", "em", "bfloat16", 25),
    "paper base, float32": ("paper", "base", "float32", 6),
    "paper base, bfloat16": ("paper", "base", "bfloat16", 6),
    "paper em, float32": ("paper", "em", "float32", 4),
    "paper em, bfloat16": ("paper", "em", "bfloat16", 4),
    "translation, tiny, em in all attentions, float32": ("tiny", "em", "float32", 2),
    "translation, tiny, em in all attentions, bfloat16": ("tiny", "em", "bfloat16", 2),
}
"""Preset, aggregator, precision, and how many steps make a turn."""

STEPS = """
import sys, time
import numpy as np, torch
preset, aggregator, precision, count = sys.argv[1], sys.argv[2], getattr(torch, sys.argv[3]), int(sys.argv[4])
from probing.registry import AGGREGATORS
from probing.training.state import State
cpu, random, factory = torch.device("cpu"), np.random.default_rng(0), AGGREGATORS.find(aggregator).object
torch.manual_seed(0)
if preset == "tiny":
    from typing import Any, cast
    from benchmarks.translation import SIZES
    from benchmarks.translators import build_translator, draw_pairs
    from probing.translation.objective import DevText, TranslationObjective
    from probing.translation.settings import ATTENTIONS, SearchConfig, TranslationTrainingConfig
    size = SIZES[preset]
    training = TranslationTrainingConfig(batch_tokens=size.batch_tokens)
    split = draw_pairs(8 * size.pairs, size.vocabulary)
    model = build_translator(size, ATTENTIONS)
    dev = DevText(split, [], cast(Any, None))
    objective = TranslationObjective(model, split, dev, training, SearchConfig(), device=cpu)
else:
    import dataclasses
    from benchmarks import measuring
    from probing.config import PRESETS
    from probing.model.classifier import build_classifier
    from probing.training.objectives import Classification
    config, measuring.VOCABULARY = PRESETS[preset], 10_000
    training, split = config.training, measuring.draw_sentences(4000)
    sizes = dataclasses.asdict(config.model) | dataclasses.asdict(config.routing)
    model = build_classifier(factory, vocabulary_size=measuring.VOCABULARY, num_classes=6, **sizes)
    objective = Classification(model, split, split, cpu, 64)
state = State.begin(model.train(), training, cpu, seed=0)
def draw():
    while True:
        yield from objective.batches(random.permutation(len(split)))
batches = draw()
def run(count):
    start = time.perf_counter()
    for _ in range(count):
        state.step(objective, next(batches), precision)
    return (time.perf_counter() - start) / count
run(2)
print("ready", flush=True)
for line in sys.stdin:
    print(run(count), flush=True)
"""


class Version:
    """A version's process, which runs its steps when it is asked."""

    def __init__(self, folder: Path, case: tuple[str, str, str, int], stack: ExitStack) -> None:
        command = [sys.executable, "-c", STEPS, *map(str, case)]
        self.process = stack.enter_context(
            subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        )
        self.answer()

    def answer(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.process.args!r} ended")
        return line

    def run(self) -> float:
        stdin: IO[str] | None = self.process.stdin
        assert stdin is not None
        stdin.write("go\n")
        stdin.flush()
        return float(self.answer())


def compare(folder: Path, names: list[str], rounds: int) -> dict[str, dict[str, float]]:
    """Return, case by case, the milliseconds of a step in both versions, and how many times as fast this one is."""
    figures = {}
    for name in names:
        with ExitStack() as stack:
            other, this = (Version(place, CASES[name], stack) for place in (folder, HERE))
            seconds: dict[str, list[float]] = {"other": [], "this": []}
            for _ in track(range(rounds), description=name, console=Console(stderr=True), transient=True):
                seconds["other"].append(other.run())
                seconds["this"].append(this.run())
            for version in (other, this):
                version.process.terminate()
        figures[name] = {
            "other_milliseconds": 1000 * statistics.median(seconds["other"]),
            "milliseconds": 1000 * statistics.median(seconds["this"]),
            "times_as_fast": median_ratio(seconds["other"], seconds["this"]),
        }
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(
        "python -m benchmarks.versions", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="a checkout of the other version")
    parser.add_argument("--only", action="append", choices=CASES, help="a case; all of them by default")
    parser.add_argument("--rounds", type=int, default=9, help="turns of each version (default: %(default)s)")
    options = parser.parse_args()
    if not (options.folder / "probing").is_dir():
        parser.error(f"{options.folder} is not a checkout of probing. Name a folder that has probing/ in it")
    if options.rounds < 1:
        parser.error(f"--rounds must be 1 or more. Got {options.rounds}")
    table = Table("training step", "other, ms", "this, ms", "times as fast")
    for name, row in compare(options.folder.resolve(), options.only or list(CASES), options.rounds).items():
        other, this, ratio = row.values()
        table.add_row(name, f"{other:.1f}", f"{this:.1f}", f"{ratio:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
