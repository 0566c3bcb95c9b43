"""Parsed sentences become task files, in two passes and in constant memory.

The first pass (survey.py) reads each sentence once, counts words, lengths and labels, and writes the sentences'
annotations (constituency.py, dependency.py) to a temporary file. The second pass draws a bounded sample for each task
(drawing.py, sampling.py) by the task's own design (surface.py, syntactic.py, semantic.py, odd_man_out.py), and makes a
balanced task of it. The same sentences, sizes and seed make the same bytes, in any order of the sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, TypedDict

from probing.corpus.builders import odd_man_out, semantic, surface, syntactic
from probing.corpus.builders.drawing import Sampler, SamplingDesign, describe_losses
from probing.corpus.builders.folder import fill_folder
from probing.corpus.builders.given import Given
from probing.corpus.builders.sampling import MIN_TEST, MIN_TRAIN, CannotBuildError, Sizes
from probing.corpus.builders.survey import CorpusPart, OnProgress, Survey, count_part, take_survey
from probing.corpus.datasheet import Datasheet, TaskSheet, describe_task
from probing.corpus.instances import Splits, format_splits
from probing.corpus.processes import map_in_order
from probing.corpus.readers import Kind, ParsedSentence
from probing.errors import ProbingError
from probing.storage import pausing_garbage_collection
from probing.tasks import COUNTERPARTS, TASKS, Task, get_tasks

BUILDERS: Mapping[str, Callable[[Survey, Sizes], SamplingDesign]] = {
    "SeLen": surface.sentence_length,
    "WC": surface.word_content,
    "TrDep": syntactic.tree_depth,
    "ToCo": syntactic.top_constituents,
    "BShif": syntactic.bigram_shift,
    "Tense": partial(semantic.target_form, annotation="tense", labels=("PAST", "PRES")),
    "SubNm": partial(semantic.target_form, annotation="subject", labels=("NN", "NNS")),
    "ObjNm": partial(semantic.target_form, annotation="object", labels=("NN", "NNS")),
    "SOMO": odd_man_out.odd_man_out,
    "CoIn": semantic.coordination_inversion,
    "DepDepth": syntactic.tree_depth,
    "RootDep": syntactic.top_constituents,
}
"""Task -> function that returns its sampling design."""
_COUNTERPART = {"TrDep": "DepDepth", "ToCo": "RootDep"}
"""Task on constituency trees -> its counterpart on dependency trees."""
WITHOUT_PARSE = ("SeLen", "WC", "BShif")
"""Tasks that need no parse."""
BATCH = 2000
"""Number of sentences that are counted together."""
COSTS = {"SOMO": 4.0, "BShif": 2.0, "WC": 2.0}
"""Task -> the time that it takes to build, in multiples of the other tasks' time."""


class BuildOptions(TypedDict, total=False):
    """Options of a build that have defaults: sizes, the seed, the tasks, the allowed imbalance, the smallest sizes."""

    train: int
    dev: int
    test: int
    seed: int
    tasks: Sequence[str] | None
    imbalance: int | None
    min_train: int | None
    min_test: int | None


def build(sentences: Iterable[ParsedSentence], output: Path, *, seed: int = 0, **options: Any) -> Datasheet:
    """Build tasks from sentences; `options` are those of `build_parts`."""
    unread = iter(sentences)
    batches = iter(lambda: list(islice(unread, BATCH)), [])
    return build_parts((count_part(batch, seed=seed) for batch in batches), output, seed=seed, **options)


