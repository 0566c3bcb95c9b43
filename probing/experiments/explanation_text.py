"""Explanations as text: each sentence, then the heads that each task relies on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tabulate import tabulate

from probing.errors import as_one_line, escape_rows
from probing.experiments.explaining import ExplainedSentence, Explanation

BARS = "▁▂▃▄▅▆▇█"
UNKNOWN_MEANS = "word?: a word that the model has not seen in training; to it, all of them are one and the same."
"""Legend of the question marks."""
ROUTING_MEANS = (
    "Routing over some test sentences. Effective heads: exp of the entropy of the heads' shares in a capsule, by "
    "iteration.\nSpread: standard deviation of a capsule's activation over tokens, relative to the mean activation."
)
"""Title of the table of routed layers."""
ROUTING_COLUMNS = ("effective heads", "activation", "spread")


def render(explanations: Sequence[Explanation]) -> str:
    """Return explanations as text: each sentence, then which heads each task relies on."""
    parts = []
    for each in explanations:
        origin = f"{each.task}, {each.model}, seed {each.seed}; data: {each.data}; preset: {each.preset}"
        parts.append(f"{as_one_line(origin)}; test accuracy {each.test_accuracy:.2f}")
        parts += [_render_sentence(sentence) for sentence in each.sentences]
    if any(any(sentence.unknown) for each in explanations for sentence in each.sentences):
        parts.append(UNKNOWN_MEANS)
    return "\n\n".join([*parts, *_render_routing(explanations), *_render_masking(explanations)])


def _render_sentence(sentence: ExplainedSentence) -> str:
    tokens = zip(map(as_one_line, sentence.tokens), sentence.unknown, strict=True)
    shown = [f"{token}?" if unknown else token for token, unknown in tokens]
    verdict = "" if sentence.gold is None else f" (gold: {as_one_line(sentence.gold)})"
    predicted = as_one_line(sentence.predicted)
    blocks = [f"{' '.join(shown)}\n→ {predicted}, {sentence.probability:.1%}{verdict}"]
    for number, layer in enumerate(sentence.layers, 1):
        heads = [f"head {head}" for head in range(1, len(layer["attention"]) + 1)]
        attended = [
            [token, *(_strongest(row[place], shown) for row in layer["attention"])] for place, token in enumerate(shown)
        ]
        blocks.append(_table(f"Layer {number}, attention: what each head takes most of, in %", heads, attended))
        if "share" in layer:
            title = (
                f"Layer {number}, routing: each head's share in the capsules in %, by iteration; bars: capsule groups"
            )
            rows = [
                [token, *(_moves(layer["share"], place, head) for head in range(len(heads)))]
                for place, token in enumerate(shown)
            ]
            blocks.append(_table(title, heads, rows))
    return "\n\n".join(blocks)


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return f"{title}\n{_tabulate(['', *heads], rows)}"


def _tabulate(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return tabulate(escape_rows(rows), escape_rows([list(header)])[0], disable_numparse=True)


def _strongest(weights: Sequence[float], tokens: Sequence[str]) -> str:
    best = max(range(len(weights)), key=weights.__getitem__)
    return f"{tokens[best]} {weights[best]:.0%}".removesuffix("%")


def _moves(shares: Sequence[Any], place: int, head: int) -> str:
    """Return a head's share over the iterations, and how it ends up in each group of capsules."""
    groups = shares[-1][place][head]
    means = [sum(iteration[place][head]) / len(groups) for iteration in shares]
    bars = "".join(BARS[min(len(BARS) - 1, int(share * len(BARS)))] for share in groups)
    return f"{'→'.join(f'{100 * mean:.0f}' for mean in means)} {bars}"


def _render_routing(explanations: Sequence[Explanation]) -> list[str]:
    """Return one table of all routed layers."""
    rows = [
        [
            f"{each.task}, {each.model}, layer {one.layer}",
            " → ".join(f"{heads:.2f}" for heads in one.effective_heads) + f" of {one.heads}",
            "" if one.activation is None else f"{one.activation:.3f}",
            "" if one.spread is None else f"{one.spread:.1%}",
        ]
        for each in explanations
        for one in each.routing
    ]
    return [f"{ROUTING_MEANS}\n{_tabulate(['', *ROUTING_COLUMNS], rows)}"] if rows else []


def _render_masking(explanations: Sequence[Explanation]) -> list[str]:
    """Return one table a task: heads by models."""
    tables = []
    for task in dict.fromkeys(each.task for each in explanations):
        members = [each for each in explanations if each.task == task]
        places = sorted({(m.layer, m.head) for each in members for m in each.masking})
        found = [{(m.layer, m.head): m.drop for m in each.masking} for each in members]
        rows = [
            [
                f"layer {layer} head {head}",
                *(f"{drops[layer, head]:+.2f}" if (layer, head) in drops else "" for drops in found),
            ]
            for layer, head in places
        ]
        if rows:
            title = f"{as_one_line(task)}: points of test accuracy lost without a head"
            tables.append(_table(title, [each.model for each in members], rows))
    return tables
