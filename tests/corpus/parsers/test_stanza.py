"""Stanza's documents become CoNLL-U; its own models cannot be had in a test, so a pipeline stands in for it."""

from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from probing.corpus.parsers import stanza
from probing.corpus.readers import parse_lines
from probing.errors import ProbingError

LINES = ("1\tDogs\t_\tNOUN\t_\tNumber=Plur\t2\tnsubj\t_\t_", "2\tbark\t_\tVERB\t_\t_\t0\troot\t_\t_")


class Document:
    """A document as Stanza formats it."""

    def __format__(self, style: str) -> str:
        return "\n".join(LINES) if style == "C" else ""


def test_a_document_becomes_conllu() -> None:
    seen: list[str] = []

    def pipeline(text: str) -> Document:
        seen.append(text)
        return Document()

    text = stanza.StanzaParser(pipeline).parse(["Dogs bark.", "Cats, too."])
    assert seen == ["Dogs bark.\n\nCats, too."]
    (sentence,) = parse_lines(Path("x"), enumerate(text.splitlines(keepends=True), 1), "conllu")
    assert (sentence.tokens, sentence.heads) == (("Dogs", "bark"), (2, 0))


def test_missing_models_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def pipeline(**options: Any) -> None:
        assert options["download_method"] is None, "nothing is downloaded"
        raise FileNotFoundError("Resources file not found.\n Try to download the model again.")

    monkeypatch.setitem(sys.modules, "stanza", SimpleNamespace(Pipeline=pipeline))
    with pytest.raises(ProbingError) as error:
        stanza.load("en")
    assert str(error.value) == (
        "--parser stanza:en: its models cannot be loaded (Resources file not found. Try to download the model again.). "
        "Get them: python -c \"import stanza; stanza.download('en')\""
    )


def test_other_models_have_another_identity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STANZA_RESOURCES_DIR", str(tmp_path))
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "1.0")
    (tmp_path / "en").mkdir()
    (tmp_path / "en" / "model.pt").write_bytes(b"one")
    one = stanza.identify("en")
    (tmp_path / "en" / "model.pt").write_bytes(b"three")
    assert one.startswith("en ")
    assert stanza.identify("en") != one
