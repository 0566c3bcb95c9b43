"""The long run: `python -m tests.fuzzing --count 100000` from the project's folder.

Exit code 1, with the smallest input found, if anything but success or a ProbingError came of one.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile

GIBIBYTES = 4
"""What the process may take beyond what it has at the start."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzzing", description=__doc__)
    parser.add_argument("--count", type=int, default=100_000, help="inputs in all (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="another seed gives other inputs")
    parser.add_argument("--target", action="append", help="only this one; can be repeated")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        os.environ["XDG_CACHE_HOME"] = cache
        return run(options.count, options.seed, options.target)


def run(count: int, seed: int, names: list[str] | None) -> int:
    """Fuzz the targets, show how far it has come, and print a summary."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    from tabulate import tabulate

    from tests.fuzzing.fuzzer import fuzz
    from tests.fuzzing.targets import make_targets

    targets = make_targets()
    if unknown := set(names or ()) - targets.keys():
        sys.exit(f"unknown target {min(unknown)!r}. Known: {', '.join(targets)}")
    chosen = {name: target for name, target in targets.items() if names is None or name in names}
    shares = sum(target.share for target in chosen.values())
    _limit_memory()
    tallies = {}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), speed_estimate_period=60) as progress:
        bar = progress.add_task("", total=count)
        for name, target in chosen.items():
            progress.update(bar, description=name)
            part = -(-count * target.share // shares)
            tallies[name] = fuzz(target, part, seed=seed, on_input=lambda: progress.advance(bar))
    rows = [
        (name, tally.total, tally.read, tally.refused, "FAILED" if tally.failure else "")
        for name, tally in tallies.items()
    ]
    total = sum(tally.total for tally in tallies.values())
    out = Console(markup=False, highlight=False, soft_wrap=True)
    out.print(tabulate([*rows, ("all", total)], ["target", "inputs", "read", "refused", ""]))
    failures = {name: tally.failure for name, tally in tallies.items() if tally.failure}
    for name, failure in failures.items():
        out.print(f"\n{name}:\n{failure}")
    return 1 if failures else 0


def _limit_memory() -> None:
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    limit = now + GIBIBYTES * 2**30
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))


if __name__ == "__main__":
    sys.exit(main())
