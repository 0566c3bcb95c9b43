"""`python -m tests.soak`: disturb runs for an hour; `--seed` repeats the disturbances of an earlier soak."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.soak.soak import Soak


def main() -> None:
    """Soak until the time is over, in many folders one after the other."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="Time after which no further disturbance comes.")
    parser.add_argument("--rounds", type=int, default=40, help="Number of disturbances of one folder.")
    parser.add_argument("--seed", type=int, help="Seed of the first folder. [default: drawn, and printed]")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**6)
    deadline = time.monotonic() + 60 * options.minutes
    while time.monotonic() < deadline:
        say(f"seed {seed} (repeat with --seed {seed})")
        with tempfile.TemporaryDirectory(prefix="soak") as folder:
            soak = Soak(Path(folder), seed, say=lambda line: say(f"  {line}"))
            soak.check(lambda number: number < options.rounds and time.monotonic() < deadline)
        say("  records are those of an undisturbed run, and nothing is left")
        seed += 1


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


main()
