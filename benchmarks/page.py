"""Write the figures of docs/performance.md from benchmarks/results.json.

python -m benchmarks.page                  puts them between the markers of the page
python -m benchmarks.page --print          prints them
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks import corpus, epochs, growth, products, reporting, routing, running, translation

FOLDER = Path(__file__).parent
START, END = "<!-- performance -->", "<!-- /performance -->"


def write_section(results: dict[str, Any]) -> str:
    """Return the section's Markdown; a part without figures is left out."""
    writers = {
        "routing": _write_routing,
        "epochs": _write_epochs,
        "products": _write_products,
        "running": _write_running,
        "growth": _write_growth,
        "reporting": _write_reporting,
        "corpus": _write_corpus,
        "embedding": _write_embedding,
        "translation": _write_translation,
    }
    parts = [writers[name](results[name]["figures"]) for name in writers if name in results]
    return "\n\n".join([_write_conditions(results), *parts])


def _write_conditions(results: dict[str, Any]) -> str:
    each = [part["conditions"] for part in results.values()]
    texts = []
    for conditions in each:
        machine = conditions["machine"]
        clock = "" if conditions["clock"] == "wall" else ", CPU time"
        texts.append(
            f"{machine['processor']}, {machine['cores']} cores, {conditions['threads']} threads{clock}; "
            f"Python {machine['python']}, torch {machine['torch']}; routing by {conditions['implementation']}"
        )
    return (
        f"Measured by `make bench` on {'; '.join(dict.fromkeys(texts))}. Candidates take turns, and every ratio is "
        "the median over rounds of two runs of one round. This section is made from `benchmarks/results.json` by "
        "`python -m benchmarks.page`."
    )


def _write_embedding(figures: list[dict[str, Any]]) -> str:
    ours, theirs = figures
    return (
        f"**Embedding.** `{ours['encoder']}MODEL` with MiniLM embeds {ours['sentences_per_second']:,.0f} sentences a "
        f"second, {ours['ratio']:.2f} times as many as {theirs['encoder']} with the same model."
    )


def _write_routing(figures: dict[str, Any]) -> str:
    sizes = list(figures)
    header = [
        "aggregator",
        *(f"{size}: {column}" for size in sizes for column in ("ms a step", "time", "MB", "memory")),
    ]
    rows = []
    for name in figures[sizes[0]]:
        cells = [name]
        for size in sizes:
            row = figures[size][name]
            cells += [
                f"{row['milliseconds']:.0f}",
                f"{row['time_ratio']:.2f}x",
                f"{row['megabytes']:.0f}",
                f"{row['memory_ratio']:.2f}x",
            ]
        rows.append(cells)
    goals = " and ".join(f"{goal}x at {size} size" for size, goal in routing.GOALS.items())
    return (
        "**Routing.** A training step of 64 sentences of 16 tokens, and its peak memory beyond the weights, as "
        f"multiples of the same model with the votes but no routing. The goal is {goals}, and {routing.MEMORY_GOAL}x "
        f"memory; {_judge_routing(figures)}\n\n{_tabulate(header, rows)}"
    )


def _judge_routing(figures: dict[str, Any]) -> str:
    missed = []
    for size, goal in routing.GOALS.items():
        for name in ("simple", "em"):
            row = figures[size][name]
            if row["time_ratio"] > goal:
                missed.append(f"{name}'s time at {size} size")
            if row["memory_ratio"] > routing.MEMORY_GOAL:
                missed.append(f"{name}'s memory at {size} size")
    return f"missed by {', '.join(missed)}." if missed else "met."


def _write_epochs(figures: dict[str, Any]) -> str:
    header = ["size", "aggregator", "tokens/s", "s an epoch", "plain loop, s", "times as fast"]
    rows = [
        [
            size,
            name,
            f"{row['tokens_per_second']:,.0f}",
            f"{row['seconds']:.2f}",
            f"{row['plain_seconds']:.2f}",
            f"{row['speedup']:.1f}",
        ]
        for size, models in figures.items()
        for name, row in models.items()
    ]
    padding = ", ".join(f"{100 * models['em']['padding']:.1f} % at {size} size" for size, models in figures.items())
    return (
        "**Epochs.** Sentences as long as SentEval's (5 to 28 tokens, 12 on average) in random batches of 64, against "
        "a straightforward PyTorch loop: padded batches, attention and routing written out. The goal for em is "
        f"{epochs.GOAL:.0f} times as fast. Padding takes {padding} of a step of em (goal: below "
        f"{100 * epochs.PADDING_GOAL:.0f} %).\n\n{_tabulate(header, rows)}"
    )


