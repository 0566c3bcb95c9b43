"""How fast corpora become tasks: the readers beside nltk and the conllu package, and builds by one and two jobs."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rich.table import Table

from benchmarks.measuring import median_ratio, take_turns
from probing.corpus.grammar import format_tree, generate
from probing.corpus.readers import ParsedSentence, read_sentences

TREES = 5000
"""Number of trees that the readers read in a turn."""
LARGE = 1_000_000
"""Number of trees of the large corpus."""
GOALS = {"trees_per_second": 5000, "large_seconds": 120}

BUILD = "import sys; from probing.commands import main; main(['data', 'build', *sys.argv[1:]])"


def measure(*, rounds: int, clock: Callable[[], float]) -> dict[str, Any]:
    """Return the ratios of the readers, and the trees a second of a build by one process and by two."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sentences = list(generate(0, TREES))
        penn, conllu = folder / "trees.mrg", folder / "trees.conllu"
        penn.write_text("".join(f"{format_tree(s.tree)}\n" for s in sentences if s.tree), encoding="utf-8")
        conllu.write_text("".join(_to_conllu(sentences)), encoding="utf-8")
        candidates: dict[str, Callable[[], object]] = {
            "penn": lambda: sum(1 for _ in read_sentences(penn, "penn")),
            "nltk": lambda: _read_by_nltk(penn),
            "conllu": lambda: sum(1 for _ in read_sentences(conllu, "conllu")),
            "package": lambda: _read_by_package(conllu),
        }
        seconds = take_turns(candidates, rounds=max(3, rounds // 3), clock=clock, title="reading")
        return {
            "penn_speedup": median_ratio(seconds["nltk"], seconds["penn"]),
            "conllu_speedup": median_ratio(seconds["package"], seconds["conllu"]),
            "large": {str(jobs): _build(folder, jobs) for jobs in (1, 2)},
        }


def _read_by_nltk(path: Path) -> int:
    from nltk.tree import Tree

    return sum(len(Tree.fromstring(line)) for line in path.read_text(encoding="utf-8").splitlines())


def _read_by_package(path: Path) -> int:
    import conllu

    with path.open(encoding="utf-8") as file:
        return sum(1 for _ in conllu.parse_incr(file))


def _to_conllu(sentences: list[ParsedSentence]) -> Iterator[str]:
    """Yield sentences as CoNLL-U in which each word depends on the one before."""
    for sentence in sentences:
        for place, (token, tag) in enumerate(zip(sentence.tokens, sentence.tags, strict=True)):
            relation, features = "dep" if place else "root", "Number=Sing|Person=3" if place % 3 else "_"
            yield f"{place + 1}\t{token}\t{token}\t{tag}\t_\t{features}\t{place}\t{relation}\t_\t_\n"
        yield "\n"


def _build(folder: Path, jobs: int) -> dict[str, float]:
    """Return how long a build of the large corpus takes; the corpus is made when it is not there."""
    large = folder / "large.mrg"
    if not large.exists():
        with large.open("w", encoding="utf-8") as file:
            file.writelines(f"{format_tree(sentence.tree)}\n" for sentence in generate(1, LARGE) if sentence.tree)
    start = os.times().elapsed
    arguments = ["--trees", str(large), "--output", str(folder / str(jobs)), "--jobs", str(jobs)]
    subprocess.run([sys.executable, "-c", BUILD, *arguments], stdout=subprocess.DEVNULL, check=True)
    seconds = os.times().elapsed - start
    return {"seconds": seconds, "trees_per_second": LARGE / seconds}


def render(figures: dict[str, Any]) -> Table:
    """Return the figures as a table."""
    table = Table("processes", "s", "trees a second", title=f"`probe data build` of {LARGE:,} trees")
    for jobs, row in figures["large"].items():
        table.add_row(jobs, f"{row['seconds']:.0f}", f"{row['trees_per_second']:,.0f}")
    table.caption = (
        f"Reading brackets is {figures['penn_speedup']:.1f} times as fast as parsing them by nltk, reading CoNLL-U "
        f"{figures['conllu_speedup']:.1f} times as fast as the conllu package"
    )
    return table