def build_parts(
    parts: Iterable[CorpusPart],
    output: Path,
    *,
    train: int = 100_000,
    dev: int = 10_000,
    test: int = 10_000,
    seed: int = 0,
    tasks: Sequence[str] | None = None,
    imbalance: int | None = None,
    min_train: int | None = None,
    min_test: int | None = None,
    jobs: int = 1,
    given: Mapping[str, Given] | None = None,
    source: Mapping[str, Any] | None = None,
    progress: OnProgress = lambda *_: None,
) -> Datasheet:
    """Write the task files and a datasheet into a folder, and remove the files of other tasks from it.

    parts: the counted parts of the corpus.
    imbalance: largest ratio between label frequencies; by default what informs most, if a label is rare.
    min_train, min_test: sizes below which a task is not built; by default those of `sampling`, or half the size that is
    asked for if it is smaller than them.
    jobs: number of processes among which the tasks are divided.
    given: task -> an existing file of the task, to use as it is or to extend with training instances.
    """
    for name, size in (("train", train), ("dev", dev), ("test", test)):
        if size < 1:
            raise ProbingError(f"--{name} must be 1 or more. Got {size}")
    sizes = Sizes(
        *(train, dev, test, imbalance),
        min_train=choose_floor(min_train, MIN_TRAIN, train),
        min_test=choose_floor(min_test, MIN_TEST, test),
    )
    with pausing_garbage_collection(), fill_folder(output) as aside:
        with closing(take_survey(parts, aside, progress)) as survey:
            if survey.kind is None:
                raise ProbingError("there is no sentence to build from. Name files with sentences in them")
            plan = _Plan(survey, aside, given or {}, sizes, seed)
            sheets = _build_tasks(plan, choose_tasks(tasks, survey.kind), jobs, progress)
        sheet = Datasheet(
            source={**(source or {}), **({"bad_trees_skipped": dict(survey.skipped)} if survey.skipped else {})},
            options={
                "train": train,
                "dev": dev,
                "test": test,
                "imbalance": imbalance or "chosen",
                "seed": seed,
                "min_train": sizes.min_train,
                "min_test": sizes.min_test,
            },
            corpus={
                "trees": survey.kind,
                "sentences": survey.sentences,
                "tokens": survey.tokens,
                "sentences_of_5_to_28_tokens": survey.kept,
                "dropped": dict(sorted(survey.dropped.items())),
                **({"rare_entries_missing_in_counts": survey.forgotten} if survey.forgotten else {}),
            },
            tasks=sheets,
        )
        (aside / "datasheet.md").write_bytes(sheet.to_markdown().encode())
        (aside / "datasheet.json").write_bytes(sheet.to_json().encode())
    return sheet


def choose_tasks(names: Sequence[str] | None, kind: Kind) -> list[Task]:
    """Return the tasks to build: the named ones, or all that fit the kind of trees."""
    if names is not None and [name.lower() for name in names] != ["all"]:
        return get_tasks(names)
    if kind == "words":
        return [task for task in TASKS if task.name in WITHOUT_PARSE]
    by_name = {task.name: task for task in TASKS + COUNTERPARTS}
    return [by_name[_COUNTERPART.get(task.name, task.name)] if kind == "dependencies" else task for task in TASKS]


@dataclass(frozen=True, slots=True)
class _Plan:
    """The corpus, the sizes and the output folder of a build, the same for all of its processes."""

    survey: Survey
    folder: Path
    given: Mapping[str, Given]
    sizes: Sizes
    seed: int


def _build_tasks(plan: _Plan, tasks: Sequence[Task], jobs: int, progress: OnProgress) -> list[TaskSheet]:
    """Build tasks, in several processes if asked for, and return their descriptions in order."""

    def show() -> None:
        written = sum((plan.folder / task.file_name).exists() for task in tasks)
        progress("building (tasks)", written, len(tasks))

    groups = _share_out(tasks, min(jobs, len(tasks)))
    build_group = partial(_build_group, plan, progress=show if len(groups) == 1 else _do_nothing)
    sheets: dict[str, TaskSheet] = {}
    for found in map_in_order(build_group, groups, jobs=len(groups), meanwhile=show):
        sheets |= {sheet.task: sheet for sheet in found}
    return [sheets[task.name] for task in tasks]


def _do_nothing() -> None:
    """Show no progress: the files that a process has written show it."""


