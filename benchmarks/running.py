"""What `probe run` takes beyond its steps: start-up, reading a large file, and cells side by side.

Everything runs in processes of its own with caches of its own, through the same calls as the command. Modules are
compiled to bytecode before anything counts, as they are where the package is installed.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.measuring import CLASSES, median_ratio
from probing.results.record import read_record

LINES = 120_000
GOALS = {"read_seconds": 2.0, "start_seconds": 3.0, "beyond_torch_seconds": 1.0, "jobs_ratio": 1.0}
"""The most seconds to read and index a file of 120,000 lines; from the command to the first step; the same without the
import of torch; of two processes with a thread each, as a multiple of one with two."""

READ = "import sys; from pathlib import Path; from probing.tasks import load_task; load_task(Path(sys.argv[1]))"
RUN = "from probing.commands import main; main()"
START = """
import os, sys
from pathlib import Path
from probing.commands import main
from probing.display import Display
Display.update = lambda self, status: os._exit(0)  # the first status comes with the first step
options = "--aggregator em --preset small --jobs 1".split()
main(["run", "--task-file", sys.argv[1], "--results", sys.argv[2], *options])
"""


def measure(*, rounds: int, **_: Any) -> dict[str, Any]:
    """Return seconds of reading, of starting, and of the same two cells one after another and side by side."""
    with tempfile.TemporaryDirectory() as name, own_cache(Path(name)):
        folder = Path(name)
        large, little = folder / "large.txt", folder / "little.txt"
        write_task(large, LINES)
        write_task(little, 1536)
        _time(["-c", "import numpy, probing.tasks.index"])  # compiled to bytecode
        empty = [_time(["-c", "import numpy, probing.tasks.index"]) for _ in range(3)]
        cold = _time(["-c", READ, str(large)]) - statistics.median(empty)
        cached = _time(["-c", READ, str(large)]) - statistics.median(empty)
        starts, imports = _measure_starts(large, folder, max(3, rounds // 3))
        beyond = [start - torch for start, torch in zip(starts, imports, strict=True)]
        return {
            "read_seconds": cold,
            "cached_seconds": max(0.0, cached),
            "start_seconds": statistics.median(starts),
            "torch_seconds": statistics.median(imports),
            "beyond_torch_seconds": statistics.median(beyond),
            "jobs": _measure_jobs(little, folder, max(1, rounds // 7)),
        }


def _measure_starts(task: Path, folder: Path, rounds: int) -> tuple[list[float], list[float]]:
    """Return the seconds of each start up to the first step, and those of each import of torch alone, in turns."""
    starts, imports = [], []
    for turn in range(rounds + 1):
        starts.append(_time(["-c", START, str(task), str(folder / f"started-{turn}")]))
        imports.append(_time(["-c", "import torch"]))
    return starts[1:], imports[1:]  # the files of Python and torch are in memory after the first turn


def _measure_jobs(task: Path, folder: Path, rounds: int) -> dict[str, float]:
    apart: list[float] = []
    together: list[float] = []
    for turn in track(range(rounds), description="jobs", console=Console(stderr=True), transient=True):
        for jobs, seconds in ((1, apart), (2, together)):
            results = folder / f"results-{jobs}-{turn}"
            command = ["-c", RUN, "run", "--task-file", str(task), "--aggregator", "em", "--preset", "small"]
            options = ["--seeds", "2", "--set", "training.max_epochs=2", "--jobs", str(jobs), "--device", "cpu"]
            _time([*command, *options, "--results", str(results), "--quiet"])
            took = [read_record(path).timing.seconds for path in sorted(results.rglob("*.json"))]
            seconds.append(sum(took) if jobs == 1 else max(took))
    return {
        "one_process_seconds": statistics.median(apart),
        "two_processes_seconds": statistics.median(together),
        "ratio": median_ratio(together, apart),
    }


@contextmanager
def own_cache(folder: Path) -> Iterator[None]:
    """Let nothing that was cached before count, but the compiled kernels."""
    from probing.storage.cache import cache_folder

    kernels = cache_folder("kernels")
    names = ("XDG_CACHE_HOME", "PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE")
    before = {name: os.environ.pop(name) for name in names if name in os.environ}
    (folder / "probing").mkdir()
    if kernels.is_dir():
        (folder / "probing" / "kernels").symlink_to(kernels)
    os.environ["XDG_CACHE_HOME"] = str(folder)
    os.environ["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
    try:
        yield
    finally:
        for name in names:
            os.environ.pop(name, None)
        os.environ.update(before)


def write_task(path: Path, lines: int) -> None:
    """Write a task file of random words, as frequent as words are and in SentEval's proportions."""
    random = np.random.default_rng(0)
    lengths = np.clip(np.rint(5 + random.gamma(2.0, 3.6, lines)), 5, 28).astype(np.int64)
    frequencies = 1 / np.arange(1, 30_001)
    words = random.choice(len(frequencies), int(lengths.sum()), p=frequencies / frequencies.sum()).astype(str)
    splits = np.repeat(["tr", "va", "te"], [lines - 2 * (lines // 12), lines // 12, lines // 12])
    sentences = np.split(words, np.cumsum(lengths)[:-1])
    rows = (
        f"{split}\t{number % CLASSES}\t{' '.join(sentence)}\n"
        for number, (split, sentence) in enumerate(zip(splits, sentences, strict=True))
    )
    path.write_text("".join(rows), encoding="utf-8")


def _time(arguments: list[str]) -> float:
    start = time.perf_counter()
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments[:4])} … failed:\n{done.stderr}")
    return time.perf_counter() - start


def render(figures: dict[str, Any]) -> Table:
    """Return the figures as a table."""
    jobs = figures["jobs"]
    table = Table("what", "measured", "goal", title="A run as a whole")
    table.add_row(
        f"read and index {LINES:,} lines", f"{figures['read_seconds']:.2f} s", f"{GOALS['read_seconds']:.0f} s"
    )
    table.add_row("the same from the cache", f"{figures['cached_seconds']:.2f} s", "")
    table.add_row(
        "from `probe run` to the first step", f"{figures['start_seconds']:.2f} s", f"{GOALS['start_seconds']:.0f} s"
    )
    table.add_row(
        "the same, beyond the import of torch",
        f"{figures['beyond_torch_seconds']:.2f} s",
        f"{GOALS['beyond_torch_seconds']:.0f} s",
    )
    table.add_row("two cells of preset small, --jobs 1", f"{jobs['one_process_seconds']:.1f} s", "")
    table.add_row("the same, --jobs 2", f"{jobs['two_processes_seconds']:.1f} s ({jobs['ratio']:.2f}x)", "below 1x")
    return table
