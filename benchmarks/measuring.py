"""Measuring side by side: the candidates take turns, and a ratio compares two runs of one round.

Load on the machine that lasts longer than a round changes both alike, and the median drops what is shorter.
"""

from __future__ import annotations

import platform
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.progress import track

from probing.tasks.batches import PackedSplit

CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}
VOCABULARY, CLASSES = 1000, 6


def take_turns(
    candidates: Mapping[str, Callable[[], object]],
    *,
    rounds: int,
    clock: Callable[[], float],
    title: str,
    pause: float = 0.0,
) -> dict[str, list[float]]:
    """Return the seconds of each candidate in each round, after one run that is not counted.

    Before each turn there may be a pause, for threads of other libraries, which go on for a while after their work.
    """
    for candidate in candidates.values():
        candidate()
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for turn in track(range(rounds), description=title, console=Console(stderr=True), transient=True):
        for name in list(candidates)[:: 1 if turn % 2 else -1]:
            time.sleep(pause)
            start = clock()
            candidates[name]()
            seconds[name].append(clock() - start)
    return seconds


def median_ratio(numerators: list[float], denominators: list[float]) -> float:
    """Return the median over the rounds of a / b."""
    return statistics.median(a / b for a, b in zip(numerators, denominators, strict=True))


def draw_sentences(count: int, *, seed: int = 0) -> PackedSplit:
    """Return random words in sentences as long as SentEval's: 5 to 28 tokens, 12 on average."""
    random = np.random.default_rng(seed)
    lengths = np.clip(np.rint(5 + random.gamma(2.0, 3.6, count)), 5, 28).astype(np.int64)
    return make_split(lengths, seed=seed)


def make_split(lengths: np.ndarray, *, seed: int = 0) -> PackedSplit:
    """Return random words and labels in sentences of these lengths."""
    random = np.random.default_rng(seed + 1)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    return PackedSplit(
        random.integers(1, VOCABULARY, offsets[-1]), offsets, random.integers(0, CLASSES, len(lengths), dtype=np.int64)
    )


def name_machine() -> dict[str, object]:
    """Return what the figures depend on besides the code."""
    names: list[str] = []
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    except OSError:
        pass
    return {
        "processor": names[0] if names else platform.processor() or platform.machine(),
        "cores": len(names) or torch.get_num_threads(),
        "system": platform.system(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
    }
