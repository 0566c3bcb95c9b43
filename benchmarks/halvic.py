"""Measure the parallel corpus: pairs a second on one core, checks, and sentences that no translator can get right.

    python -m benchmarks.halvic                   a minute
    python -m benchmarks.halvic --count 20000     quicker

The translation follows the tree, and a translator sees the words only. Two counts say what that costs: sentences that
occur with two translations; and prepositional phrases after an object, or after a relative clause, of which the verb,
the preposition and the senses of the nouns leave open to what they belong. Of these, the rarer reading counts as lost.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from probing.corpus import parallel
from probing.corpus.grammar import generate
from probing.corpus.language import PHENOMENA, translate
from probing.corpus.language.lexicon import NOMINALS

Key = tuple[str, str, str, str]
"""Verb, sense of its object, preposition, sense of the noun after it."""


def main() -> None:
    parser = argparse.ArgumentParser(
        "python -m benchmarks.halvic", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=200_000, help="sentences (default: %(default)s)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, mock.patch.object(parallel, "cache_folder") as home:
        home.return_value = Path(name)
        start = time.process_time()
        folder = parallel.prepare_parallel()
        seconds = time.process_time() - start
        pairs = sum(path.read_bytes().count(b"\n") for path in folder.glob("*.en"))
        print(f"corpus of {parallel.PAIRS:,} training pairs: {pairs / seconds:,.0f} pairs a second\n")
        print(count_checks(folder))
    print(describe_ceiling(options.count))


def count_checks(folder: Path) -> str:
    """Return a table of how often each phenomenon is checked in each test set."""
    lines = [f"{'':<20}" + "".join(f"{name:>11}" for name in parallel.TEST_SETS)]
    found = {
        name: Counter(check.phenomenon for checks in read for check in checks)
        for name in parallel.TEST_SETS
        if (read := parallel.read_checks(folder / f"{name}.checks.jsonl"))
    }
    lines += [
        f"{phenomenon:<20}" + "".join(f"{counts[phenomenon]:>11,}" for counts in found.values())
        for phenomenon in PHENOMENA
    ]
    return "\n".join([*lines, ""])


def describe_ceiling(count: int) -> str:
    """Return in words how many of so many sentences leave their translation open."""
    translations: dict[tuple[str, ...], set[tuple[str, ...]]] = defaultdict(set)
    places: dict[Key, Counter[str]] = defaultdict(Counter)
    for sentence in generate(100, count):
        pair = translate(sentence)
        translations[pair.source].add(pair.target)
        for key, place in find_places(pair.tree):
            places[key][place] += 1
    several = sum(len(found) > 1 for found in translations.values())
    phrases = sum(found.total() for found in places.values())
    lost = sum(found.total() - max(found.values()) for found in places.values())
    return (
        f"{count:,} sentences: {several} with two translations\n"
        f"{phrases:,} prepositional phrases after an object: {lost:,} undecided "
        f"({lost / phrases:.1%} of the phrases, {lost / count:.1%} of the sentences)"
    )


def find_places(tree: Any) -> Iterator[tuple[Key, str]]:
    """Yield the prepositional phrases after an object, each with that to which it belongs."""
    label, children = tree
    if isinstance(children, str):
        return
    if label == "VP":
        for child, following in zip(children, (*children[1:], ("", ())), strict=True):
            if child[0] == "NP":
                yield from _find_place(children[0][1], child, following)
    for child in children:
        yield from find_places(child)


def _find_place(verb: str, phrase: Any, following: Any) -> Iterator[tuple[Key, str]]:
    """Yield the phrase in or after an object, or in or after a relative clause of the object without an object."""
    first, *others = phrase[1]
    if first[0] != "NP":
        if following[0] == "PP":
            yield (verb, _find_sense(phrase), *_describe(following)), "verb"
    elif others[0][0] == "PP":
        yield (verb, _find_sense(first), *_describe(others[0])), "object"
    elif others[0][0] == "SBAR" and len(others[0][1][-1][1]) == 2:
        (_, inner), *rest = others[0][1][-1][1][1][1]
        if rest and rest[0][0] == "PP":
            yield (inner, "", *_describe(rest[0])), "clause"
        elif not rest and following[0] == "PP":
            yield (inner, "", *_describe(following)), "verb"


def _describe(phrase: Any) -> tuple[str, str]:
    """Return a preposition and the sense of its noun."""
    return phrase[1][0][1], _find_sense(phrase[1][1])


def _find_sense(phrase: Any) -> str:
    """Return the sense of the head of a noun phrase, or its tag."""
    while phrase[1][0][0] == "NP" and phrase[1][0][1][-1][0] != "POS":
        phrase = phrase[1][0]
    leaf = next(child for child in reversed(phrase[1]) if child[0] in ("NN", "NNS", "NNP", "PRP"))
    return NOMINALS[leaf].sense or str(leaf[0])


if __name__ == "__main__":
    main()
