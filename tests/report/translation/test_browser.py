"""The page on translations in a browser: Chromium opens it from disk."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cli import main
from probing.results import Store, translation_path
from tests.translations import BASE, COMPONENTS, fail, make_translation, save, vary

Select = pytest.importorskip("selenium.webdriver.support.select").Select
pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=\"document.title='owned'\"> <script>document.title='owned'</script>"


def write_page(folder: Path) -> str:
    output = folder / "report.html"
    command = [
        "translate",
        "report",
        "--results",
        str(folder),
        "--format",
        "html",
        "--against",
        "paper",
        "-o",
        str(output),
    ]
    done = CliRunner().invoke(main, command)
    assert (done.exit_code, done.output) == (0, f"{output} is written\n")
    return output.as_uri()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = save(tmp_path_factory.mktemp("results"), vary(COMPONENTS, 2))
    file = translation_path(make_translation(COMPONENTS[2]).path(folder), "newstest2014", "output")
    lines = file.read_text(encoding="utf-8").split("\n")
    file.write_text("\n".join([HOSTILE, *lines[1:]]), encoding="utf-8")
    return write_page(folder)


@pytest.fixture
def page(chromium: Any, address: str) -> Iterator[Any]:
    """Open the page; afterwards, the browser must have reported no problem and requested nothing from outside."""
    chromium.get("about:blank")
    chromium.get_log("performance")
    chromium.get(address)
    yield chromium
    assert chromium.get_log("browser") == []
    messages = [json.loads(entry["message"])["message"] for entry in chromium.get_log("performance")]
    requested = {one["params"]["request"]["url"] for one in messages if one["method"] == "Network.requestWillBeSent"}
    assert {url for url in requested if not url.startswith("data:")} <= {address}


def all_of(page: Any, selector: str) -> list[Any]:
    return page.find_elements("css selector", selector)  # type: ignore[no-any-return]


def test_charts_are_drawn_and_systems_can_be_hidden(page: Any) -> None:
    assert len(all_of(page, ".costs svg")) == 2
    assert len(all_of(page, ".curves path.line")) == 2 * len(COMPONENTS)
    page.execute_script("arguments[0].click()", all_of(page, ".models input")[0])
    assert len(all_of(page, ".curves path.line")) == 2 * len(COMPONENTS) - 2


def test_curves_of_the_loss(page: Any) -> None:
    Select(all_of(page, "select.curve")[0]).select_by_value("loss")
    assert all_of(page, ".curves h4")[0].text == "training loss"


def find_gaps(page: Any) -> list[float]:
    heads = [one.text for one in all_of(page, ".sentence h4")]
    return [float(text.rpartition(" ")[2].replace("−", "-")) for text in heads]


def test_sentences_of_a_chosen_pair_are_sorted(page: Any) -> None:
    gaps = find_gaps(page)
    assert [abs(gap) for gap in gaps] == sorted(map(abs, gaps), reverse=True)
    Select(all_of(page, "select.first")[0]).select_by_visible_text("EM, enc-self (seed 0)")
    Select(all_of(page, "select.order")[0]).select_by_value("first")
    gaps = find_gaps(page)
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[0] > 0
    Select(all_of(page, "select.order")[0]).select_by_value("second")
    assert find_gaps(page) == sorted(find_gaps(page))
    before = len(gaps)
    page.execute_script("arguments[0].click()", all_of(page, "button.more")[0])
    assert len(find_gaps(page)) == 2 * before


def test_texts_are_never_markup(page: Any) -> None:
    Select(all_of(page, "select.first")[0]).select_by_visible_text("EM, enc-self (seed 0)")
    Select(all_of(page, "select.order")[0]).select_by_value("text")
    assert HOSTILE in [one.text for one in all_of(page, ".said")]
    assert page.title.startswith("Translation")
    assert len(all_of(page, "script")) == 2


@pytest.mark.parametrize("width", [390, 1400])
def test_nothing_sticks_out_of_the_window(page: Any, width: int) -> None:
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    assert page.execute_script("return document.documentElement.scrollWidth") <= width
    page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_pages_with_little_on_them(chromium: Any, tmp_path: Path) -> None:
    for name, runs in {"alone": [BASE], "no speed": [replace(BASE, speeds=None)]}.items():
        chromium.get(write_page(save(tmp_path / name, runs, texts=False)))
        assert "No sentences to compare" in chromium.page_source
        assert chromium.get_log("browser") == []
    Store(tmp_path / "failed").save(fail(BASE))
    chromium.get(write_page(tmp_path / "failed"))
    assert chromium.get_log("browser") == []
