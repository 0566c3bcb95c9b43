"""Parsed sentences become task files, in two passes and in constant memory.

The first pass (survey.py) reads each sentence once, counts words, lengths and labels, and writes the sentences'
annotations (constituency.py, dependency.py) to a temporary file. The second pass draws a bounded sample for each task
(drawing.py, sampling.py) by the task's own design (surface.py, syntactic.py, semantic.py, odd_man_out.py), and makes a
balanced task of it. The same sentences, sizes and seed make the same bytes, in any order of the sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, TypedDict

from probing.corpus.builders import odd_man_out, semantic, surface, syntactic
from probing.corpus.builders.drawing import Sampler, SamplingDesign, describe_losses
from probing.corpus.builders.folder import fill_folder
from probing.corpus.builders.given import Given
from probing.corpus.builders.sampling import MIN_TEST, MIN_TRAIN, CannotBuildError, Sizes
from probing.corpus.builders.survey import OnProgress, Survey, take_survey
from probing.corpus.datasheet import Datasheet, TaskSheet, describe_task
from probing.corpus.instances import Splits, format_splits
from probing.corpus.readers import ParsedSentence
from probing.errors import ProbingError
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


def build(
    sentences: Iterable[ParsedSentence],
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
    given: Mapping[str, Given] | None = None,
    source: Mapping[str, Any] | None = None,
    progress: OnProgress = lambda *_: None,
) -> Datasheet:
    """Write the task files and a datasheet into a folder, and remove the files of other tasks from it.

    imbalance: largest ratio between label frequencies; by default what informs most, if a label is rare.
    min_train, min_test: sizes below which a task is not built; by default those of `sampling`, or half the size that is
    asked for if it is smaller than them.
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
    with fill_folder(output) as aside:
        with closing(take_survey(sentences, seed=seed, progress=progress)) as survey:
            if not survey.sentences:
                raise ProbingError("there is no sentence to build from. Name files with trees in them")
            chosen = choose_tasks(tasks, survey.dependencies)
            sheets = _build_tasks(survey, aside, chosen, given or {}, sizes, seed, progress)
        sheet = Datasheet(
            # The count of bad trees is a Counter that was filled during the reading.
            source={key: dict(value) if isinstance(value, Mapping) else value for key, value in (source or {}).items()},
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
                "trees": "dependencies" if survey.dependencies else "constituents",
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


def choose_tasks(names: Sequence[str] | None, dependencies: bool) -> list[Task]:
    """Return the tasks to build: the named ones, or all ten in the form that fits the kind of trees."""
    if names is not None and [name.lower() for name in names] != ["all"]:
        return get_tasks(names)
    by_name = {task.name: task for task in TASKS + COUNTERPARTS}
    return [by_name[_COUNTERPART.get(task.name, task.name)] if dependencies else task for task in TASKS]


def _build_tasks(
    survey: Survey,
    folder: Path,
    tasks: Sequence[Task],
    given: Mapping[str, Given],
    sizes: Sizes,
    seed: int,
    progress: OnProgress,
) -> list[TaskSheet]:
    samplers: dict[str, Sampler] = {}
    failures: dict[str, str] = {}
    for task in tasks:
        if task.name in given and not given[task.name].extended:
            continue
        try:
            samplers[task.name] = Sampler(task.name, _make_design(task, survey, sizes))
        except CannotBuildError as error:
            failures[task.name] = str(error)
    _draw(survey, samplers, progress)
    sheets = []
    for number, task in enumerate(tasks):
        progress("writing", number, len(tasks))
        sampler = samplers.pop(task.name, None)
        splits: Splits | None = None
        if sampler is not None:
            try:
                splits = sampler.design.assemble(sampler.draw(survey), Random(f"{seed}/{task.name}"))
                if task.name not in given:
                    _refuse_small(splits, sizes, sampler.design)
            except CannotBuildError as error:
                splits, failures[task.name] = None, str(error)
        design = sampler.design if sampler is not None else None
        sheets.append(_write_task(task, folder, splits, design, given.get(task.name), failures, survey))
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
    if survey.dependencies and task.name in _COUNTERPART:
        raise CannotBuildError(f"it needs constituency trees; its counterpart here is {_COUNTERPART[task.name]}")
    if not survey.dependencies and task.name in _COUNTERPART.values():
        raise CannotBuildError("it needs dependency trees")
    return BUILDERS[task.name](survey, sizes)


def _draw(survey: Survey, samplers: Mapping[str, Sampler], progress: OnProgress) -> None:
    for number, (place, priority, sentence) in enumerate(survey.records(), 1):
        for sampler in samplers.values():
            sampler.offer(place, priority, sentence)
        if number % 1000 == 0:
            progress("sampling", number, survey.kept)
