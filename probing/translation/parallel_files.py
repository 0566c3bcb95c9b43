"""Parallel text: two aligned files a split, in a folder or named one by one, found and checked before any training."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from probing.corpus.language import LANGUAGE_CODE
from probing.errors import ProbingError
from probing.storage import check_path, hash_json, resolve_path
from probing.translation.parallel_text import OnShare, TextFacts, inspect_text, part_of, read_lines

DEV_NAMES = ("dev", "val", "valid", "validation")
"""Names that the files of the dev split may have."""
ENDINGS = (".gz", ".bz2", ".xz")
"""Endings of compressed files."""
CHECKS_ENDING = ".checks.jsonl"
"""Ending of a file that says for each sentence of a test set which phenomena of the constructed language it has."""
NO_LANGUAGES = ("", "txt", "text")
"""Endings that name no language."""


@dataclass(frozen=True, slots=True)
class FilePair:
    """Two files of which line i of one is the translation of line i of the other."""

    source: Path
    target: Path

    def read(self) -> tuple[list[str], list[str]]:
        """Return the lines of both files."""
        return read_lines(self.source), read_lines(self.target)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelFiles:
    """The files of a parallel corpus, checked."""

    name: str
    source_language: str
    target_language: str
    train: FilePair
    dev: FilePair
    tests: Mapping[str, FilePair]
    """Test sets by name, the one that tables show first; none is named train or dev."""
    sha256: str
    """Identity of the text: a hash of the unpacked bytes of all files, not of their names or places."""
    checks: Mapping[str, Path]
    """For a test set of the constructed language, the file of the phenomena in each of its sentences."""
    identity: str
    """Identity of the corpus: that of the text and of the phenomena."""

    def pairs(self) -> dict[str, FilePair]:
        """Return the files of each split."""
        return {"train": self.train, "dev": self.dev, **self.tests}

    def files(self) -> dict[str, Path]:
        """Return the files by their roles, such as `train source`."""
        pairs = self.pairs().items()
        texts = {f"{name} {side}": getattr(pair, side) for name, pair in pairs for side in ("source", "target")}
        return texts | {f"{name} checks": path for name, path in self.checks.items()}

    def moved(self, files: Mapping[str, Path]) -> ParallelFiles:
        """Return the same corpus with its files at other places."""
        pairs = {name: FilePair(files[f"{name} source"], files[f"{name} target"]) for name in self.pairs()}
        checks = {name: files[f"{name} checks"] for name in self.checks}
        return replace(self, train=pairs.pop("train"), dev=pairs.pop("dev"), tests=pairs, checks=checks)


def find_parallel_files(folder: Path, pair: str | None = None, on_share: OnShare = lambda share: None) -> ParallelFiles:
    """Find and check the files of a folder: `train.en`, `train.de`, `dev.*`, `test*.*`, plain or compressed.

    The pair is `en-de`, from the source language to the target language. `on_share` receives the share that was read.
    """
    splits = _list_splits(folder)
    source, target = _choose_languages(folder, splits, pair)
    chosen = f"{source}-{target}"
    train = _find_split(folder, splits, ("train",), source, target)
    dev = _find_split(folder, splits, DEV_NAMES, source, target)
    tests = {}
    for name in sorted((name for name in splits if name.startswith("test")), key=lambda name: (name != "test", name)):
        there = splits[name].keys()
        if {source, target} <= there or (len(there) == 1 and there <= {source, target}):
            tests[name] = _find_split(folder, splits, (name,), source, target)
    if not tests:
        raise ProbingError(f"{folder}: no test set of {chosen}. Looked for test*.{source} and test*.{target}")
    corpus = _make_checked(resolve_path(folder).name or "data", source, target, train, dev, tests, on_share)
    return _add_checks(corpus, folder) if target == LANGUAGE_CODE else corpus


def _add_checks(corpus: ParallelFiles, folder: Path) -> ParallelFiles:
    """Add the files of phenomena that lie beside the test sets; they are part of the corpus' identity."""
    paths = {name: folder / f"{name}{CHECKS_ENDING}" for name in corpus.tests}
    checks = {name: path for name, path in paths.items() if path.is_file()}
    if not checks:
        return corpus
    hashes = {name: inspect_text(path).sha256 for name, path in checks.items()}
    return replace(corpus, checks=checks, identity=hash_json([corpus.sha256, hashes]))


def name_parallel_files(
    *,
    train: tuple[Path, Path],
    dev: tuple[Path, Path],
    tests: Sequence[tuple[Path, Path]],
    on_share: OnShare = lambda share: None,
) -> ParallelFiles:
    """Check files that are named one by one, the source before the target; the languages are the files' endings."""
    if not tests:
        raise ProbingError("no test set. Name the files of at least one")
    source, target = (_split_name(path.name)[1] for path in train)
    if source == target or source in NO_LANGUAGES or target in NO_LANGUAGES:
        source, target = "source", "target"
    named: dict[str, FilePair] = {}
    for pair in tests:
        name = _split_name(pair[0].name)[0]
        numbered = (name if number == 1 else f"{name}-{number}" for number in count(1))
        named[next(each for each in numbered if each not in {"train", "dev", *named})] = FilePair(*pair)
    name = resolve_path(train[0]).parent.name or "data"
    return _make_checked(name, source, target, FilePair(*train), FilePair(*dev), named, on_share)


