"""The page in a browser: Chromium opens it from disk."""

from __future__ import annotations

import json
from statistics import fmean

import pytest
from click.testing import CliRunner

from cli import main
from probing.report.grouping import group_results
from probing.report.html import render_html
from probing.report.table import make_tables
from probing.results import Store

webdriver = pytest.importorskip("selenium.webdriver")
Select = pytest.importorskip("selenium.webdriver.support.select").Select

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address(gallery, measures, explanations, tmp_path_factory):
    """Return the address of the page that the command writes for a folder of records and explanations."""
    folder = tmp_path_factory.mktemp("results")
    for record in [*gallery, *measures]:
        Store(folder).save(record)
    for name, content in explanations.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    output = folder / "report.html"
    done = CliRunner().invoke(main, ["report", "--results", str(folder), "--format", "html", "-o", str(output)])
    assert (done.exit_code, done.output) == (0, f"{folder / 'report.html'} is written\n")
    return output.as_uri()


@pytest.fixture
def page(chromium, address):
    """Open the page; afterwards, the browser must have reported no problem and requested nothing from outside."""
    chromium.get("about:blank")  # an address that differs after # only would not be loaded again
    chromium.get_log("performance")  # discards the entries of other pages
    chromium.get(address)
    yield chromium
    assert chromium.get_log("browser") == []
    messages = [json.loads(entry["message"])["message"] for entry in chromium.get_log("performance")]
    requested = {
        message["params"]["request"]["url"] for message in messages if message["method"] == "Network.requestWillBeSent"
    }
    assert {url for url in requested if not url.startswith("data:")} <= {address}


@pytest.fixture(scope="module")
def group(gallery):
    (group,) = group_results(gallery)
    return group


def all_of(page, selector):
    return page.find_elements("css selector", selector)


def one(page, selector):
    return page.find_element("css selector", selector)


READ = """
    const columns = [...document.querySelectorAll(".scores .columns button")].map((button) => button.innerText);
    return [...document.querySelectorAll(".scores tbody tr")].filter((line) => line.checkVisibility()).map((line) => [
        line.querySelector(".name").innerText,
        Object.fromEntries([...line.querySelectorAll(".figure")].map((figure, n) => [columns[n], figure.innerText])),
    ]);
"""


def read_table(page):
    """Return the visible figures by row and column."""
    return {squeeze(name): {squeeze(c): text for c, text in row.items()} for name, row in page.execute_script(READ)}


def read_column(page, column):
    return [float(row[column].replace("−", "-")) for row in read_table(page).values() if row[column] != "–"]


def measured(group):
    """Return the mean accuracies, computed from the records themselves."""
    return {
        (model.label, task): fmean(
            r.scores.test_accuracy for r in model.records if r.identity.task == task and r.scores
        )
        for model in group.models
        for task in model.results
    }


def squeeze(text):
    """Return a text as a browser shows it."""
    return " ".join(text.split())


def test_the_table_has_the_records_numbers(page, group, gallery):
    shown = read_table(page)
    expected = measured(group)
    assert len(expected) > 25
    for (label, task), accuracy in expected.items():
        assert shown[squeeze(label)][squeeze(task)] == f"{accuracy:.2f}"
    assert shown["Base"][squeeze(group.columns[-2])] == "–"
    (table,) = make_tables(gallery)
    bold = {value.format() for column, value in table.rows[1].values.items() if value.best}
    assert {field.text.split()[0] for field in all_of(page, ".scores tr[data-model='0'] td.best")} == bold != set()


def test_a_click_on_a_column_sorts(page):
    before = list(read_table(page))
    button = next(one for one in all_of(page, ".scores .columns button") if one.text == "ToCo")
    button.click()
    figures = read_column(page, "ToCo")
    assert figures == sorted(figures, reverse=True)
    assert len(figures) == 8
    button.click()
    assert read_column(page, "ToCo") == sorted(figures)
    assert one(page, "[aria-sort=ascending]").text == "ToCo"
    button.click()
    assert list(read_table(page)) == before


