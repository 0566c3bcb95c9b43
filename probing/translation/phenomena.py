"""Translations into the constructed language are judged phenomenon by phenomenon, by the tokens that carry each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from probing.corpus.language import PHENOMENA, judge
from probing.corpus.parallel import read_checks
from probing.errors import ProbingError
from probing.results import ABSENT, RIGHT, WRONG


def judge_translations(path: Path, outputs: Sequence[str]) -> dict[str, str]:
    """Return the verdicts on each phenomenon that the test set has, a letter for each sentence.

    `path` is the file of the test set's phenomena. A sentence has a phenomenon right if all its places are right.
    """
    checks = read_checks(path)
    if len(checks) != len(outputs):
        raise ProbingError(f"{path}: {len(checks):,} lines for {len(outputs):,} test sentences. One is needed for each")
    letters = {name: [ABSENT] * len(outputs) for name in PHENOMENA}
    for number, (expected, output) in enumerate(zip(checks, outputs, strict=True)):
        for check, is_right in zip(expected, judge(expected, output.split()), strict=True):
            verdicts = letters[check.phenomenon]
            verdicts[number] = RIGHT if is_right and verdicts[number] != WRONG else WRONG
    return {name: "".join(verdicts) for name, verdicts in letters.items() if set(verdicts) != {ABSENT}}
