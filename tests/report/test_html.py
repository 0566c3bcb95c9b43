from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import Counter
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probing.errors import ProbingError
from probing.report.explanations import load_explanations
from probing.report.formats import load_and_render
from probing.report.html import embed, render_html
from probing.results import Store

VOID = {"meta", "link", "input", "br", "img"}


class Page(HTMLParser):
    """Parser that collects a page's tags, attributes, texts and scripts, and checks that all elements are closed."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.texts, self.scripts, self.open = Counter(), [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags[tag] += 1
        self.attributes += [(tag, name, value) for name, value in attributes]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        (self.scripts if self.open and self.open[-1] in ("script", "style") else self.texts).append(data)


@pytest.fixture(scope="module")
def text(gallery):
    return render_html(gallery)


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


def test_the_page_is_whole(page):
    assert page.tags["table"] == 2
    assert page.tags["script"] == 2
    assert page.tags["h1"] == 1
    shown = "".join(page.texts)
    for label in ("Majority", "Base", "Simple", "EM", "bert layer 2", "SeLen", "Avg.", "semantic"):
        assert label in shown
    assert "cells of this table have not been run: " in shown


def test_the_table_is_there_without_a_script(gallery, page):
    accuracies = [
        one.scores.test_accuracy for one in gallery if (one.identity.task, one.identity.model.name) == ("Tense", "em")
    ]
    assert f"{sum(accuracies) / 2:.2f}" in page.texts
    assert "±" in "".join(page.texts)


def test_the_page_requests_nothing_from_elsewhere(page):
    addresses = [value for _, name, value in page.attributes if name in ("src", "href", "action", "data", "srcset")]
    assert [address for address in addresses if not address.startswith("#")] == ["data:,"]
    style, script = (block for block in page.scripts if block.strip() and not block.startswith("{"))
    assert "url(" not in style
    assert "@import" not in style
    for word in ("fetch(", "XMLHttpRequest", "innerHTML", "insertAdjacentHTML", "eval(", "document.write", "import("):
        assert word not in script


def test_only_the_pages_own_script_may_run(page):
    policy = next(value for _, name, value in page.attributes if name == "content" and "default-src" in value)
    script = page.scripts[-1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy == (f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'")
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]


def test_names_are_text(gallery, page, hostile):
    assert page.tags["img"] == 0
    assert any(hostile in one for one in page.texts)
    assert "49" not in [one.strip() for one in page.texts]  # {{7*7}} is no template


def test_the_data_is_json(text):
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert not re.search("[<>&\u2028\u2029]", data)
    assert list(json.loads(data)) == ["sections", "explanations"]


@given(st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_any_data_is_embedded_without_markup(data):
    text = str(embed(data))
    assert json.loads(text) == data
    assert not re.search("[<>&\u2028\u2029]", text)


@settings(max_examples=15, deadline=None)
@given(name=st.text(st.characters(exclude_categories=[]), min_size=1, max_size=30))
def test_any_name_leaves_the_page_as_it_is(make_record, change, name):
    plain, odd = (
        Page(render_html([change(make_record(size=50), model__label=label, data__name=label, data__file=label)]))
        for label in ("name", name)
    )
    assert plain.tags == odd.tags
    assert [(tag, attribute) for tag, attribute, _ in plain.attributes] == [
        (tag, attribute) for tag, attribute, _ in odd.attributes
    ]


def test_the_same_records_give_the_same_page(gallery):
    some = [one for one in gallery if one.identity.task == "Tense"]
    assert render_html(some) == render_html(some[::-1])


def test_thirty_cells_with_five_seeds_stay_small(thirty_cells):
    assert len(render_html(thirty_cells(5)).encode()) < 3_000_000


def test_tables_of_different_data_have_sections_of_their_own(make_record):
    page = Page(render_html([make_record(size=50), make_record(data="books", preset="small", size=50)]))
    assert ("section", "id", "table-0") in page.attributes
    assert ("section", "id", "table-1") in page.attributes
    links = [value for tag, name, value in page.attributes if tag == "a" and name == "href"]
    assert links[:2] == ["#table-0", "#table-1"]
    assert {link[1:] for link in links} <= {value for _, name, value in page.attributes if name == "id"}


def test_the_paper_and_its_claims(paper_records):
    text = render_html(paper_records, against_paper=True)
    assert "EM, paper" in text
    assert "EM routing beats Base on most of the ten tasks: <b>supported</b>" in text
    assert "--against paper" in text


def test_a_folder_is_rendered_with_its_explanations(tmp_path, make_record, explanations):
    Store(tmp_path).save(make_record(size=50))
    plain = load_and_render(tmp_path, "html", on_damaged=pytest.fail)
    assert "<h2>Routing made visible" not in plain
    for name, content in explanations.items():
        (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")
    text = load_and_render(tmp_path, "html", on_damaged=pytest.fail)
    assert "<h2>Routing made visible" in text
    assert Page(text).tags["img"] == 0
    limited = render_html([make_record(size=50)], explanations=load_explanations(tmp_path, pytest.fail, limit=800))
    assert "Not shown, because the page would become too large: 1 of the explained sentences." in limited


def test_an_unknown_reference_is_named(make_record):
    with pytest.raises(ProbingError, match=r"^unknown model 'bas'\. Did you mean 'Base'\? Known: Base$"):
        render_html([make_record(model="base")], reference="bas")


def test_only_failed_cells_can_be_shown(make_record):
    assert "the loss became nan in epoch 2" in render_html([make_record(accuracy=None)])
