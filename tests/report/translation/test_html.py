"""The page on translations: it stands alone, holds the tables, and takes texts as texts."""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path

import pytest
from msgspec import structs

from probing.report.translation.html import render_translation_page
from probing.results import Record, Store, translation_path
from tests.translations import BASE, COMPONENTS, LAYERS, fail, make_translation, save, vary

HOSTILE = "<script>document.title='owned'</script>\"><img src=x onerror=\"document.title='owned'\">'{{7*7}}\u2028</td>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of two seeds of the paper's rows; one system's first translation is markup."""
    folder = save(tmp_path_factory.mktemp("results"), vary(COMPONENTS, 2))
    for kind in ("source", "output"):
        file = translation_path(make_translation(COMPONENTS[2]).path(folder), "newstest2014", kind)
        lines = file.read_text(encoding="utf-8").split("\n")
        file.write_text("\n".join([HOSTILE, *lines[1:]]), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def records(folder: Path) -> list[Record]:
    return Store(folder).load(pytest.fail)


@pytest.fixture(scope="module")
def text(records: list[Record], folder: Path) -> str:
    return render_translation_page(records, folder, against_paper=True)


def read_data(text: str) -> list[dict[str, object]]:
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    return json.loads(data)  # type: ignore[no-any-return]


def test_the_tables_are_there_without_a_script(text: str, records: list[Record]) -> None:
    body = text.partition('<script type="application/json"')[0]
    for word in ("+12.6M", "28.47", "⇑", "✓", "cannot be decided", "nrefs:1|case:mixed", "Enc-Self"):
        assert word in body


def test_the_page_requests_nothing_and_allows_only_its_script(text: str) -> None:
    assert not re.search(r"""(src|href)=["']?(https?:|//)""", text)
    assert "default-src &#39;none&#39;" in text
    assert len(re.findall(r"<script", text)) == 2


def test_texts_are_escaped(text: str) -> None:
    assert HOSTILE not in text
    assert "document.title='owned'</script>" not in text
    assert any(HOSTILE in lines for lines in read_data(text)[0]["sentences"]["outputs"].values())  # type: ignore[index]


def test_names_are_escaped(folder: Path) -> None:
    record = make_translation(BASE)
    model = structs.replace(record.identity.model, label=HOSTILE)
    data = structs.replace(record.identity.data, name=HOSTILE)
    identity = structs.replace(record.identity, model=model, data=data, preset=HOSTILE, task=HOSTILE)
    page = render_translation_page([structs.replace(record, identity=identity, key=identity.key)], folder)
    assert HOSTILE not in page
    assert escape(HOSTILE).replace("&#x27;", "&#39;").replace("&quot;", "&#34;") in page


def test_the_data_of_the_charts(text: str) -> None:
    (group,) = read_data(text)
    assert group["systems"] == ["Base", *(make_translation(run).identity.model.label for run in COMPONENTS[1:])]
    assert len(group["curves"]) == 2 * len(COMPONENTS)  # type: ignore[arg-type]
    assert group["costs"][0]["parameters"] == 88_000_000  # type: ignore[index]
    assert group["costs"][0]["decode"] == 1.67  # type: ignore[index]


def test_missing_texts_are_named(tmp_path: Path) -> None:
    records = [make_translation(run) for run in COMPONENTS[:2]]
    page = render_translation_page(records, tmp_path)
    assert "No sentences to compare: the translations of two systems are needed" in page
    assert "Simple, enc-self: its translations of newstest2014 are not beside its records." in page


def test_only_failed_runs_can_be_shown(tmp_path: Path) -> None:
    page = render_translation_page([fail(BASE)], tmp_path)
    assert "No system is finished here." in page
    assert "the loss became nan in step 300" in page


def test_the_command_makes_the_page_again(folder: Path, records: list[Record]) -> None:
    page = render_translation_page(records, folder, table="components", test="newstest2014", against_paper=True)
    command = f"probe translate report --results {folder.name} --format html -o report.html --table components"
    assert f"{command} --test newstest2014 --against paper" in page


def test_groups_are_shown_once(tmp_path: Path) -> None:
    page = render_translation_page([make_translation(run) for run in LAYERS], tmp_path)
    assert page.count('<section id="table-') == 3
    assert page.count('<section id="group-') == 1
