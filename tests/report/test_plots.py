from __future__ import annotations

import re
import sys

import pytest

from probing.errors import ProbingError
from probing.report.plots import COLOURS, KINDS, MARKERS, load_and_plot
from probing.report.selection import Selection
from probing.results import Store

pytest.importorskip("matplotlib")
BEGINNINGS = {".svg": b"<?xml", ".png": b"\x89PNG\r\n", ".pdf": b"%PDF-1."}


@pytest.fixture(scope="module")
def folder(gallery, tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    for record in gallery:
        Store(folder).save(record)
    return folder


@pytest.fixture
def plot(folder, tmp_path):
    def run(kind, name="figure.svg", *, folder=folder, **options):
        chosen = {key: [value] for key, value in options.items()}
        load_and_plot(folder, kind, tmp_path / name, selection=Selection(**chosen), on_damaged=pytest.fail)
        return (tmp_path / name).read_bytes()

    return run


def read_texts(svg):
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg.decode())


@pytest.mark.parametrize("ending", BEGINNINGS)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("sweep", "bleu")])
def test_every_kind_in_every_format(plot, kind, ending):
    chosen = {"tasks": "SeLen"} | ({"models": "em"} if kind == "confusion" else {})
    content = plot(kind, f"figure{ending}", **chosen)
    assert content.startswith(BEGINNINGS[ending])
    assert content == plot(kind, f"again{ending}", **chosen)


def test_dots_have_a_panel_for_each_task_and_name_every_model(plot):
    figure = plot("dots")
    texts = read_texts(figure)
    for name in ("SeLen", "WC", "ToCo", "Tense", "Base", "Simple", "EM", "bert layer 2", "test accuracy, %"):
        assert name in texts
    assert b"<script" not in figure


def test_a_task_and_a_model_can_be_chosen(plot):
    texts = read_texts(plot("curves", tasks="past_present", models="EM"))
    assert {"Tense", "EM", "epoch", "dev accuracy, %"} <= set(texts)
    assert not {"SeLen", "Base"} & set(texts)


def test_a_confusion_matrix_shows_one_model_on_one_task(plot, gallery):
    texts = read_texts(plot("confusion", tasks="Length", models="base"))
    assert {"Base on SeLen", "predicted", "right", "PAST", "label 5"} <= set(texts)
    records = [one for one in gallery if (one.identity.task, one.identity.model.name) == ("SeLen", "base")]
    pairs = [pair for one in records for pair in zip(one.scores.gold, one.scores.predictions, strict=True)]
    share = pairs.count((1, 1)) / sum(gold == 1 for gold, _ in pairs)
    assert f"{100 * share:.0f}" in texts
    with pytest.raises(ProbingError) as caught:
        plot("confusion", tasks="SeLen")
    assert str(caught.value).startswith(
        "a confusion matrix shows one model on one task: name --task (SeLen) and --model (Base, "
    )


def test_a_task_that_the_model_lacks(plot, hostile):
    with pytest.raises(ProbingError, match=r"^unknown model 'base'\. Known: EM$"):
        plot("confusion", tasks=hostile, models="base")


def test_layers_show_every_accuracy(plot):
    texts = read_texts(plot("layers"))
    assert {"bert", "layer", "0", "1", "2", "60.5", "72.0", "68.7"} <= set(texts)
    with pytest.raises(ProbingError, match=r"^unknown model 'bart'\. "):
        plot("layers", models="bart")


def test_layers_of_a_task_that_they_lack(plot, hostile):
    with pytest.raises(ProbingError, match=r"^no encoder has several layers here\."):
        plot("layers", tasks=hostile)


def test_without_layers(plot, tmp_path, make_record):
    Store(tmp_path).save(make_record())
    with pytest.raises(ProbingError, match=r"^no encoder has several layers here\. Run `probe run --encoder hugg"):
        plot("layers", folder=tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "figure.jpg"}, r"figure\.jpg: a figure's name must end in \.svg, \.png or \.pdf\. Got '\.jpg'$"),
        ({"tasks": "Tens"}, r"^unknown task 'Tens'\. Did you mean 'Tense'\?"),
        ({"tasks": "BShif"}, r"^unknown task 'BShif'\."),
        ({"models": "embb"}, r"^unknown model 'embb'\. Did you mean 'EM'\?"),
        ({"data": "books"}, r"^unknown data set 'books'\. Known: mini$"),
    ],
)
def test_mistakes_are_named(plot, options, message):
    with pytest.raises(ProbingError, match=message):
        plot("dots", **options)