def _share_out(tasks: Sequence[Task], number: int) -> list[list[Task]]:
    """Divide tasks into groups that take about the same time, the slowest task first."""
    groups: list[list[Task]] = [[] for _ in range(number)]
    for task in sorted(tasks, key=lambda task: -COSTS.get(task.name, 1.0)):
        min(groups, key=lambda group: sum(COSTS.get(other.name, 1.0) for other in group)).append(task)
    return groups


def _build_group(plan: _Plan, tasks: Sequence[Task], *, progress: Callable[[], None]) -> list[TaskSheet]:
    survey = plan.survey
    samplers: dict[str, Sampler] = {}
    failures: dict[str, str] = {}
    for task in tasks:
        if task.name in plan.given and not plan.given[task.name].extended:
            continue
        try:
            samplers[task.name] = Sampler(task.name, _make_design(task, survey, plan.sizes))
        except CannotBuildError as error:
            failures[task.name] = str(error)
    for place, priority, sentence in survey.records():
        for one in samplers.values():
            one.offer(place, priority, sentence)
    sheets = []
    for task in tasks:
        progress()
        sampler = samplers.pop(task.name, None)
        splits: Splits | None = None
        if sampler is not None:
            try:
                splits = sampler.design.assemble(sampler.draw(survey), Random(f"{plan.seed}/{task.name}"))
                if task.name not in plan.given:
                    _refuse_small(splits, plan.sizes, sampler.design)
            except CannotBuildError as error:
                splits, failures[task.name] = None, str(error)
        design = sampler.design if sampler is not None else None
        sheets.append(_write_task(task, plan.folder, splits, design, plan.given.get(task.name), failures, survey))
    return sheets


def choose_floor(wanted: int | None, default: int, asked: int) -> int:
    """Return the smallest size of a split: as wanted, or the default, or half of a size that is smaller than that."""
    if wanted is not None:
        return wanted
    return default if asked >= default else max(1, asked // 2)


def _refuse_small(splits: Splits, sizes: Sizes, design: SamplingDesign) -> None:
    """Raise an error if a task is too small to be scored, or has one label only."""
    labels = {instance.label for instance in splits["tr"]}
    if len(labels) < 2:
        raise CannotBuildError(f"only one label, {min(labels)}{describe_losses(design.dropped)}")
    train, test = len(splits["tr"]), len(splits["te"])
    if train < sizes.min_train or test < sizes.min_test:
        raise CannotBuildError(
            f"only {train} training and {test} test lines; a score needs {sizes.min_train} and {sizes.min_test} "
            f"(--min-train, --min-test){describe_losses(design.dropped)}"
        )


def _write_task(
    task: Task,
    folder: Path,
    built: Splits | None,
    design: SamplingDesign | None,
    given: Given | None,
    failures: Mapping[str, str],
    survey: Survey,
) -> TaskSheet:
    path = folder / task.file_name
    if given is not None:
        splits = given.extend(built) if built else given.splits
        given.write(path, splits)
        settings, dropped = given.describe(splits, failures.get(task.name)), {}
    elif built is not None and design is not None:
        path.write_bytes(format_splits(built).encode())
        splits, settings, dropped = built, design.settings, dict(design.dropped)
    else:
        return TaskSheet(task=task.name, file=path.name, reason=failures[task.name])
    return describe_task(task, path, splits, settings=settings, dropped=dropped, frequencies=survey.folded)


def _make_design(task: Task, survey: Survey, sizes: Sizes) -> SamplingDesign:
    if survey.kind == "words" and task.name not in WITHOUT_PARSE:
        raise CannotBuildError("it needs a parsed corpus: name a parser with --parser")
    if survey.dependencies and task.name in _COUNTERPART:
        raise CannotBuildError(f"it needs constituency trees; its counterpart here is {_COUNTERPART[task.name]}")
    if survey.kind == "constituents" and task.name in _COUNTERPART.values():
        raise CannotBuildError("it needs dependency trees")
    return BUILDERS[task.name](survey, sizes)