def test_differences_to_a_chosen_model(page, group):
    one(page, "input[value=difference]").click()
    expected = measured(group)
    shown = read_table(page)
    assert "Base" not in shown
    assert "Majority" not in shown
    assert float(shown["EM"]["Tense"]) == pytest.approx(expected["EM", "Tense"] - expected["Base", "Tense"], abs=0.006)
    Select(one(page, ".reference select")).select_by_visible_text("EM")
    shown = read_table(page)
    assert "EM" not in shown
    assert shown["Base"]["Tense"].startswith("−")
    assert one(page, ".reference-name").text == "EM"
    one(page, "input[value=accuracy]").click()
    assert read_table(page)["EM"]["Tense"] == f"{expected['EM', 'Tense']:.2f}"


def test_the_other_measures(page, group):
    accuracy = measured(group)["EM", "Tense"]
    one(page, "input[value=selectivity]").click()
    shown = read_table(page)
    assert set(shown) == {"Base", "EM"}
    assert float(shown["EM"]["Tense"]) == pytest.approx(accuracy - 35, abs=0.006)
    assert one(page, ".caption").text.startswith("Selectivity: ")
    assert "Bold" not in one(page, ".caption").text
    one(page, "input[value=compression]").click()
    shown = read_table(page)
    assert shown["Base"]["SeLen"] == "2.50"
    assert one(page, ".scores tr[data-model='0'] .half").text == "2.00"
    assert len(all_of(page, ".dots svg")) == 4
    one(page, "input[value=accuracy]").click()
    assert "Bold" in one(page, ".caption").text
    assert read_table(page)["EM"]["Tense"] == f"{accuracy:.2f}"


def test_a_model_can_be_hidden(page):
    marks = len(all_of(page, ".dots svg .series"))
    assert "Simple" in read_table(page)
    box = one(page, ".models input[value='1']")
    box.click()
    assert "Simple" not in read_table(page)
    assert len(all_of(page, ".dots svg .series")) < marks
    box.click()
    assert "Simple" in read_table(page)
    assert len(all_of(page, ".dots svg .series")) == marks


def test_the_mouse_and_the_arrow_keys_show_the_record(page, group):
    card = one(page, "#card")
    assert not card.is_displayed()
    field = one(page, ".scores tr[data-model='2'] td")
    webdriver.ActionChains(page).move_to_element(field).perform()
    assert card.is_displayed()
    record = group.models[2].results["SeLen"].records[1]
    for text in ("EM on SeLen", f"{record.scores.test_accuracy:.2f}", f"{record.scores.parameters:,}", "patience 4"):
        assert text in card.text
    webdriver.ActionChains(page).send_keys(webdriver.Keys.ESCAPE).perform()
    assert not card.is_displayed()
    page.execute_script("arguments[0].focus()", one(page, ".scores td[tabindex='0']"))
    assert card.text.startswith("Base on SeLen")
    keys = webdriver.Keys
    webdriver.ActionChains(page).send_keys(keys.ARROW_DOWN, keys.ARROW_RIGHT).perform()
    assert card.text.startswith("Simple on WC")
    webdriver.ActionChains(page).send_keys(keys.ENTER, keys.ARROW_DOWN).perform()
    assert card.text.startswith("EM on WC")
    chosen = [Select(one(page, f"select.{name}")).first_selected_option.text for name in ("task", "model")]
    assert chosen == ["WC", "Simple"]


def test_a_chosen_cell_shows_its_confusions(page, group):
    one(page, ".scores tr[data-model='0'] td:nth-of-type(1)").click()
    scores = group.models[0].results["SeLen"].scores
    pairs = [pair for seed in scores for pair in zip(seed.gold, seed.predictions, strict=True)]
    shown = [int(text.text) for text in all_of(page, ".confusion g text")]
    assert sum(shown) == len(pairs) == 2_000
    assert shown[0] == pairs.count((0, 0))
    Select(one(page, "select.task")).select_by_visible_text("WC")
    assert "977 others" in one(page, ".confusion").text
    assert "The 24 lowest of 1000 labels." in one(page, ".classes").text


def test_every_chart_is_drawn(page):
    for place, least in {".dots": 6, ".curves": 5, ".classes": 1, ".confusion": 1, ".stacks": 1, ".costs": 2}.items():
        assert len(all_of(page, f"{place} svg")) >= least
    assert "60.5" in one(page, ".stacks").text
    assert "model.num_layers" in one(page, ".settings").text
    assert "probe run --aggregator base" in one(page, "pre").text


