"""The ten probing tasks (Conneau et al. 2018) as rows of one table.

Every spelling of a row (the paper's, SentEval's, Conneau et al.'s and the file's) names the task, in any case.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from probing.errors import ProbingError, unknown

Family = Literal["surface", "syntactic", "semantic", "own"]
FAMILIES: tuple[Family, ...] = ("surface", "syntactic", "semantic", "own")


@dataclass(frozen=True, slots=True)
class Task:
    """One classification problem on sentences."""

    name: str
    """The name used here and in the paper's Table 1."""
    senteval: str
    """The name in SentEval's API."""
    conneau: str
    """The name in Conneau et al. (2018)."""
    file: str
    """The task file's name without its ending."""
    family: Family
    classes: int
    """Number of labels in SentEval's file; 0 if it depends on the corpus."""
    asks: str
    """The property to be predicted, in one line."""
    blob: str | None = None
    """Git's SHA-1 of SentEval's file at commit 5d6dc11."""
    paper: dict[str, float] = field(default_factory=dict, hash=False)
    """Test accuracy in percent by aggregator, from Table 1 of Li et al. (2019)."""

    @property
    def file_name(self) -> str:
        return f"{self.file}.txt"

    @property
    def spellings(self) -> tuple[str, ...]:
        return (self.name, self.senteval, self.conneau, self.file)


def _paper(base: float, simple: float, em: float) -> dict[str, float]:
    return {"base": base, "simple": simple, "em": em}


# fmt: off
TASKS: tuple[Task, ...] = (
    Task("SeLen", "Length", "SentLen", "sentence_length", "surface", 6,
         "the number of tokens, in six bins",
         "9799e50a7579b5b60294b708cedc063aea16f0be", _paper(97.22, 97.10, 96.26)),
    Task("WC", "WordContent", "WC", "word_content", "surface", 1000,
         "which of the target words the sentence holds",
         "596d6fc7c624a989342f5aef2fa035d0d84f65b7", _paper(97.92, 98.85, 98.75)),
    Task("TrDep", "Depth", "TreeDepth", "tree_depth", "syntactic", 8,
         "the depth of the constituency tree",
         "91567ad524de360c38105afc39d29fb7ef6b5eb8", _paper(44.48, 43.37, 47.72)),
    Task("ToCo", "TopConstituents", "TopConst", "top_constituents", "syntactic", 20,
         "the sequence of constituents right below the sentence node",
         "1d00fe9b16f71303af7f0471fa028077f742d8b0", _paper(84.44, 86.15, 87.00)),
    Task("BShif", "BigramShift", "BShift", "bigram_shift", "syntactic", 2,
         "whether two adjacent tokens were swapped",
         "1226c0467bd342c92132dd2fd26e54b7bd066bd7", _paper(49.30, 49.87, 51.82)),
    Task("Tense", "Tense", "Tense", "past_present", "semantic", 2,
         "the tense of the main clause's verb",
         "d11394b28383bb1a8148670e33d39e5fcd326b16", _paper(84.20, 88.22, 88.17)),
    Task("SubNm", "SubjNumber", "SubjNum", "subj_number", "semantic", 2,
         "the number of the main clause's subject",
         "dee5770953ad194ceafc68106bd9c071986c6d2a", _paper(87.66, 87.25, 89.97)),
    Task("ObjNm", "ObjNumber", "ObjNum", "obj_number", "semantic", 2,
         "the number of the main clause's direct object",
         "c5a6f758f2293d0ed0774de327ff8199322d12ee", _paper(82.94, 85.07, 86.40)),
    Task("SOMO", "OddManOut", "SOMO", "odd_man_out", "semantic", 2,
         "whether a noun or verb was replaced by another",
         "ca1ec154df17e366330c542b48bdca5cfa65bf1c", _paper(50.24, 48.77, 51.55)),
    Task("CoIn", "CoordinationInversion", "CoordInv", "coordination_inversion", "semantic", 2,
         "whether two coordinate clauses were swapped",
         "281888217fd1ed7faef2c63c5350d2ff1b8e64ce", _paper(68.77, 69.12, 69.86)),
)

COUNTERPARTS: tuple[Task, ...] = (
    Task("DepDepth", "DependencyDepth", "DepDepth", "dependency_depth", "syntactic", 0,
         "the depth of the dependency tree (TrDep's counterpart for dependency treebanks)"),
    Task("RootDep", "RootDependents", "RootDep", "root_dependents", "syntactic", 0,
         "the sequence of the root's dependents (ToCo's counterpart for dependency treebanks)"),
)
# fmt: on
"""Tasks for dependency treebanks, in place of the two that need constituents."""

_BY_SPELLING = {spelling.lower(): task for task in TASKS + COUNTERPARTS for spelling in task.spellings}


def get_task(name: str) -> Task:
    """Return the task that any spelling of its name stands for."""
    task = _BY_SPELLING.get(name.lower())
    if task is None:
        raise unknown("task", name, [task.name for task in TASKS])
    return task


def is_spelling(name: str) -> bool:
    """Return whether a name stands for one of the tasks."""
    return name.lower() in _BY_SPELLING


def get_tasks(names: Iterable[str]) -> list[Task]:
    """Return the tasks named (comma-separated names and `all` allowed), in the table's order, each once."""
    wanted = [part.strip() for name in names for part in name.split(",")]
    if not any(wanted):
        raise ProbingError("no task was named. Name one of them, or 'all': see `probe tasks`")
    chosen: set[str] = set()
    for name in wanted:
        chosen.update([task.name for task in TASKS] if name.lower() == "all" else [get_task(name).name])
    return [task for task in TASKS + COUNTERPARTS if task.name in chosen]


def own_task(path: Path) -> Task:
    """Return the task of a user's own file; it is named after the file."""
    stem = path.stem
    return Task(stem, stem, stem, stem, family="own", classes=0, asks=f"the label in {path.name}")