def inspect_pairs(
    pairs: Mapping[str, FilePair], on_share: OnShare = lambda share: None
) -> tuple[str, dict[str, tuple[TextFacts, TextFacts]]]:
    """Read and check all files; return the identity of the corpus, and the facts of both files of each split."""
    for pair in pairs.values():
        _refuse_same_file(pair)
    facts = {}
    for done, (name, pair) in enumerate(pairs.items()):
        start, middle, end = (part / 2 / len(pairs) for part in range(2 * done, 2 * done + 3))
        source = inspect_text(pair.source, part_of(on_share, start, middle))
        target = inspect_text(pair.target, part_of(on_share, middle, end))
        if source.lines != target.lines:
            raise ProbingError(
                f"{pair.source} has {source.lines:,} lines, {pair.target} has {target.lines:,}. "
                "Each line must be the translation of the same line of the other file"
            )
        if source.sha256 == target.sha256:
            raise ProbingError(f"{pair.source} and {pair.target} have the same text. One must be its translation")
        facts[name] = (source, target)
    return hash_json([[source.sha256, target.sha256] for source, target in facts.values()]), facts


def _make_checked(
    name: str,
    source: str,
    target: str,
    train: FilePair,
    dev: FilePair,
    tests: Mapping[str, FilePair],
    on_share: OnShare,
) -> ParallelFiles:
    """Check all files and return them as a corpus."""
    sha256, _ = inspect_pairs({"train": train, "dev": dev, **tests}, on_share)
    return ParallelFiles(
        name=name,
        source_language=source,
        target_language=target,
        train=train,
        dev=dev,
        tests=tests,
        sha256=sha256,
        checks={},
        identity=sha256,
    )


def _refuse_same_file(pair: FilePair) -> None:
    try:
        same = pair.source.samefile(pair.target)
    except (OSError, ValueError):  # it is not there, which is told when it is opened
        return
    if same:
        raise ProbingError(f"{pair.source} and {pair.target} are the same file. One must be the other's translation")


def _split_name(name: str) -> tuple[str, str]:
    """Return the split and the language of a file's name, such as `train.en`, `train.en.gz` or `train.en-de.en`."""
    for ending in ENDINGS:
        name = name.removesuffix(ending)
    split, dot, language = name.rpartition(".")
    shorter, _, pair = split.rpartition(".")
    if shorter and (pair.startswith(f"{language}-") or pair.endswith(f"-{language}")):
        split = shorter
    return (split, language) if dot else (name, "")


def _list_splits(folder: Path) -> dict[str, dict[str, list[Path]]]:
    """Return the files of a folder by split and language."""
    splits: defaultdict[str, defaultdict[str, list[Path]]] = defaultdict(lambda: defaultdict(list))
    for path in _list_folder(check_path(folder)):
        split, language = _split_name(path.name)
        if language not in NO_LANGUAGES and (split in ("train", *DEV_NAMES) or split.startswith("test")):
            splits[split][language].append(path)
    return {split: dict(languages) for split, languages in splits.items()}


def _list_folder(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        raise ProbingError(f"{folder}: cannot be read as a folder ({error.strerror or error})") from None


def _choose_languages(folder: Path, splits: Mapping[str, Mapping[str, object]], pair: str | None) -> tuple[str, str]:
    """Return the source and the target language of a pair such as `en-de`; a language may have a hyphen itself."""
    there = sorted(splits.get("train", ()))
    if pair is None:
        if not there:
            raise ProbingError(f"{folder}: no training text. Looked for train.LANGUAGE, such as train.en and train.de")
        if len(there) == 1:
            raise ProbingError(f"{folder}: train.{there[0]} is there, but no training text in a second language")
        first, second = there[:2]
        if len(there) == 2:
            raise ProbingError(f"{folder}: which way? Give --pair {first}-{second} or --pair {second}-{first}")
        raise ProbingError(
            f"{folder}: training text in {', '.join(there)}. Give the source and the target, such as "
            f"--pair {first}-{second}"
        )
    ways = [ends for ends in _cut_pair(pair) if all(ends) and ends[0] != ends[1]]
    if not ways:
        raise ProbingError(f"--pair {pair}: expected a source and a target language, such as en-de")
    return max(ways, key=lambda ends: len({*ends} & {*there}))


def _cut_pair(pair: str) -> Iterator[tuple[str, str]]:
    return ((pair[:place], pair[place + 1 :]) for place, letter in enumerate(pair) if letter == "-")


def _find_split(
    folder: Path, splits: Mapping[str, Mapping[str, list[Path]]], names: Iterable[str], source: str, target: str
) -> FilePair:
    """Return both files of a split, which may have one of several names."""
    languages = (source, target)
    sides = [[path for name in names for path in splits.get(name, {}).get(language, ())] for language in languages]
    for paths, language in zip(sides, languages, strict=True):
        if not paths:
            looked = " or ".join(f"{name}.{language}" for name in names)
            raise ProbingError(f"{folder}: no file {looked} (or the same with .gz, .bz2 or .xz)")
        if len(paths) > 1:
            found = " and ".join(path.name for path in paths)
            raise ProbingError(f"{folder}: {found} are there, and only one can be used. Move the others away")
    return FilePair(sides[0][0], sides[1][0])
