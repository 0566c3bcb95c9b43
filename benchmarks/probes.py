"""How much faster a grid is trained together than one configuration at a time, with SentEval's protocol.

The vectors are synthetic: 300-dimensional, a class's centre plus noise, for the ten tasks' numbers of classes. The
plain loop is what SentEval does: a torch.nn.Module, torch.optim.Adam, batches of 64, each configuration alone. Both
ways stop after --max-epochs (an epoch is four passes), so that the measurement ends; with 51 it is SentEval's.

    python -m benchmarks.probes                                           all ten tasks, under ten minutes on two cores
    python -m benchmarks.probes --train 5000 --held-out 1000 --seeds 5    smaller, with accuracies over five seeds
    python -m benchmarks.probes --task WC --task Tense --threads 1 --clock cpu
    python -m benchmarks.probes --max-epochs 51                           until every configuration stops: hours
"""

from __future__ import annotations

import argparse
import copy
import dataclasses
import json
import re
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from benchmarks.measuring import CLOCKS, name_machine
from probing import probes
from probing.probes import kernel
from probing.probes.definitions import PROBES
from probing.tasks.table import TASKS

CPU = torch.device("cpu")
DIM = 300
RESULTS = Path(__file__).with_name("probes.json")

Splits = Mapping[str, probes.Vectors]


def make_splits(classes: int, train: int, held_out: int, seed: int) -> dict[str, probes.Vectors]:
    """Return vectors whose classes overlap, so that there is something to choose and to stop at."""
    generator = torch.Generator().manual_seed(10_000 + seed)  # not the numbers that the weights are drawn from
    centres = torch.randn(classes, DIM, generator=generator) * (0.1 if classes < 100 else 0.35)
    splits = {}
    for name, size in (("tr", train), ("va", held_out), ("te", held_out)):
        labels = torch.randint(classes, (size,), generator=generator)
        vectors = torch.randn(size, DIM, generator=generator)
        for rows in torch.arange(size).split(10_000):
            vectors[rows] += centres[labels[rows]]
        splits[name] = probes.Vectors(vectors, labels)
    return splits


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """What one way came to on one task with one seed."""

    seconds: float
    retraining_seconds: float
    """Of the best configuration, which SentEval trains once more for the test score; not in `seconds`."""
    dev: float
    test: float
    peak_mb: float | None


def train_together(probe: probes.Probe, splits: Splits, classes: int, seed: int, clock: Callable[[], float]) -> Run:
    """Train the grid as `probe run` does."""
    before = _reset_peak_memory()
    start = clock()
    fitted = probes.fit(probe, splits["tr"], splits["va"], num_classes=classes, seed=seed, device=CPU)
    right = fitted.predict(splits["te"].vectors) == splits["te"].labels.numpy()
    seconds = clock() - start
    peak = None if before is None else _read_memory("VmHWM") - before
    return Run(seconds, 0.0, fitted.chosen.best.score, 100 * float(right.mean()), peak)


def train_plainly(probe: probes.Probe, splits: Splits, classes: int, seed: int, clock: Callable[[], float]) -> Run:
    """Train each configuration alone."""
    start = clock()
    fits = [_fit_plainly(probe, item.weight_decay, splits, classes, seed) for item in probe.configurations]
    best = int(np.argmax([accuracy for accuracy, _ in fits]))
    test = _score(fits[best][1], splits["te"])
    seconds = clock() - start
    start = clock()
    _fit_plainly(probe, probe.configurations[best].weight_decay, splits, classes, seed)
    return Run(seconds, clock() - start, fits[best][0], test, None)


def _fit_plainly(
    probe: probes.Probe, weight_decay: float, splits: Splits, classes: int, seed: int
) -> tuple[float, nn.Module]:
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(DIM, classes))
    optimizer = torch.optim.Adam(model.parameters(), weight_decay=weight_decay)
    train, best, best_model, misses = splits["tr"], -1.0, model, 0
    for _ in range(probe.max_epochs):
        model.train()
        for _ in range(probe.passes):
            for indices in torch.randperm(len(train)).split(probe.batch_size):
                loss = nn.functional.cross_entropy(model(train.vectors[indices]), train.labels[indices])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        accuracy = _score(model, splits["va"])
        if accuracy > best:
            best, best_model = accuracy, copy.deepcopy(model)
        elif misses >= probe.patience:
            break
        else:
            misses += 1
    return best, best_model


@torch.no_grad()
def _score(model: nn.Module, split: probes.Vectors) -> float:
    model.eval()
    right = 0
    for inputs, labels in zip(split.vectors.split(64), split.labels.split(64), strict=True):
        right += int((model(inputs).argmax(1) == labels).sum())
    return 100.0 * right / len(split)