def _write_products(figures: dict[str, Any]) -> str:
    header = ["size", "aggregator", "ms a step", "ms its products alone", "share"]
    rows = [
        [
            size,
            name,
            f"{row['milliseconds']:.0f}",
            f"{row['products_milliseconds']:.0f}",
            f"{100 * row['share']:.0f} %",
        ]
        for size, models in figures.items()
        for name, row in models.items()
    ]
    return (
        "**Matrix products.** A step against its own matrix products alone, replayed back to back (those of the "
        f"attention kernel count as time lost). The goal is {100 * products.GOAL:.0f} %.\n\n{_tabulate(header, rows)}"
    )


def _write_running(figures: dict[str, Any]) -> str:
    jobs, goals = figures["jobs"], running.GOALS
    start = f"{figures['start_seconds']:.1f} s (goal: {goals['start_seconds']:.0f} s)"
    if "torch_seconds" in figures:  # which older figures lack
        start += (
            f"; `import torch` alone, in Python, takes {figures['torch_seconds']:.1f} s "
            f"(goal: at most {goals['beyond_torch_seconds']:.0f} s less)"
        )
    return (
        f"**A run as a whole.** A file of {running.LINES:,} lines is read and indexed in "
        f"{figures['read_seconds']:.1f} s (goal: {goals['read_seconds']:.0f} s) and comes from the cache in "
        f"{figures['cached_seconds']:.2f} s. From `probe run` to the first training step it takes "
        f"{start}. Two cells of preset small take "
        f"{jobs['one_process_seconds']:.1f} s one after the other on all cores and "
        f"{jobs['two_processes_seconds']:.1f} s side by side with `--jobs 2` ({jobs['ratio']:.2f}x)."
    )


def _write_growth(figures: dict[str, Any]) -> str:
    rows = [
        [
            name,
            *(", ".join(format(row[key], pattern) for row in values.values()) for key, pattern in GROWTH_COLUMNS),
        ]
        for name, values in ((f"{name} = {', '.join(rows)}", rows) for name, rows in figures.items())
    ]
    smallest = growth.SIZES
    return (
        f"**Growth.** A step of em at preset small (d = N = {smallest.model_dim}, T = {smallest.iterations}, 64 "
        f"sentences), when one thing grows.\n\n{_tabulate(['what grows', 'ms a step', 'MB at the peak'], rows)}"
    )


def _write_reporting(figures: dict[str, Any]) -> str:
    texts = [f"{row['seconds']:.1f} s for {int(number):,}" for number, row in figures.items()]
    return (
        f"**Reports.** `probe report` on records of {reporting.SENTENCES:,} test sentences takes {', '.join(texts)} of "
        f"them (goal: {reporting.GOAL:.0f} s for 10,000)."
    )


def _write_corpus(figures: dict[str, Any]) -> str:
    one, two = (figures["large"][jobs] for jobs in ("1", "2"))
    return (
        f"**Corpora.** `probe data build` makes the ten tasks from {corpus.LARGE:,} trees in {one['seconds']:.0f} s by "
        f"one process ({one['trees_per_second']:,.0f} trees a second; goal: {corpus.GOALS['trees_per_second']:,}) and "
        f"in {two['seconds']:.0f} s by two (goal: {corpus.GOALS['large_seconds']} s), writing included. Brackets are "
        f"read {figures['penn_speedup']:.1f} times as fast as nltk parses them, CoNLL-U "
        f"{figures['conllu_speedup']:.1f} times as fast as the conllu package does."
    )


