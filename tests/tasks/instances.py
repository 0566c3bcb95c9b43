"""Sound task files of any content."""

from __future__ import annotations

from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from probing.tasks.task_file import SPLITS

GOOD = ["tr\tA\ta b", "va\tA\ta", "te\tA\tb"]
QUICK = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(lambda word: [word] == word.split())
labels = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\r\n"), min_size=1).filter(str.strip)


@st.composite
def instances(draw):
    """Return (split, label, tokens) triples of a sound task file, in any order."""
    known = draw(st.lists(labels, min_size=1, max_size=3, unique=True))
    rows = [("tr", label) for label in known]
    rows += [(split, draw(st.sampled_from(known))) for split in ("va", "te")]
    rows += draw(st.lists(st.tuples(st.sampled_from(list(SPLITS)), st.sampled_from(known)), max_size=5))
    rows = draw(st.permutations(rows))
    return [(split, label, draw(st.lists(words, min_size=1, max_size=4))) for split, label in rows]


def write(path: Path, rows: list[tuple[str, str, list[str]]], newline: str = "\n", *, final: bool = True) -> Path:
    """Write instances as the lines of a task file, the last one with or without a line end."""
    lines = ["\t".join([split, label, " ".join(tokens)]) for split, label, tokens in rows]
    path.write_bytes((newline.join(lines) + newline * final).encode())
    return path