def time_products(configurations: int, classes: int, clock: Callable[[], float]) -> float:
    """Return the seconds of a step's bare matrix products in torch, all configurations in one: forwards and back."""
    inputs, weights = torch.randn(64, DIM), torch.randn(configurations * classes, DIM)
    scores, gradients = torch.empty(64, len(weights)), torch.empty_like(weights)
    rounds = max(5, 20_000 // len(weights))
    seconds = []
    for _ in range(7):
        start = clock()
        for _ in range(rounds):
            torch.mm(inputs, weights.t(), out=scores)
            torch.mm(scores.t(), inputs, out=gradients)
        seconds.append((clock() - start) / rounds)
    return min(seconds)


def _reset_peak_memory() -> float | None:
    """Return the memory that is used now, in MB, and let the peak start from there; None where that cannot be done."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return None
    return _read_memory("VmRSS")


def _read_memory(name: str) -> float:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:")) / 1024


def measure(task: str, classes: int, options: argparse.Namespace) -> dict[str, Any]:
    """Return seconds and accuracies of both ways on one task; they take turns at being first."""
    probe = dataclasses.replace(probes.get_probe("senteval", task=task), max_epochs=options.max_epochs)
    clock = CLOCKS[options.clock]
    runs: dict[str, list[Run]] = {"together": [], "plainly": []}
    ways = {"together": train_together, "plainly": train_plainly}
    for seed in range(options.seeds):
        splits = make_splits(classes, options.train, options.held_out, seed)
        for name in list(ways)[:: -1 if seed % 2 else 1]:
            runs[name].append(ways[name](probe, splits, classes, seed, clock))
    ours, plain = runs["together"], runs["plainly"]
    steps = probe.max_epochs * probe.passes * -(-options.train // probe.batch_size)
    peaks = [run.peak_mb for run in ours if run.peak_mb is not None]
    return {
        "task": task,
        "classes": classes,
        "seconds": round(statistics.median(run.seconds for run in ours), 3),
        "plain_seconds": round(statistics.median(run.seconds for run in plain), 2),
        "speed_up": round(statistics.median(b.seconds / a.seconds for a, b in zip(ours, plain, strict=True)), 1),
        "retraining_seconds": round(statistics.median(run.retraining_seconds for run in plain), 2),
        "products_seconds": round(steps * time_products(len(probe.configurations), classes, clock), 3),
        "dev": round(statistics.mean(run.dev for run in ours), 2),
        "plain_dev": round(statistics.mean(run.dev for run in plain), 2),
        "test": round(statistics.mean(run.test for run in ours), 2),
        "plain_test": round(statistics.mean(run.test for run in plain), 2),
        "peak_mb": round(max(peaks)) if peaks else None,
    }


def summarise(rows: list[dict[str, Any]], options: argparse.Namespace) -> dict[str, Any]:
    """Return the figures of all tasks together, and what they were measured with."""
    total, plain, again, products = (
        sum(row[name] for row in rows)
        for name in ("seconds", "plain_seconds", "retraining_seconds", "products_seconds")
    )
    return {
        "train": options.train,
        "held_out": options.held_out,
        "seeds": options.seeds,
        "max_epochs": options.max_epochs,
        "threads": torch.get_num_threads(),
        "clock": options.clock,
        "implementation": re.sub(r"\S*/", "", kernel.load().note.partition(" (")[0]),
        "machine": name_machine(),
        "seconds": round(total, 1),
        "plain_seconds": round(plain, 1),
        "speed_up": round(plain / total, 1),
        "speed_up_with_retraining": round((plain + again) / total, 1),
        "products_seconds": round(products, 1),
        "largest_difference": round(
            max(abs(row[name] - row[f"plain_{name}"]) for row in rows for name in ("dev", "test")), 2
        ),
        "peak_mb": max((row["peak_mb"] for row in rows if row["peak_mb"] is not None), default=None),
        "vectors_mb": round((options.train + 2 * options.held_out) * DIM * 4 / 2**20),
    }


LEGEND = """\
seconds: the grid trained together; plain_seconds: one configuration at a time; retraining_seconds: what SentEval adds
to that for the best one; products_seconds: only the matrix products of the same steps, by torch: no way that calls it
can be faster; dev, test: accuracies; peak_mb: memory beyond what was used before, vectors included there."""


def main() -> None:
    parser = argparse.ArgumentParser(
        "python -m benchmarks.probes", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--train", type=int, default=100_000, help="training sentences (default: %(default)s)")
    parser.add_argument("--held-out", type=int, default=10_000, help="of dev and of test (default: %(default)s)")
    parser.add_argument("--seeds", type=int, default=1, help="(default: %(default)s)")
    parser.add_argument("--max-epochs", type=int, default=2, help="of both ways (default: %(default)s)")
    parser.add_argument("--task", action="append", help="only this one; can be repeated")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), help="(default: %(default)s)")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="(default: %(default)s)")
    parser.add_argument("--output", type=Path, default=RESULTS, help="(default: benchmarks/probes.json)")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    for way in (train_together, train_plainly):  # what is loaded at the first call is not part of either way
        way(dataclasses.replace(PROBES["senteval"], max_epochs=1), make_splits(2, 256, 64, 0), 2, 0, time.time)
    print(LEGEND, f"\nBoth ways stop after {options.max_epochs} epochs of four passes at the latest.\n")
    rows = []
    for task in TASKS:
        if not options.task or task.name in options.task:
            rows.append(measure(task.name, task.classes, options))
            print("  ".join(f"{name} {value}" for name, value in rows[-1].items()), flush=True)
    summary = summarise(rows, options)
    print("\n" + "  ".join(f"{name} {value}" for name, value in summary.items() if name != "machine"))
    options.output.write_text(json.dumps({**summary, "tasks": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