def _write_translation(figures: dict[str, Any]) -> str:
    training = [
        [
            size,
            name,
            f"{row['tokens_per_second']:,.0f}",
            f"{row['milliseconds']:.0f}",
            f"{row['padded_milliseconds']:.0f}",
            f"{row['speedup']:.1f}",
        ]
        for size, models in figures["training"].items()
        for name, row in models.items()
    ]
    decoding = [
        [
            size,
            name,
            f"{row['sentences_per_second']:.1f}",
            f"{row['subwords_per_second']:,.0f}",
            f"{row['speedup']:.2f}",
        ]
        for size, models in figures["decoding"].items()
        for name, row in models.items()
    ]
    sizes, goals = list(figures["routing"]), translation.DECODING_GOALS
    names = ", ".join(f"{name} {goal:.1f} times" for name, goal in translation.TRAINING_GOALS.items())
    routed = [
        [
            name,
            *(
                f"{row[name]['sentences_per_second']:.1f} ({row[name]['share']:.2f})"
                for row in figures["routing"].values()
            ),
            f"{paper:.2f} ({paper / translation.PAPER['base']:.2f})",
        ]
        for name, paper in translation.PAPER.items()
    ]
    grown = [
        [name, f"{what} = {', '.join(rows)}", ", ".join(f"{row['milliseconds']:.1f}" for row in rows.values())]
        for name, parts in figures["growth"].items()
        for what, rows in parts.items()
    ]
    missing = "" if translation.CTRANSLATE2 in figures["decoding"][sizes[0]] else " CTranslate2 was not installed."
    batches = ", ".join(f"{translation.SIZES[size].batch_tokens} tokens at {size} size" for size in sizes)
    return (
        "**Training a translator.** Random pairs of 4 to 40 subwords, 13 on average, against `torch.nn.Transformer` "
        f"with padded batches of the same pairs, torch's cross-entropy and Adam; batches of {batches}. em is in all "
        "three attentions; its padded loop has attention written out and em in plain torch operations, for padding "
        f"too. The goals: {names} as fast.\n\n"
        f"{_tabulate(['size', 'aggregator', 'tokens/s', 'ms a step', 'padded loop, ms', 'times as fast'], training)}"
        f"\n\n**Decoding.** Beam {translation.BEAM}, random weights, {translation.LENGTH} subwords a source; all "
        "candidates make the same number of steps, since no translation may end earlier. Hugging Face is `generate` of "
        "a Marian model of the same sizes; CTranslate2 has the same weights in float32. The last column says how many "
        f"times as fast base is as each. The goals: {goals[translation.MARIAN]:.0f} times Hugging Face's speed and a "
        f"third of CTranslate2's.{missing} The project trains and decodes by oneDNN; torch.nn "
        "and Hugging Face use torch's default library. Where that one is as fast, the ratios are smaller.\n\n"
        f"{_tabulate(['size', 'candidate', 'sentences/s', 'subwords/s', 'base against it'], decoding)}"
        "\n\n**Cost of routing in decoding.** Sentences a second, and in brackets the share of base's. The paper's "
        "decoder projects the encoder's output again in every step. This one does not, which takes as much time from "
        "base as from em, and so makes routing's share of the time larger.\n\n"
        f"{_tabulate(['aggregator', *(f'{size} size' for size in sizes), 'paper'], routed)}"
        f"\n\n**Growth of decoding.** At {sizes[0]} size, {translation.LENGTH} subwords a source and beam "
        f"{translation.BEAM} except for what grows; translations are as long as their sources.\n\n"
        f"{_tabulate(['aggregator', 'what grows', 'ms a sentence'], grown)}"
    )


GROWTH_COLUMNS = (("milliseconds", ".0f"), ("megabytes", ".0f"))


def _tabulate(header: list[str], rows: list[list[str]]) -> str:
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, rule, *rows))


def insert(text: str, section: str) -> str:
    """Return the page's text with the section between its markers."""
    before, start, rest = text.partition(START)
    _, end, after = rest.partition(END)
    if not (start and end):
        raise SystemExit(f"docs/performance.md has no {START} … {END}: put both where the section belongs")
    return f"{before}{start}\n{section}\n{end}{after}"


def main() -> None:
    parser = argparse.ArgumentParser(
        "python -m benchmarks.page", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--print", action="store_true", help="print the section, change nothing")
    options = parser.parse_args()
    section = write_section(json.loads((FOLDER / "results.json").read_text(encoding="utf-8")))
    if options.print:
        sys.stdout.write(section + "\n")
        return
    page = FOLDER.parent / "docs" / "performance.md"
    page.write_text(insert(page.read_text(encoding="utf-8"), section), encoding="utf-8")


if __name__ == "__main__":
    main()
