"""Surface tasks: SeLen (how long is the sentence) and WC (which of the target words is in it)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random

from probing.corpus.builders.facts import Facts, is_word
from probing.corpus.builders.plans import Drawn, Plan
from probing.corpus.builders.sampling import SPLITS, CannotBuildError, Instance, Sizes, Splits, deal
from probing.corpus.builders.survey import Survey

BINS = ((5, 8), (9, 12), (13, 16), (17, 20), (21, 25), (26, 28))
"""SeLen's classes 0 to 5, in tokens."""

MAX_TARGETS = 1000
MIN_TARGETS = 10
RANKS_PER_TARGET = 2
"""The targets follow on the first 2 x 1000 words by frequency."""
MIN_CHARACTERS = 4
MIN_CHARACTERS_OF_SHORT_WORDS = 2
"""For a script in which hardly any word has four characters, such as Chinese."""
LEAST = {"tr": 10, "va": 1, "te": 1}
"""A target needs so many sentences at least: fewer targets are better than targets seen a few times only."""
WANTED = {"tr": 50, "va": 5, "te": 5}
"""Where few instances are asked for, there are fewer targets rather than fewer sentences than this for each."""


def sentence_length(survey: Survey, sizes: Sizes) -> Plan:
    """Six bins of token counts, equally frequent."""
    labels = {length: str(label) for label, (low, high) in enumerate(BINS) for length in range(low, high + 1)}

    def assemble(drawn: Drawn, random: Random) -> Splits:
        for label, (low, high) in enumerate(BINS):
            if not drawn.get(str(label)):
                raise CannotBuildError(f"no sentences of {low} to {high} tokens")
        instances = {str(label): [Instance(str(label), f.tokens) for f in found] for label, found in drawn.items()}
        return deal(instances, sizes, random)

    return Plan(
        classify=lambda facts: labels[len(facts.tokens)],
        capacity=lambda _: sizes.total // len(BINS) + len(SPLITS),
        assemble=assemble,
        settings={"bins": {str(label): f"{low}-{high} tokens" for label, (low, high) in enumerate(BINS)}},
    )


def word_content(survey: Survey, sizes: Sizes) -> Plan:
    """The one target word of a sentence, out of words of middle frequency."""
    words = sorted(filter(is_word, survey.folded), key=lambda word: (-survey.folded[word], word))
    min_characters = choose_min_characters(words)
    targets, skipped = _choose_targets(words, survey.folded, min_characters, sizes)
    dropped: Counter[str] = Counter()
    per_target = sizes.total // len(targets) + len(SPLITS)

    def classify(facts: Facts) -> str | None:
        found = [token for token in map(str.lower, facts.tokens) if token in targets]
        if len(found) == 1:
            return found[0]
        dropped["no target word" if not found else "several target words"] += 1
        return None

    settings = {"targets": len(targets), "first_rank": skipped + 1, "min_characters": min_characters}

    def assemble(drawn: Drawn, random: Random) -> Splits:
        kept = _fill_targets({str(word): len(found) for word, found in drawn.items()}, sizes)
        settings["targets"] = len(kept)
        settings["targets_without_enough_sentences"] = len(targets) - len(kept)
        instances = {word: [Instance(word, f.tokens) for f in drawn[word]] for word in kept}
        return deal(instances, sizes, random)

    return Plan(
        classify=classify, capacity=lambda _: 2 * per_target, assemble=assemble, settings=settings, dropped=dropped
    )


def _choose_targets(
    words: Sequence[str], counts: Mapping[str, int], min_characters: int, sizes: Sizes
) -> tuple[set[str], int]:
    """Return the target words and how many more frequent words were passed over; `words` are ranked."""
    room = min(size // LEAST[split] for split, size in sizes.by_split().items())
    ample = min(size // WANTED[split] for split, size in sizes.by_split().items())
    number = min(MAX_TARGETS, room, max(ample, MIN_TARGETS))
    # Half of a word's sentences hold another target, or one word twice, and are of no use.
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
    """Return how long a target must be: four characters, unless few words are so long."""
    long = sum(len(word) >= MIN_CHARACTERS for word in words)
    return MIN_CHARACTERS if 4 * long >= len(words) else MIN_CHARACTERS_OF_SHORT_WORDS


def _fill_targets(available: dict[str, int], sizes: Sizes) -> list[str]:
    """Return the targets to keep: those whose number times the sentences that each has is largest."""
    words = sorted(available, key=lambda word: (-available[word], word))
    least = sum(LEAST.values())
    enough = [number for number, word in enumerate(words, 1) if available[word] >= least]
    if len(enough) < MIN_TARGETS:
        raise CannotBuildError(f"only {len(enough)} target words have {least} sentences without another target")
    best = max(enough, key=lambda number: (min(number * available[words[number - 1]], sizes.total), number))
    return words[:best]
