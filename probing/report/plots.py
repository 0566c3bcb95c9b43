"""Figures for papers: dots with intervals, training curves, a confusion matrix, accuracies by layer or setting.

They are as wide as a column of a paper, with letters that are readable at that size. The colours are those of Okabe &
Ito, which colour-blind readers can distinguish, and every model has a marker as well.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from probing.errors import ProbingError, as_one_line
from probing.report.confusion import count_confusions
from probing.report.grouping import AVERAGE, ModelResults, ResultGroup, TaskResult, group_results, load_records
from probing.report.layers import find_stacks
from probing.report.selection import EVERYTHING, Selection
from probing.report.sweep_plot import Positions, draw_line, list_lines
from probing.report.sweeps import find_sweep
from probing.report.table import TableValue, make_accuracies
from probing.report.writing import write_file
from probing.statistics import Interval

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMN = 3.3
"""Width of a paper's column in inches."""
STYLE: Any = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "lines.linewidth": 1.0,
    "savefig.dpi": 300,
    "svg.fonttype": "none",
    "text.parse_math": False,
    "svg.hashsalt": "probing",
    "pdf.fonttype": 42,
}
"""Matplotlib's settings for all figures."""
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8a8200")
"""Colours of the models, in turn."""
MARKERS = "os^Dx"
"""Markers of the models, in turn; five markers and eight colours make forty models look different."""
SAVE_OPTIONS: Mapping[str, dict[str, Any]] = {
    ".svg": {"metadata": {"Date": None}},
    ".png": {},
    ".pdf": {"metadata": {"CreationDate": None}},
}
"""Options of `savefig` for each file ending; without dates, the same records make the same file."""


def load_and_plot(
    folder: Path,
    kind: str,
    output: Path,
    *,
    selection: Selection = EVERYTHING,
    by: Sequence[str] = (),
    on_damaged: Callable[[str], None],
) -> None:
    """Draw one figure from a results folder and write it to a file; `by` names the settings of a sweep."""
    if by and kind != "sweep":
        raise ProbingError(f"--by goes with the figure sweep, not with {kind}")
    if output.suffix.lower() not in SAVE_OPTIONS:
        raise ProbingError(f"{output}: a figure's name must end in .svg, .png or .pdf. Got {output.suffix!r}")
    try:
        # A matplotlibrc in the current folder, which may be of unknown origin, could have LaTeX run.
        with tempfile.TemporaryDirectory() as empty, contextlib.chdir(empty):
            import matplotlib
            from matplotlib.figure import Figure
    except ImportError:
        raise ProbingError("figures need matplotlib, which is not installed: pip install 'probing[plots]'") from None
    group = choose_group(group_results(selection.apply(load_records(folder, on_damaged), on_damaged)))
    with matplotlib.rc_context(STYLE):
        figure = Figure(layout="constrained")
        if kind == "sweep":
            plot_sweep(figure, group, by)
        else:
            KINDS[kind](figure, group)
        content = io.BytesIO()
        ending = output.suffix.lower()
        figure.savefig(content, format=ending[1:], **SAVE_OPTIONS[ending])
    write_file(output, content.getvalue())


def choose_group(groups: Sequence[ResultGroup]) -> ResultGroup:
    """Return the only group: results of different data or presets share no figure."""
    if len(groups) > 1:
        identities = [group.identity for group in groups]
        found = "; ".join(dict.fromkeys(f"--data {one.data.name} --preset {one.preset}" for one in identities))
        raise ProbingError(f"a figure shows results of one data set and preset. Choose one of: {found}")
    return groups[0]


def plot_dots(figure: Figure, group: ResultGroup) -> None:
    """Draw a panel for each task: the models' accuracies with their 95 % intervals."""
    models = _choose_models(group)
    tasks = _choose_tasks(group)
    height = 0.42 + 0.13 * len(models)
    for axes, name in _add_panels(figure, tasks, height):
        for place, (number, one) in enumerate(models):
            if result := one.results.get(name):
                low, high = 100 * result.interval.low, 100 * result.interval.high
                # Rounding can put the mean slightly outside its own interval.
                reach = np.array([[result.accuracy - low], [high - result.accuracy]]).clip(0)
                axes.errorbar([result.accuracy], [-place], xerr=reach, **_choose_look(number, one.label), markersize=4)
        axes.set_ylim(-len(models) + 0.4, 0.6)
        axes.set_yticks([])
        axes.grid(axis="x", linewidth=0.3)
        axes.spines["left"].set_visible(False)
    _finish_panels(figure, "test accuracy, %", len(models))


