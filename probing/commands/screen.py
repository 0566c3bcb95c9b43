"""Text made to fit a terminal: tables are cut between columns, prose is broken at words."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

RULE = re.compile(r"-+(  +-+)+")
"""Line below the headers of a table, with a run of dashes for each column."""
LABEL = re.compile(r" +\S+(?: \S+)*? {2,}(?=\S)")
"""Beginning of an indented line, before its text."""
GAP = 2
"""Number of spaces between two columns."""


def fit(text: str, width: int | None) -> str:
    """Return a text of paragraphs and tables that is nowhere wider than a terminal; without a width it stays as it is.

    A table that is too wide becomes several, each with the first column.
    """
    if width is None:
        return text
    lines = text.split("\n")
    fitted: list[str] = []
    while lines:
        if len(lines) > 1 and RULE.fullmatch(lines[1].rstrip()):
            size = lines.index("", 1) if "" in lines[1:] else len(lines)
            fitted += _cut_table(lines[:size], width)
            del lines[:size]
        else:
            fitted += _wrap(lines.pop(0), width)
    return "\n".join(fitted)


def _wrap(line: str, width: int) -> list[str]:
    """Return a line broken at words, below the text of a labelled one; a command or one with tabs stays as it is."""
    labelled = LABEL.match(line)
    if len(line) <= width or (line.startswith(" ") and labelled is None) or "\t" in line:
        return [line]
    label = labelled.group() if labelled is not None else ""
    indent = " " * len(label) or "  "
    return textwrap.wrap(
        line[len(label) :],
        width,
        initial_indent=label,
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=False,
    )


def _cut_table(lines: Sequence[str], width: int) -> list[str]:
    """Return the lines of a table, or of several that have its columns in turn."""
    spans = [found.span() for found in re.finditer("-+", lines[1])]
    if spans[-1][1] <= width:
        return list(lines)
    first, *others = spans
    parts: list[list[tuple[int, int]]] = [[first]]
    for start, end in others:
        used = sum(stop - begin + GAP for begin, stop in parts[-1])
        if len(parts[-1]) > 1 and used + end - start > width:
            parts.append([first])
        parts[-1].append((start, end))
    blocks = [
        [(" " * GAP).join(line[start:end].ljust(end - start) for start, end in part).rstrip() for line in lines]
        for part in parts
    ]
    return [line for number, block in enumerate(blocks) for line in (*([""] if number else []), *block)]