def test_explanations(page, hostile):
    assert len(all_of(page, ".masking svg")) == 2
    assert "−0.5" in one(page, ".masking").text
    assert not one(page, ".routing").is_displayed()
    Select(one(page, "select.sentence")).select_by_index(1)
    assert len(all_of(page, ".attention svg")) == 2
    assert one(page, ".routing output").text == "3 of 3"
    assert len(all_of(page, ".agreement rect.heat")) == 3 * 2 * 4
    assert one(page, ".prediction").text == "Predicted: PRES; right: PAST"


def test_names_are_never_markup(page, hostile):
    assert page.title.startswith("Probing")
    assert len(all_of(page, "script")) == 2
    assert all_of(page, "img, iframe, object, [onerror]") == []
    assert squeeze(hostile) in read_table(page)
    for field in all_of(page, ".scores td[tabindex]")[-3:]:
        webdriver.ActionChains(page).move_to_element(field).perform()
        field.click()
    assert squeeze(hostile) in squeeze(one(page, "#card").text)
    assert page.title.startswith("Probing")
    assert len(all_of(page, "script")) == 2


@pytest.mark.parametrize("width", [390, 1400])
def test_nothing_sticks_out_of_the_window(page, width):
    page.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    assert page.execute_script("return document.documentElement.scrollWidth") <= width
    page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_light_and_dark(page):
    grounds = []
    for scheme in ("light", "dark"):
        page.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        )
        grounds.append(page.execute_script("return getComputedStyle(document.documentElement).backgroundColor"))
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert grounds == ["rgb(255, 255, 255)", "rgb(20, 24, 28)"]


def test_a_page_with_little_on_it(page, make_record, tmp_path):
    path = tmp_path / "report.html"
    for records in ([make_record(accuracy=None)], [make_record(size=50)]):
        path.write_text(render_html(records), encoding="utf-8")
        page.get(path.as_uri())
        assert all_of(page, "input[value=difference]") == []
        assert len(all_of(page, ".costs > *")) == (1 if records[0].scores is None else 2)
        assert page.get_log("browser") == []
    page.get_log("performance")


def test_the_view_is_kept_in_the_address(page, address):
    one(page, "input[value=difference]").click()
    one(page, ".models input[value='1']").click()
    next(button for button in all_of(page, ".scores .columns button") if button.text == "ToCo").click()
    shown, kept = read_table(page), page.current_url
    assert kept.startswith(f"{address}#view-0=difference&hidden-0=1&sort-0=")
    page.get(address)
    assert read_table(page) != shown
    page.get(kept)
    page.refresh()
    assert read_table(page) == shown
    assert list(read_table(page)) == list(shown)
    one(page, "nav.contents a").click()
    assert page.current_url == kept
    page.get_log("performance")  # the page itself was requested again


def test_a_link_to_another_view_is_followed_in_the_open_page(page, address):
    before = read_table(page)
    page.get(f"{address}#view-0=difference&hidden-0=1&curve-0=losses&cell-0=3&cost-0=2")  # only what follows # differs
    assert one(page, "input[value=difference]").is_selected()
    assert not one(page, ".models input[value='1']").is_selected()
    assert len(read_table(page)) < len(before)
    places = [one(page, f"select.{name}").get_attribute("value") for name in ("curve", "cost-column")]
    assert places == ["losses", "2"]
    page.get(f"{address}#view-0=nonsense&sort-0=length,ascending&cell-0=length&cost-0=-1&curve-0=x&reference-0=y")
    assert read_table(page) == before


def test_charts_and_the_chosen_cell_are_kept_in_the_address(page, address):
    Select(one(page, "select.curve")).select_by_value("losses")
    Select(one(page, "select.cost-column")).select_by_visible_text("ToCo")
    Select(one(page, "select.task")).select_by_visible_text("ToCo")
    facts, kept = one(page, ".cell-facts").text, page.current_url
    page.get("about:blank")
    page.get(kept)
    chosen = [
        Select(one(page, f"select.{name}")).first_selected_option.text for name in ("curve", "cost-column", "task")
    ]
    assert chosen == ["training loss", "ToCo", "ToCo"]
    assert one(page, ".cell-facts").text == facts


def test_tasks_are_explained_wherever_they_are_named(page):
    asks = one(page, ".scores .columns button").get_attribute("title")
    assert asks.startswith("the number of tokens")
    for place in (".dots", ".curves"):
        assert one(page, f"{place} h4").get_attribute("title") == asks
    assert asks in page.execute_script("return document.querySelector('.stacks svg text title').textContent")