def plot_curves(figure: Figure, group: ResultGroup) -> None:
    """Draw a panel for each task: dev accuracy by epoch, a line for each seed."""
    models = _choose_models(group)
    for axes, name in _add_panels(figure, _choose_tasks(group), 0.95):
        for number, one in models:
            for place, scores in enumerate(one.results[name].scores if name in one.results else []):
                epochs = [point["epoch"] for point in scores.curve]
                accuracies = [point["dev_accuracy"] for point in scores.curve]
                look = _choose_look(number, one.label if place == 0 else "")
                kept = [epochs.index(scores.best_epoch)] if scores.best_epoch in epochs else []
                axes.plot(epochs, accuracies, **look, markersize=3.5, markevery=kept)
        axes.grid(linewidth=0.3)
        axes.locator_params(axis="x", integer=True)
    _finish_panels(figure, "epoch", len(models), "dev accuracy, %")


def plot_confusion(figure: Figure, group: ResultGroup) -> None:
    """Draw the confusion matrix of one model on one task: for each right label, the share of each prediction."""
    tasks, models = _choose_tasks(group), _choose_models(group)
    if len(tasks) > 1 or len(models) > 1:
        raise ProbingError(
            f"a confusion matrix shows one model on one task: name --task ({', '.join(tasks)}) and --model "
            f"({', '.join(one.label for _, one in models)})"
        )
    (_, chosen), name = models[0], tasks[0]
    if name not in chosen.results:
        raise ProbingError(f"{chosen.label} has not been measured on {name}. See `probe report`")
    confusion = count_confusions(chosen.results[name])
    shares = confusion.counts / np.maximum(1, confusion.counts.sum(axis=1, keepdims=True))
    size = max(COLUMN, 1.1 + 0.27 * len(confusion.names))
    figure.set_size_inches(size, size * 0.95)
    axes = figure.add_subplot(title=_shorten(f"{chosen.label} on {name}"), xlabel="predicted", ylabel="right")
    _fill_matrix(axes, 100 * shares, confusion.names, confusion.names, digits=0)


def plot_layers(figure: Figure, group: ResultGroup) -> None:
    """Draw for each layer-wise encoder a heat map of its accuracies by task and layer."""
    stacks = find_stacks(group)
    if not stacks:
        raise ProbingError(
            "no encoder has several layers here. Run `probe run --encoder huggingface:NAME_OR_PATH --layer all` first"
        )
    tasks = {
        encoder: [name for name in _choose_tasks(group) if any(name in one.results for one in layers.values())]
        for encoder, layers in stacks.items()
    }
    width = 1.4 + 0.32 * max(map(len, stacks.values()))
    figure.set_size_inches(max(COLUMN, width), sum(0.6 + 0.22 * len(names) for names in tasks.values()))
    for place, (encoder, layers) in enumerate(stacks.items(), 1):
        axes = figure.add_subplot(len(stacks), 1, place, title=_shorten(encoder), xlabel="layer")
        rows = [[_get_accuracy(one.results.get(name)) for one in layers.values()] for name in tasks[encoder]]
        chance = np.array([[_get_majority(name, layers.values())] for name in tasks[encoder]])
        shades = (np.array(rows) - chance) / np.maximum(100 - chance, 1e-9)
        _fill_matrix(axes, np.array(rows), tasks[encoder], [str(layer) for layer in layers], digits=1, shades=shades)
        bar = figure.colorbar(axes.images[0], ax=axes, ticks=[0, 1], fraction=0.04, pad=0.02)
        bar.ax.set_yticklabels(["chance", "100 %"], fontsize=6)
        bar.outline.set_visible(False)


def plot_bleu(figure: Figure, group: ResultGroup) -> None:
    """Draw a panel for the average and each task: accuracies of translators' encoders against their BLEU."""
    models = [(number, one) for number, one in _choose_models(group) if one.bleus]
    if not models:
        raise ProbingError(
            "no encoder of a translation run was probed here. Run `probe run --encoder translation:RUN` first"
        )
    values = {one.label: make_accuracies(one, group) for _, one in models}
    columns = [column for column in group.columns if any(column in found for found in values.values())]
    for axes, column in _add_panels(figure, sorted(columns, key=lambda column: column != AVERAGE), 1.15):
        for number, one in models:
            if column in values[one.label]:
                place, look = fmean(one.bleus.values()), _choose_look(number, one.label)
                _draw_value(axes, place, values[one.label][column], look)
        axes.grid(linewidth=0.3)
    _finish_panels(figure, "BLEU", len(models), "test accuracy, %")


def _draw_value(axes: Axes, place: float, value: TableValue, look: dict[str, Any]) -> None:
    """Draw a figure with its interval; rounding can put the mean slightly outside it."""
    interval = value.interval or Interval(value.mean, value.mean)
    reach = np.array([[value.mean - interval.low], [interval.high - value.mean]]).clip(0)
    axes.errorbar([place], [value.mean], yerr=reach, **look, markersize=4, linestyle="none")


