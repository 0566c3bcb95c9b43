"""Surface tasks: SeLen (the length of the sentence) and WC (which of the target words it contains)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from probing.corpus.builders.annotations import Annotations, is_word
from probing.corpus.builders.drawing import Drawn, SamplingDesign, label_sentences
from probing.corpus.builders.sampling import CannotBuildError, Sizes, choose_imbalance, deal, describe_choice
from probing.corpus.builders.survey import Survey
from probing.corpus.instances import Splits
from probing.corpus.lengths import LENGTH_BINS
from probing.tasks import SPLITS

MAX_TARGETS = 1000
"""Largest number of target words."""
MIN_TARGETS = 10
"""Smallest number of target words."""
RANKS_PER_TARGET = 2
"""More frequent words that are passed over for each target: with 1000 targets, the first 2000."""
MIN_CHARACTERS = 4
"""Smallest number of characters of a target word."""
MIN_CHARACTERS_OF_SHORT_WORDS = 2
"""Smallest number of characters in a script in which few words have four characters, such as Chinese."""
LEAST = {"tr": 10, "va": 1, "te": 1}
"""Split -> smallest number of sentences of a target: fewer targets are better than rarely seen ones."""
WANTED = {"tr": 50, "va": 5, "te": 5}
"""Split -> number of sentences of a target below which the number of targets is reduced, for a small task."""


def sentence_length(survey: Survey, sizes: Sizes) -> SamplingDesign:
    """Return the design of SeLen: six bins of token counts, equally frequent."""
    labels = {length: label for label, (low, high) in LENGTH_BINS.items() for length in range(low, high + 1)}

    def assemble(drawn: Drawn, random: Random) -> Splits:
        for label, (low, high) in LENGTH_BINS.items():
            if not drawn.get(label):
                raise CannotBuildError(f"no sentences of {low} to {high} tokens")
        imbalance = choose_imbalance({str(label): len(found) for label, found in drawn.items()}, sizes)
        settings.update(describe_choice(imbalance, sizes))
        return deal(label_sentences(drawn), replace(sizes, imbalance=imbalance), random)

    settings: dict[str, Any] = {"bins": {label: f"{low}-{high} tokens" for label, (low, high) in LENGTH_BINS.items()}}
    return SamplingDesign(
        classify=lambda sentence: labels[len(sentence.tokens)],
        capacity=lambda _: sizes.total // len(LENGTH_BINS) + len(SPLITS),
        assemble=assemble,
        settings=settings,
    )


def word_content(survey: Survey, sizes: Sizes) -> SamplingDesign:
    """Return the design of WC: the one target word of a sentence, out of words of middle frequency."""
    words = sorted(filter(is_word, survey.folded), key=lambda word: (-survey.folded[word], word))
    min_characters = choose_min_characters(words)
    targets, skipped = _choose_targets(words, survey.folded, min_characters, sizes)
    dropped: Counter[str] = Counter()
    per_target = sizes.total // len(targets) + len(SPLITS)

    def classify(sentence: Annotations) -> str | None:
        found = [token for token in map(str.lower, sentence.tokens) if token in targets]
        if len(found) == 1:
            return found[0]
        dropped["no target word" if not found else "several target words"] += 1
        return None

    settings: dict[str, Any] = {"targets": len(targets), "first_rank": skipped + 1, "min_characters": min_characters}

    def assemble(drawn: Drawn, random: Random) -> Splits:
        kept = _fill_targets({str(word): len(found) for word, found in drawn.items()}, sizes)
        settings["targets"] = len(kept)
        settings["targets_without_enough_sentences"] = len(targets) - len(kept)
        settings.update(describe_choice(sizes.imbalance or 1, sizes))
        return deal(label_sentences({word: drawn[word] for word in kept}), sizes, random)

    return SamplingDesign(
        classify=classify, capacity=lambda _: 2 * per_target, assemble=assemble, settings=settings, dropped=dropped
    )


def _choose_targets(
    words: Sequence[str], counts: Mapping[str, int], min_characters: int, sizes: Sizes
) -> tuple[set[str], int]:
    """Return the target words and the number of more frequent words passed over; `words` are sorted by frequency."""
    room = min(size // LEAST[split] for split, size in sizes.by_split().items())
    ample = min(size // WANTED[split] for split, size in sizes.by_split().items())
    number = min(MAX_TARGETS, room, max(ample, MIN_TARGETS))
    # Half of a word's sentences contain another target, or one twice, and cannot be used.
    least = 2 * sum(LEAST.values())
    while number >= MIN_TARGETS:
        skipped = RANKS_PER_TARGET * number
        long_enough = [word for word in words[skipped:] if len(word) >= min_characters][:number]
        if len(long_enough) == number and counts[long_enough[-1]] >= least:
            return set(long_enough), skipped
        number = number * 9 // 10
    if room < MIN_TARGETS:
        raise CannotBuildError(
            f"the sizes asked for give room for {room} target words; at least {MIN_TARGETS} are needed, "
            + ", ".join(f"{count * MIN_TARGETS} {split}" for split, count in LEAST.items())
        )
    raise CannotBuildError(f"no {MIN_TARGETS} words of middle frequency occur {least} times or more")


def choose_min_characters(words: Sequence[str]) -> int:
    """Return the smallest number of characters of a target: four, unless few words are that long."""
    long = sum(len(word) >= MIN_CHARACTERS for word in words)
    return MIN_CHARACTERS if 4 * long >= len(words) else MIN_CHARACTERS_OF_SHORT_WORDS


def _fill_targets(available: dict[str, int], sizes: Sizes) -> list[str]:
    """Return the targets to keep: as many as inform most, if each has as many sentences as the rarest."""
    words = sorted(available, key=lambda word: (-available[word], word))
    least = sum(LEAST.values())
    enough = [number for number, word in enumerate(words, 1) if available[word] >= least]
    if len(enough) < MIN_TARGETS:
        raise CannotBuildError(f"only {len(enough)} target words have {least} sentences without another target")

    def inform(number: int) -> float:  # as measure_information does, for equally many sentences of each target
        return math.log2(number) * math.sqrt(min(number * available[words[number - 1]], sizes.total))

    return words[: max(enough[MIN_TARGETS - 1 :], key=lambda number: (inform(number), number))]
