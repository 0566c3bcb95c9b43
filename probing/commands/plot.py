"""`probe plot`: figures for papers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from probing.commands import options
from probing.report import FIGURES


@click.command()
@click.argument("kind", type=click.Choice(FIGURES))
@click.option("-o", "--output", type=options.FILE, required=True, help="File of the figure: .svg, .png or .pdf.")
@options.RESULTS
@options.BY
@options.FILTERS
def plot(kind: str, output: Path, results: Path, by: tuple[str, ...], **filters: Any) -> None:
    """Draw a figure as wide as a column of a paper.

    dots: accuracies with 95 % intervals; curves: dev accuracy by epoch; confusion: which labels one model confuses on
    one task; layers: accuracies by task and layer of an encoder; sweep: accuracies against the setting that --by names
    first, or in which the models differ; bleu: accuracies of translators' encoders against their BLEU. Needs
    matplotlib: pip install 'probing[plots]'.

    \b
    probe plot dots -o dots.pdf
    probe plot curves --task Tense -o curves.svg
    probe plot confusion --task TrDep --model em -o confusion.png
    probe plot layers --model bert-base-uncased -o layers.pdf
    probe plot sweep --by training.sentences -o sweep.pdf
    probe plot bleu -o bleu.pdf
    """
    from probing.report.plots import load_and_plot
    from probing.report.selection import Selection

    load_and_plot(results, kind, output, selection=Selection(**filters), by=by, on_damaged=options.warn)
    options.warn(f"{output} is written")