def test_different_data_share_no_figure(plot, tmp_path, make_record):
    for data in ("mini", "books"):
        Store(tmp_path / "two").save(make_record(data=data, size=50))
    with pytest.raises(ProbingError) as caught:
        plot("dots", folder=tmp_path / "two")
    found = "--data books --preset mini; --data mini --preset mini"
    assert str(caught.value) == f"a figure shows results of one data set and preset. Choose one of: {found}"
    assert plot("dots", folder=tmp_path / "two", data="books").startswith(b"<?xml")


def test_an_empty_folder_names_the_command_to_run(plot, tmp_path):
    with pytest.raises(ProbingError, match=r": no results there\. Run `probe run --task all --aggregator all` first$"):
        plot("dots", folder=tmp_path)


def test_without_matplotlib(plot, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ProbingError) as caught:
        plot("dots")
    assert str(caught.value) == "figures need matplotlib, which is not installed: pip install 'probing[plots]'"


def test_names_are_no_formulas(plot, tmp_path, make_record, change):
    Store(tmp_path).save(change(make_record(size=50), model__label="$x^2$ a_b\n"))
    assert "$x^2$ a_b\\n" in read_texts(plot("dots", folder=tmp_path))


def test_forty_models_look_different():
    looks = {(MARKERS[n % len(MARKERS)], COLOURS[n % len(COLOURS)]) for n in range(40)}
    assert len(looks) == 40


def test_trainings_that_failed_leave_nothing_to_draw(plot, tmp_path, make_record):
    store = Store(tmp_path)
    store.save(make_record("Tense", "em", None))
    for kind in ("dots", "curves", "confusion"):
        with pytest.raises(ProbingError, match=r"^no training has succeeded here, so there is nothing to draw"):
            plot(kind, folder=tmp_path)
    store.save(make_record("Tense", "base", 70.0))
    with pytest.raises(ProbingError, match=r"^no training has succeeded here, so there is nothing to draw"):
        plot("confusion", folder=tmp_path, models="em", tasks="Tense")


@pytest.fixture
def drawn(monkeypatch):
    """Return the list of the figures that are saved."""
    from matplotlib.figure import Figure

    figures, save = [], Figure.savefig
    monkeypatch.setattr(
        Figure, "savefig", lambda figure, *args, **kw: (figures.append(figure), save(figure, *args, **kw))
    )
    return figures


def test_the_label_of_an_axis_stands_beside_the_panels(plot, tmp_path, make_record, change, drawn):
    for number in range(13):
        record = make_record(model=f"m{number}", size=50)
        Store(tmp_path).save(change(record, model__label=f"{number}".rjust(20, "m")))
    plot("curves", folder=tmp_path)
    (figure,) = drawn
    label = next(text for text in figure.texts if text.get_text() == "dev accuracy, %").get_window_extent()
    (panel,) = figure.axes
    assert label.y1 <= figure.legends[0].get_window_extent().y0
    assert label.y0 < panel.get_window_extent().y1


@pytest.mark.parametrize("length", [1, 20, 40])
def test_all_names_stand_within_the_figure_and_above_the_panels(plot, tmp_path, make_record, change, drawn, length):
    for number in range(8):
        record = make_record(model=f"m{number}", size=50)
        Store(tmp_path).save(change(record, model__label=f"{number}".rjust(length, "m")))
    plot("dots", folder=tmp_path)
    (figure,) = drawn
    (legend,) = figure.legends
    assert len(legend.get_texts()) == 8
    room = legend.get_window_extent()
    assert room.x0 >= 0
    assert room.x1 <= figure.bbox.width
    assert all(axes.get_tightbbox().y1 <= room.y0 for axes in figure.axes)
    assert all(axes.get_window_extent().height > figure.dpi for axes in figure.axes)  # more than an inch is left
