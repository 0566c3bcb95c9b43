"""The page about the language says what the language does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from probing.corpus.language import LANGUAGE_CODE, LANGUAGE_NAME, PHENOMENA
from probing.corpus.language.homographs import HOMOGRAPHS
from probing.corpus.language.inflection import AGREEING
from probing.corpus.language.particles import ADPOSITIONS, AUXILIARIES, DETERMINERS, PARTICLES, SUBORDINATORS
from probing.corpus.language.verbs import SENSES
from tests.corpus.language.test_stems import list_all_forms

PAGE = Path(__file__).parents[3] / "docs" / "language.md"
TABLE = re.compile(r"(?<=<!-- phenomena -->\n)(.*)(?=<!-- /phenomena -->)", re.DOTALL)


@pytest.fixture(scope="module")
def page() -> str:
    return PAGE.read_text(encoding="utf-8")


def test_the_examples(page: str) -> None:
    known = {(form.text, form.gloss) for form in list_all_forms()}
    examples = page.split("```text\n")[1].split("```")[0].strip().split("\n\n")
    assert len(examples) >= 8
    for example in examples:
        words, glosses, english = example.split("\n")
        pairs = list(zip(words.split(), glosses.split(), strict=True))
        assert [pair for pair in pairs if pair not in known] == []
        assert english[0].isupper()


def test_the_endings_and_stems(page: str) -> None:
    rows = [
        re.findall(r"-(\w\w)\b", line) for line in page.splitlines() if re.match(r"\| \w+ative \||\| genitive \|", line)
    ]
    assert [rows[case][gender] for gender in range(5) for case in range(4)] == list(AGREEING)
    for english, forms in DETERMINERS.items():
        if english not in ("an", "these", "those"):
            assert f"*{english}* `{forms[0].stem}-`" in page.replace("\n", " ")
    for text in (
        *(form.text for form in SUBORDINATORS.values()),
        *(stem + "-" for stem in AUXILIARIES.values() if stem != "fak"),
    ):
        assert f"`{text}`" in page
    assert f"`{' '.join(form.text for form in PARTICLES.values())}`" in page
    assert all(inside.text == outside.text + "i" for outside, inside in ADPOSITIONS.values())
    assert f"# {LANGUAGE_NAME}\n" in page
    assert f"`{LANGUAGE_CODE}`" in page


def test_the_numbers(page: str) -> None:
    assert f"{len(SENSES)} verbs have a second stem" in page
    verbs = {word for word, classes in HOMOGRAPHS.items() if classes == {"verb", "adjective"}}
    assert f"{len(verbs)} forms of verbs that are adjectives too" in page.replace("\n", " ")


def test_the_table_of_phenomena(page: str, request: pytest.FixtureRequest) -> None:
    counts = dict(re.findall(r"^\| [\w-]+ \| `([\w-]+)` .*?\| ([\d,]+ \| [\d,]+ \| [\d,]+) \|$", page, re.MULTILINE))
    rows = [
        f"| {each.attention} | `{each.name}` | {each.title} | {each.description} | {counts.get(each.name, '?')} |\n"
        for each in PHENOMENA.values()
    ]
    wanted = "".join(
        [
            "| attention | phenomenon | | what is checked | `test` | `test-long` | `test-new` |\n",
            "|---|---|---|---|---:|---:|---:|\n",
            *rows,
        ]
    )
    if request.config.getoption("--rewrite-goldens"):
        PAGE.write_text(TABLE.sub(lambda _: wanted, page), encoding="utf-8")
    else:
        assert wanted in page
