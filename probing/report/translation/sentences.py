"""Test sentences with the translations of each system, for comparison side by side."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from probing.errors import ProbingError
from probing.report.translation.grouping import TranslationGroup, TranslationSystem
from probing.results import Record, read_sentences, translation_path
from probing.translation.scoring import compute_sentence_bleu

ROOM = 6_000_000
"""Largest number of characters of sentences in a page; of more, those on which systems differ most are shown."""


@dataclass(frozen=True, slots=True)
class TranslatedSentences:
    """TranslatedSentences of a test set, and what each system made of them."""

    numbers: list[int] = field(default_factory=list)
    """Place of each sentence in the test set, counted from 1."""
    sources: list[str] = field(default_factory=list)
    references: list[str] = field(default_factory=list)
    outputs: dict[int, list[str]] = field(default_factory=dict)
    """Translations of each system, by its place among the measured ones."""
    scores: dict[int, list[float]] = field(default_factory=dict)
    """BLEU of each of these translations."""
    seeds: dict[int, int] = field(default_factory=dict)
    """Seed of the record that the translations are of."""
    missing: list[str] = field(default_factory=list)
    """TranslatedSentences on systems whose translations cannot be shown."""
    left_out: int = 0
    """Number of sentences for which the page has no room."""

    def as_data(self) -> dict[str, Any]:
        """Return the sentences for the page's script."""
        scores = {place: [round(score, 2) for score in found] for place, found in self.scores.items()}
        return {
            "numbers": self.numbers,
            "sources": self.sources,
            "references": self.references,
            "outputs": self.outputs,
            "scores": scores,
            "seeds": self.seeds,
        }


def list_sentences(group: TranslationGroup, folder: Path) -> TranslatedSentences:
    """Return the test sentences of a group from the files beside its records, as far as they are there and fit."""
    found = TranslatedSentences()
    for place, system in enumerate(group.list_measured()):
        try:
            record, texts = _read_system(group, system, folder)
        except ProbingError as error:
            found.missing.append(str(error))
            continue
        sources, references, outputs = texts
        if not found.outputs:
            found.numbers.extend(range(1, len(sources) + 1))
            found.sources.extend(sources)
            found.references.extend(references)
        elif references != found.references:
            found.missing.append(f"{system.label}: its references are not those of the others")
            continue
        found.outputs[place] = outputs
        assert record.translation is not None
        found.scores[place] = compute_sentence_bleu(record.translation.tests[group.test].statistics)
        found.seeds[place] = record.identity.seed
    return _cut(found)


def _read_system(
    group: TranslationGroup, system: TranslationSystem, folder: Path
) -> tuple[Record, tuple[list[str], list[str], list[str]]]:
    """Return the first record of a system whose texts are there, and its sources, references and outputs."""
    for record in system.records:
        path = record.path(folder)
        if translation_path(path, group.test, "output").is_file():
            assert record.translation is not None
            number = len(record.translation.tests[group.test].statistics)
            return record, (
                _read_lines(path, group.test, "source", number),
                _read_lines(path, group.test, "reference", number),
                _read_lines(path, group.test, "output", number),
            )
    raise ProbingError(f"{system.label}: its translations of {group.test} are not beside its records")


def _read_lines(path: Path, test: str, kind: Literal["source", "reference", "output"], number: int) -> list[str]:
    """Return the lines of a file, which must be as many as the record has sentences."""
    lines = read_sentences(path, test, kind)
    if len(lines) != number:
        name = translation_path(path, test, kind).name
        raise ProbingError(f"{name} beside {path.name}: {len(lines)} lines, but the record has {number} sentences")
    return lines


def _cut(found: TranslatedSentences) -> TranslatedSentences:
    """Return the sentences on which systems differ most, as many as there is room for, in their order."""
    texts = [found.sources, found.references, *found.outputs.values()]
    sizes = [sum(map(len, lines)) for lines in zip(*texts, strict=True)]
    if sum(sizes) <= ROOM:
        return found
    scores = list(zip(*found.scores.values(), strict=True))
    order = sorted(range(len(sizes)), key=lambda place: min(scores[place]) - max(scores[place]))
    kept, used = [], 0
    for place in order:
        used += sizes[place]
        if used > ROOM:
            break
        kept.append(place)
    kept.sort()
    return TranslatedSentences(
        numbers=[found.numbers[place] for place in kept],
        sources=[found.sources[place] for place in kept],
        references=[found.references[place] for place in kept],
        outputs={system: [lines[place] for place in kept] for system, lines in found.outputs.items()},
        scores={system: [lines[place] for place in kept] for system, lines in found.scores.items()},
        seeds=found.seeds,
        missing=found.missing,
        left_out=len(sizes) - len(kept),
    )