def test_labels_are_explained_at_the_confusions(page):
    data = json.loads(page.execute_script("return document.getElementById('data').textContent"))["sections"][0]
    task, meanings = next(
        (task, found) for task, found in data["meanings"].items() if found and task in data["columns"]
    )
    Select(one(page, "select.task")).select_by_visible_text(task)
    texts = "return [...document.querySelectorAll('.confusion svg text title')].map((title) => title.textContent)"
    told = page.execute_script(texts)
    assert any(f"{label}: {meaning}" in told for label, meaning in meanings.items())


def test_bold_and_notes_follow_hidden_models(page, gallery):
    (table,) = make_tables(gallery)
    labels = [model.label for model in table.analysis.group.models if model.results]
    leader = labels.index(table.analysis.leaders["ToCo"])
    place = 2 + list(table.columns).index("ToCo")
    one(page, f".models input[value='{leader}']").click()
    bold = all_of(page, f".scores tbody tr:not([hidden]) > :nth-child({place}).best")
    assert [float(field.text.split()[0]) for field in bold] == [max(read_column(page, "ToCo"))]
    assert one(page, ".bold-hidden").is_displayed()
    gaps = next(line for line in all_of(page, ".notes li") if "have not been run" in line.text)
    named = next(label for label in labels if squeeze(label) in gaps.text and labels.index(label) != leader)
    one(page, f".models input[value='{labels.index(named)}']").click()
    assert squeeze(named) not in gaps.text
    assert gaps.is_displayed(), "other models are named still"
    for box in all_of(page, ".models input:checked"):
        box.click()
    assert not any("always guessing" in note.text for note in all_of(page, ".notes li"))


def test_the_table_can_be_saved(page):
    page.execute_script("URL.createObjectURL = (blob) => { window.saved = blob; return '#'; };")
    page.execute_script("document.querySelector('button.download').click()")
    text = page.execute_async_script("window.saved.text().then(arguments[0])")
    head, *lines = text.splitlines()
    assert head.startswith("model,SeLen,SeLen low,SeLen high")
    assert any(line.startswith("Base,") for line in lines)
    assert (
        read_table(page)["Base"]["SeLen"]
        == f"{float(next(x for x in lines if x.startswith('Base,')).split(',')[1]):.2f}"
    )


DIMMED = """
    const marks = [...document.querySelectorAll("[data-section] svg [data-model]")];
    return [true, false].map((dim) => [...new Set(
        marks.filter((mark) => mark.classList.contains("dim") === dim).map((mark) => mark.dataset.model))]);
"""


@pytest.mark.parametrize("width", [390, 1280])
def test_a_section_of_the_contents_is_not_behind_the_controls(page, width):
    page.set_window_size(width, 900)
    page.execute_script("document.documentElement.style.scrollBehavior = 'auto'; window.scrollTo(0, 0)")
    link = one(page, "nav a")
    link.click()
    top, covered = page.execute_script(
        """
        const controls = document.querySelector(".controls");
        const stays = getComputedStyle(controls).position === "sticky";
        const heading = document.querySelector(arguments[0]).getBoundingClientRect();
        return [heading.top, stays ? controls.getBoundingClientRect().bottom : 0];
        """,
        link.get_dom_attribute("href"),
    )
    assert covered <= top < covered + 50
    assert (covered > 0) == (width == 1280)


def test_a_model_under_the_pointer_stands_out(page):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.support.wait import WebDriverWait

    assert page.execute_script(DIMMED)[0] == []
    mark = one(page, "[data-section] svg text[data-model]")
    page.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", mark)

    def point(page):  # again, if the page moved meanwhile
        ActionChains(page).move_to_element(one(page, "h1")).move_to_element(mark).perform()
        return page.execute_script(DIMMED)[1] == [mark.get_attribute("data-model")]

    WebDriverWait(page, 10).until(point)
    dim, _ = page.execute_script(DIMMED)
    assert len(dim) > 1
    opacity = "return Number(getComputedStyle(document.querySelector(arguments[0])).opacity)"
    assert page.execute_script(opacity, "svg .dim") < 0.5
    ActionChains(page).move_to_element(one(page, "h1")).perform()
    assert page.execute_script(DIMMED)[0] == []
