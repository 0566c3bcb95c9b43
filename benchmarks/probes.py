"""How much faster a grid is trained together than one configuration at a time, with SentEval's protocol.

The vectors are synthetic: 300-dimensional, a class's centre plus noise, for the ten tasks' numbers of classes. The
plain loop is what SentEval does: a torch.nn.Module, torch.optim.Adam, batches of 64, each configuration alone, and the
best one trained once more for the test score.

    python benchmarks/probes.py                               # all ten tasks at 100,000/10,000/10,000: hours
    python benchmarks/probes.py --train 5000 --held-out 1000  # the same in minutes
    python benchmarks/probes.py --json > probes.json
"""

from __future__ import annotations

import argparse
import copy
import json
import resource
import time

import numpy as np
import torch
from torch import nn

from probing import probes
from probing.tasks import TASKS

CPU = torch.device("cpu")
DIM = 300


def make_splits(classes: int, train: int, held_out: int, seed: int) -> dict[str, probes.Vectors]:
    """Return vectors whose classes overlap, so that there is something to choose and to stop at."""
    generator = torch.Generator().manual_seed(seed)
    centres = torch.randn(classes, DIM, generator=generator) * (0.1 if classes < 100 else 0.35)
    splits = {}
    for name, size in (("tr", train), ("va", held_out), ("te", held_out)):
        labels = torch.randint(classes, (size,), generator=generator)
        splits[name] = probes.Vectors(centres[labels] + torch.randn(size, DIM, generator=generator), labels)
    return splits


def train_plainly(
    probe: probes.Probe, splits: dict[str, probes.Vectors], classes: int, seed: int
) -> tuple[float, float]:
    """Train each configuration alone, the best one twice, as SentEval does; return dev and test accuracy."""
    fits = [_fit_plainly(probe, decay.weight_decay, splits, classes, seed) for decay in probe.configurations]
    best = int(np.argmax([accuracy for accuracy, _ in fits]))
    accuracy, model = _fit_plainly(probe, probe.configurations[best].weight_decay, splits, classes, seed)
    return accuracy, _score(model, splits["te"])


def _fit_plainly(
    probe: probes.Probe, weight_decay: float, splits: dict[str, probes.Vectors], classes: int, seed: int
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


def measure(task: str, classes: int, train: int, held_out: int, seeds: int) -> dict[str, object]:
    """Return seconds and accuracies of both ways on one task."""
    probe = probes.get_probe("senteval", task=task)
    together, plain = np.zeros((seeds, 3)), np.zeros((seeds, 3))
    for seed in range(seeds):
        splits = make_splits(classes, train, held_out, seed)
        started = time.perf_counter()
        fitted = probes.fit(probe, splits["tr"], splits["va"], num_classes=classes, seed=seed, device=CPU)
        right = fitted.predict(splits["te"].vectors) == splits["te"].labels.numpy()
        together[seed] = time.perf_counter() - started, fitted.chosen.best.dev_accuracy, 100 * right.mean()
        started = time.perf_counter()
        dev, test = train_plainly(probe, splits, classes, seed)
        plain[seed] = time.perf_counter() - started, dev, test
    (seconds, dev, test), (plain_seconds, plain_dev, plain_test) = together.mean(0), plain.mean(0)
    return {
        "task": task,
        "classes": classes,
        "seconds": round(seconds, 2),
        "plain_seconds": round(plain_seconds, 2),
        "speed_up": round(plain_seconds / seconds, 1),
        "dev": round(dev, 2),
        "plain_dev": round(plain_dev, 2),
        "test": round(test, 2),
        "plain_test": round(plain_test, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--train", type=int, default=100_000)
    parser.add_argument("--held-out", type=int, default=10_000)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--task", action="append", help="Only these tasks.")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    measure("warm-up", 2, 256, 64, 1)  # what torch loads at the first call is not part of either way
    rows = []
    for task in TASKS:
        if options.task and task.name not in options.task:
            continue
        rows.append(measure(task.name, task.classes, options.train, options.held_out, options.seeds))
        if not options.json:
            print("  ".join(f"{name} {value}" for name, value in rows[-1].items()), flush=True)
    total, plain_total = (sum(float(str(row[name])) for row in rows) for name in ("seconds", "plain_seconds"))
    summary = {
        "train": options.train,
        "held_out": options.held_out,
        "seeds": options.seeds,
        "threads": options.threads,
        "torch": torch.__version__,
        "speed_up_of_all": round(plain_total / total, 1),
        "peak_memory_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "vectors_mb": round((options.train + 2 * options.held_out) * DIM * 4 / 2**20),
    }
    if options.json:
        print(json.dumps({**summary, "tasks": rows}, indent=1))
    else:
        print("  ".join(f"{name} {value}" for name, value in summary.items()))


if __name__ == "__main__":
    main()
