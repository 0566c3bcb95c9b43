"""BLEU beside the tasks: encoders of translation runs in tables of all formats, on the page and in figures."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

import probing
from probing.errors import ProbingError
from probing.report.formats import render
from probing.report.frame import make_frame, make_wide_frame
from probing.report.grouping import group_results
from probing.report.html import render_html
from probing.report.layers import find_stacks, remove_layer
from probing.report.notes import find_doubts
from probing.report.plots import load_and_plot
from probing.report.reproduction import list_commands
from probing.report.selection import Selection
from probing.report.table import make_tables
from probing.results import DataIdentity, ModelIdentity, Record, Store, TranslatorIdentity, read_record
from probing.statistics import compute_half

BLEUS = {"base": [30.0, 32.0, 31.0], "em enc-self": [33.0, 33.5, 34.0]}
LABELS = {"base": "Base", "em enc-self": "EM, enc-self"}


def make_translator(model: str, seed: int, bleu: float | None, **changes: Any) -> TranslatorIdentity:
    facts: dict[str, Any] = {
        "run": f"corpus--en-de--{model}--tiny--seed{seed}--translation--0123456789ab",
        "label": LABELS.get(model, model),
        "data": DataIdentity(name="corpus", file="train.en train.de", sha256="d" * 64),
        "languages": "en-de",
        "preset": "tiny",
        "settings": {"model": {"aggregator": model.partition(" ")[0]}, "training": {"max_epochs": 9}},
        "subwords": "BPE (sentencepiece)",
        "vocabulary_size": 10_000,
        "subwords_sha256": "e" * 64,
        "test": "flickr2016",
        "bleu": bleu,
        "signature": "nrefs:1|version:2.6.0",
        "spelled_out": 1.5,
    }
    return TranslatorIdentity(**facts | changes)


@pytest.fixture(scope="module")
def probe_run(make_record: Callable[..., Record]) -> Callable[..., list[Record]]:
    """Return a function that makes the records of an encoder on two tasks, with a seed for each BLEU."""

    def make(
        model: str, bleus: Sequence[float | None], *, layer: int = 4, untrained: bool = False, **changes: Any
    ) -> list[Record]:
        ending, mark = (" untrained", ", untrained") if untrained else ("", "")
        label = f"{LABELS.get(model, model)} layer {layer}{mark}"
        return [
            rename(
                make_record(
                    task,
                    f"translation:{model}",
                    60.0 + seed + 10 * (task == "SubNm") + layer,
                    seed=seed,
                    size=1000,
                    settings={"encoder": {"pooling": "mean", "layer": layer}, "probe": {"probe": "mlp"}},
                    translator=make_translator(model, seed, bleu, **changes),
                ),
                f"translation:{model} layer {layer:02d}{ending}",
                label,
                f"weights {model} {seed}",
            )
            for seed, bleu in enumerate(bleus)
            for task in ("Tense", "SubNm")
        ]

    return make


def rename(record: Record, name: str, label: str, version: str) -> Record:
    model = ModelIdentity(name=name, label=label, version=version)
    return structs.replace(record, identity=structs.replace(record.identity, model=model), key="")


@pytest.fixture(scope="module")
def records(make_record: Callable[..., Record], probe_run: Callable[..., list[Record]]) -> list[Record]:
    """Return the records of two translators with three seeds, an untrained one, and a model trained per task."""
    trained = [
        make_record(task, "base", 75.0, seed=seed, size=1000) for task in ("Tense", "SubNm") for seed in (0, 1, 2)
    ]
    runs = [record for model, bleus in BLEUS.items() for record in probe_run(model, bleus)]
    return [*trained, *runs, *probe_run("base", [None] * 3, untrained=True)]


def change_bleu(record: Record, bleu: float) -> Record:
    translator = record.identity.translator
    if not translator:
        return record
    changed = structs.replace(translator, bleu=bleu)
    return structs.replace(record, identity=structs.replace(record.identity, translator=changed))


# The table


def test_seeds_of_a_translator_are_one_row_with_its_mean_bleu(records: list[Record]) -> None:
    (table,) = make_tables(records)
    labels = ["Majority", "Base", "Base layer 4", "Base layer 4, untrained", "EM, enc-self layer 4"]
    assert [row.label for row in table.rows] == labels
    assert table.every_column == ["Tense", "SubNm", "Avg.", "BLEU"]
    bleus = [row.values.get("BLEU") for row in table.rows]
    assert [value and value.mean for value in bleus] == [None, None, 31.0, None, 33.5]
    assert bleus[2] is not None
    assert bleus[2].interval is not None
    half = 4.302652729696142 * 1.0 / 3**0.5  # Student's quantile with two degrees of freedom
    assert (bleus[2].interval.low, bleus[2].interval.high) == pytest.approx((31 - half, 31 + half))
    assert compute_half(BLEUS["base"]) == pytest.approx(half)
    short = "BLEU: of the translator, on corpus en-de flickr2016, the mean over its seeds, ± half the 95 % interval."
    assert table.bleu.short == short
    assert table.bleu.full.endswith("(Student); sacrebleu, nrefs:1|version:2.6.0.")


def test_bleu_takes_no_part_in_anything_else(records: list[Record]) -> None:
    others = [change_bleu(record, 100.0 - record.identity.seed) for record in records]
    (table,), (other,) = make_tables(records, reference="base"), make_tables(others, reference="base")
    for row, another in zip(table.rows, other.rows, strict=True):
        assert {**row.values, "BLEU": None} == {**another.values, "BLEU": None}
    assert (table.columns, table.notes, table.legend, table.marks) == (
        other.columns,
        other.notes,
        other.legend,
        other.marks,
    )
    assert not any("BLEU" in column for _, column in table.analysis.verdicts)


def test_a_single_seed_has_no_interval(probe_run: Callable[..., list[Record]]) -> None:
    (table,) = make_tables(probe_run("base", [28.25]))
    value = table.rows[1].values["BLEU"]
    assert (value.mean, value.interval, value.format_below()) == (28.25, None, "")
    assert table.bleu.short == "BLEU: of the translator, on corpus en-de flickr2016."


def test_without_a_translator_there_is_no_column(
    make_record: Callable[..., Record], probe_run: Callable[..., list[Record]]
) -> None:
    plain = [make_record("Tense", "base", size=100), make_record("SubNm", "base", size=100)]
    for format in ("table", "markdown", "latex", "csv", "json", "notebook"):
        assert "bleu" not in render(plain, format).lower()
    page = render_html(plain)
    assert "<th>BLEU" not in page
    assert 'class="panels wide bleus"' not in page
    assert "BLEU" not in make_wide_frame(plain)
    untrained = make_tables(probe_run("base", [None], untrained=True))
    assert untrained[0].every_column[-1] == "Avg."


def test_text_markdown_latex_and_notebook(records: list[Record]) -> None:
    text, markdown, latex, notebook = (render(records, name) for name in ("table", "markdown", "latex", "notebook"))
    assert re.search(r"^ +Tense +SubNm +Avg\. +BLEU$", text, re.MULTILINE)
    assert re.search(r"^EM, enc-self layer 4 .* 33\.50$", text, re.MULTILINE)
    assert re.search(r"^Base layer 4, untrained .* –$", text, re.MULTILINE)
    assert "| EM, enc-self layer 4" in markdown
    assert "33.50<br>±1.24 |" in markdown
    assert r"SubNm & Avg. & BLEU \\" in latex
    assert r"{lrrrr}" in latex
    assert re.search(r"EM, enc-self layer 4 & .* & 33\.50 \\\\", latex)
    assert "<th><br>BLEU</th>" in notebook
    assert "<td>33.50<br><small>±1.24</small></td>" in notebook


def test_csv_json_and_frames(records: list[Record], tmp_path: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(render(records, "csv"))))
    assert list(rows[0])[-3:] == ["bleu", "mean_bleu", "spelled_out"]
    found = {(row["label"], row["seed"]): (row["bleu"], row["mean_bleu"], row["spelled_out"]) for row in rows}
    assert found["EM, enc-self layer 4", "2"] == ("34.0", "33.5", "1.5")
    assert found["Base layer 4, untrained", "0"] == ("", "", "1.5")
    assert found["Base", "0"] == ("", "", "")
    entries = json.loads(render(records, "json"))
    assert [entry["bleu"] for entry in entries if entry["label"] == "Base layer 4"] == [30, 30, 32, 32, 31, 31]
    assert make_frame(records)["bleu"].dtype == "float64"
    wide = make_wide_frame(records)
    assert list(wide.columns) == ["Tense", "SubNm", "BLEU"]
    assert wide["BLEU"].tolist()[1:] == pytest.approx([31.0, float("nan"), 33.5], nan_ok=True)
    for record in records:
        path = Store(tmp_path).save(record)
        assert read_record(path) == record
    assert probing.load_results(tmp_path)["bleu"].notna().sum() == 12


def test_a_record_with_an_impossible_bleu_is_none(probe_run: Callable[..., list[Record]], tmp_path: Path) -> None:
    path = Store(tmp_path).save(probe_run("base", [28.0])[0])
    content = json.loads(path.read_text())
    content["translator"]["bleu"] = 128.0
    path.write_text(json.dumps(content))
    with pytest.raises(ProbingError, match=r"not a result record \(Expected `float` <= 100.0"):
        read_record(path)


# Rows


def test_translators_that_differ_have_rows_that_say_how(probe_run: Callable[..., list[Record]]) -> None:
    longer = {"model": {"aggregator": "base"}, "training": {"max_epochs": 20}}
    other = [
        rename(record, record.identity.model.name, record.identity.model.label, "other weights")
        for record in probe_run("base", [35.0], settings=longer)
    ]
    (group,) = group_results([*probe_run("base", [30.0, 31.0]), *other])
    assert [(model.label, model.bleus) for model in group.models] == [
        ("Base layer 4 (training.max_epochs=20)", {0: 35.0}),
        ("Base layer 4 (training.max_epochs=9)", {0: 30.0, 1: 31.0}),
    ]


def test_only_the_newest_training_of_a_seed_counts(
    probe_run: Callable[..., list[Record]], change: Callable[..., Any]
) -> None:
    old = [
        change(record, timing__finished_at="2025-01-01T00:00:00+00:00") for record in probe_run("base", [10.0, 11.0])
    ]
    old = [rename(record, record.identity.model.name, record.identity.model.label, "old weights") for record in old]
    (group,) = group_results([*old[:2], *probe_run("base", [30.0, 31.0])])
    assert [model.bleus for model in group.models] == [{0: 30.0, 1: 31.0}]
    assert [len(result.records) for result in group.models[0].results.values()] == [2, 2]
    said: list[str] = []
    assert len(Selection().apply(probe_run("base", [30.0, 31.0]), said.append)) == 4
    assert said == [], "the seeds of a translator are not versions of a plug-in"


def test_layers_of_a_translator_are_a_stack(probe_run: Callable[..., list[Record]]) -> None:
    (group,) = group_results([record for layer in (0, 1) for record in probe_run("em enc-self", [30.0], layer=layer)])
    assert {name: list(layers) for name, layers in find_stacks(group).items()} == {"EM, enc-self": [0, 1]}
    assert remove_layer("EM, enc-self, layer 1 layer 4, untrained") == "EM, enc-self, layer 1, untrained"


def test_a_note_names_translators_that_spell_out_many_words(probe_run: Callable[..., list[Record]]) -> None:
    runs = [
        *probe_run("base", [30.0, 31.0], spelled_out=12.34),
        *probe_run("base", [None], untrained=True, spelled_out=12.34),
        *probe_run("em enc-self", [30.0], spelled_out=5.0),
    ]
    (group,) = group_results(runs)
    (note,) = [note for note in find_doubts(group) if "spelled out" in note]
    assert note == (
        "more than 5 % of the words are spelled out character by character, because the translator's subwords do not "
        "have them: 12.3 % on Tense, 12.3 % on SubNm for Base"
    )


def test_shares_of_many_tasks_are_a_range(probe_run: Callable[..., list[Record]], change: Callable[..., Any]) -> None:
    runs = [
        change(record, task=f"own{number}", translator__spelled_out=7.0 + number)
        for number in range(3)
        for model in BLEUS
        for record in probe_run(model, [30.0])[:1]
    ]
    (group,) = group_results(runs)
    (note,) = [note for note in find_doubts(group) if "spelled out" in note]
    assert note.endswith("do not have them: 7.0 to 9.0 % on 3 tasks for Base, 'EM, enc-self'")


def test_the_commands_name_the_runs(records: list[Record], probe_run: Callable[..., list[Record]]) -> None:
    (group,) = group_results(records)
    commands = [command for command in list_commands(group) if "translation:" in command]
    run = "translation:corpus--en-de--base--tiny--seed{}--translation--0123456789ab"
    for seed in (0, 1, 2):
        assert commands[seed] == (
            f"probe run --encoder {run.format(seed)} --layer 4 --task Tense,SubNm --data mini --preset mini "
            "--probe mlp --control random-encoder --results results"
        )
    named = [
        rename(record, record.identity.model.name, "NMT layer 4", "x") for record in probe_run("em enc-self", [30.0])
    ]
    (group,) = group_results(named)
    assert "--encoder 'NMT=translation:corpus--en-de--em enc-self--tiny--seed0" in list_commands(group)[0]


# The page and figures


def test_the_page_has_the_column_and_the_figure(records: list[Record]) -> None:
    page = render_html(records)
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert match is not None
    (section,) = json.loads(match[1])["sections"]
    assert section["columns"] == ["Tense", "SubNm", "Avg."]
    assert [value and value[0] for value in section["bleus"]] == [None, None, 31.0, None, 33.5]
    assert '<a href="#bleu-0">accuracy against BLEU</a>' in page
    assert '<div class="panels wide bleus"></div>' in page
    assert "corpus en-de, SHA-256 dddddddddddd; preset tiny; BLEU 30.00 on flickr2016; 10,000 subwords, BPE" in page


def test_accuracy_against_bleu_is_drawn(
    records: list[Record], make_record: Callable[..., Record], tmp_path: Path
) -> None:
    for record in records:
        Store(tmp_path / "runs").save(record)
    output = tmp_path / "bleu.svg"
    load_and_plot(tmp_path / "runs", "bleu", output, on_damaged=pytest.fail)
    drawn = output.read_text(encoding="utf-8")
    for text in ("Avg.", "Tense", "SubNm", "BLEU", "Base layer 4", "EM, enc-self layer 4", "test accuracy, %"):
        assert f">{text}</text>" in drawn
    assert ">Base</text>" not in drawn, "it has no BLEU"
    Store(tmp_path / "plain").save(make_record("Tense", "base", size=100))
    with pytest.raises(ProbingError, match="no encoder of a translation run was probed here. Run `probe run --encoder"):
        load_and_plot(tmp_path / "plain", "bleu", output, on_damaged=pytest.fail)


@pytest.mark.browser
def test_the_page_sorts_by_bleu_and_draws_it(chromium: Any, records: list[Record], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(render_html(records), encoding="utf-8")
    chromium.get(page.as_uri())

    def labels() -> list[str]:
        names = chromium.find_elements("css selector", ".scores tbody tr:not([hidden]) .name")
        return [name.get_attribute("textContent") for name in names]

    def bleus() -> list[str]:
        fields = chromium.find_elements("css selector", ".scores tbody tr:not([hidden]) .bleu .figure")
        return [field.get_attribute("textContent") for field in fields]

    *_, button = chromium.find_elements("css selector", ".scores .columns button")
    assert button.text.startswith("BLEU")
    button.click()
    assert labels()[:2] == ["EM, enc-self layer 4", "Base layer 4"]
    assert bleus() == ["33.50", "31.00", "–", "–", "–"]
    chromium.find_element("css selector", '.views input[value="difference"]').click()
    assert bleus()[:2] == ["33.50", "31.00"], "BLEU is the same in every view"
    titles = [title.text for title in chromium.find_elements("css selector", ".bleus h4")]
    assert titles == ["Avg.", "Tense", "SubNm"]
    drawn = len(chromium.find_elements("css selector", ".bleus svg g > title"))
    assert drawn == 6, "two translators in three panels"
    chromium.find_element("css selector", '.models input[value="1"]').click()
    assert len(chromium.find_elements("css selector", ".bleus svg g > title")) == 3
    assert chromium.get_log("browser") == []