def plot_sweep(figure: Figure, group: ResultGroup, by: Sequence[str] = ()) -> None:
    """Draw a panel for each task: accuracies with 95 % intervals against a setting, a line for each model."""
    sweep = find_sweep(group, by)
    lines = list_lines(sweep)
    for axes, task in _add_panels(figure, _choose_tasks(group), 1.15):
        positions = Positions(sweep, task)
        for number, (label, rows) in enumerate(lines.items()):
            draw_line(axes, rows, task, positions, _choose_look(number, label))
        positions.finish(axes)
        axes.grid(linewidth=0.3)
    _finish_panels(figure, sweep.settings[0], len(lines), "test accuracy, %")


KINDS: Mapping[str, Callable[[Figure, ResultGroup], None]] = {
    "dots": plot_dots,
    "curves": plot_curves,
    "confusion": plot_confusion,
    "layers": plot_layers,
    "sweep": plot_sweep,
    "bleu": plot_bleu,
}
"""Function that draws each kind of figure."""


def _choose_tasks(group: ResultGroup) -> list[str]:
    """Return the tasks that have been measured."""
    measured = [name for name in group.families if any(name in model.results for model in group.models)]
    if not measured:
        raise ProbingError("no training has succeeded here, so there is nothing to draw. See `probe report`")
    return measured


def _choose_models(group: ResultGroup) -> list[tuple[int, ModelResults]]:
    """Return the models that have results, each with its row in the table, which determines its colour and marker."""
    return [(number, one) for number, one in enumerate(group.models) if one.results]


def _add_panels(figure: Figure, tasks: Sequence[str], height: float) -> Iterator[tuple[Axes, str]]:
    """Yield a panel for each task, two in a row."""
    columns = min(2, len(tasks))
    rows = -(-len(tasks) // columns)
    figure.set_size_inches(COLUMN, rows * height + 0.55)
    for place, task in enumerate(tasks, 1):
        axes = figure.add_subplot(rows, columns, place)
        axes.set_title(_shorten(task), pad=3)
        yield axes, task


def _finish_panels(figure: Figure, xlabel: str, models: int, ylabel: str = "") -> None:
    """Add the axis labels and the legend that all panels share."""
    figure.supxlabel(xlabel, fontsize=8)
    found: dict[str, Artist] = {}
    for axes in figure.axes:
        handles, labels = axes.get_legend_handles_labels()
        found |= dict(zip(labels, handles, strict=True))
    names = [_shorten(label) for label in found]
    for columns in range(min(3, models), 0, -1):
        legend = figure.legend(list(found.values()), names, loc="outside upper center", ncols=columns, frameon=False)
        room = legend.get_window_extent()
        if room.width <= figure.bbox.width or columns == 1:
            break
        legend.remove()
    width, height = figure.get_size_inches()
    above = room.height / figure.dpi
    figure.set_size_inches(width, height + above)
    if ylabel:  # beside the panels, not beside the legend
        figure.supylabel(ylabel, y=height / (height + above) / 2, fontsize=8)


def _choose_look(number: int, label: str) -> dict[str, Any]:
    """Return the label of a model with the marker and colour of its row in the table."""
    return {"marker": MARKERS[number % len(MARKERS)], "color": COLOURS[number % len(COLOURS)], "label": label}


def _get_majority(task: str, models: Iterable[ModelResults]) -> float:
    """Return the majority's accuracy on a task that some of the models have been measured on."""
    return next(one.results[task].majority for one in models if task in one.results)


def _get_accuracy(result: TaskResult | None) -> float:
    return float("nan") if result is None else result.accuracy


def _fill_matrix(
    axes: Axes, values: Any, rows: Sequence[str], columns: Sequence[str], *, digits: int, shades: Any = None
) -> None:
    """Draw a matrix with its numbers; the colours span the whole matrix, or are shades from 0 to 1."""
    given = shades is not None
    shades = shades if given else values
    low, high = (0.0, 1.0) if given else (None, None)
    axes.imshow(shades, cmap="Blues", aspect="auto", vmin=low, vmax=high)
    dark = 0.6 if given else float(np.nanmax(shades)) * 0.6
    for row, column in np.ndindex(values.shape):
        if values[row, column] > 0:
            ink = "white" if shades[row, column] > dark else "black"
            axes.text(column, row, f"{values[row, column]:.{digits}f}", ha="center", va="center", color=ink, fontsize=6)
    axes.set_xticks(range(len(columns)), [_shorten(name) for name in columns])
    axes.set_yticks(range(len(rows)), [_shorten(name) for name in rows])
    if max(map(len, columns)) > 3:
        axes.tick_params(axis="x", labelrotation=90)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)


def _shorten(text: str) -> str:
    """Return a name without control characters, and a long one without its middle, because names often differ last."""
    shown = as_one_line(text)
    return shown if len(shown) <= 24 else f"{shown[:11]}…{shown[-12:]}"
