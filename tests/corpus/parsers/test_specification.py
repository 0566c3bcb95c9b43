"""A parser is named, found and loaded, or the mistake is one line."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest

from probing.corpus.parsers.specification import identify_parser
from probing.errors import ProbingError


@pytest.mark.parametrize(
    ("specification", "message"),
    [
        ("spacey:x", "unknown parser 'spacey'. Did you mean 'spacy'? Known: spacy, stanza, udpipe"),
        ("spacy", "--parser spacy: name its model, as in spacy:en_core_web_sm"),
        ("udpipe:", "--parser udpipe:: name its model, as in udpipe:english.udpipe"),
        ("udpipe:nowhere.udpipe", "nowhere.udpipe: cannot be read (No such file or directory)"),
        (
            "spacy:xx_none",
            "--parser spacy:xx_none: there is no such model or folder. Get it: python -m spacy download xx_none",
        ),
    ],
)
def test_a_mistake_is_one_line(specification: str, message: str) -> None:
    with pytest.raises(ProbingError) as error:
        identify_parser(specification)
    assert str(error.value) == message


def test_a_parser_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def find(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", find)
    with pytest.raises(ProbingError, match=r"stanza is not installed. pip install 'probing\[stanza\]'"):
        identify_parser("stanza:en")


def test_a_changed_model_has_another_identity(tmp_path: Path) -> None:
    model = tmp_path / "m.udpipe"
    model.write_bytes(b"one")
    one = identify_parser(f"udpipe:{model}")
    model.write_bytes(b"two")
    assert identify_parser(f"udpipe:{model}") != one
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "meta.json").write_text("{}", encoding="utf-8")
    one = identify_parser(f"spacy:{folder}")
    (folder / "meta.json").write_text("{} ", encoding="utf-8")
    assert identify_parser(f"spacy:{folder}") != one
